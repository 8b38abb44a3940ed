// Neighbour sampling, one hop per call.
#pragma once

#include "common/matrix.h"

namespace jj {

// The nodes [first, last) take some of their edges, and the sources of these edges become nodes of the sample.
//
// Node i of these takes the entries ptr[i - first] .. ptr[i - first + 1] of `edge` and `local`: its edges in their order
// in the graph, and the numbers of their sources in the sample. Which edges it takes is a function of (key, node) alone:
// ops/sample/reference.py.
template <class I>
struct SampleHop {
    Index rowptr, col;     // the graph by target
    Matrix<I> always;      // [1, N] an edge of each row that is taken in addition to the others; not given: none
    int64_t fanout = -1;   // edges of a row; -1: all
    bool replace = false;  // whether an edge may be taken more than once
    uint64_t key = 0;      // of (seed, batch, hop)
    int64_t first = 0, last = 0;
    Matrix<I> nodes;        // [1, >= last + min(edges, N)] the sample: [0, last) are given, those after it are written
    Matrix<I> place;        // [1, N] number of each node in the sample, -1: not in it
    Index ptr;              // [last - first + 1], 64 bits
    Matrix<I> edge, local;  // [1, edges]
    Matrix<I> found;        // [1, 1] the size of the sample
    int threads = 1;
};

template <class I>
void run(const SampleHop<I>& a);

}  // namespace jj
