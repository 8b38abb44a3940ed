// Sparse matrix times dense matrix, and the gradient of the sparse one's values.
#pragma once

#include "common/matrix.h"

namespace jj {

// out[v] = sum_e dropout(weight[number of e]) * x[col[e]] over the entries e of row v.
//
// For the transposed product the entries come by column, `position` has their numbers, and the weights come by number
// or, where they are `ordered`, in the order of the entries.
template <class S>
struct SpmmForward {
    Index rowptr, col;  // [N + 1], [E]
    Index position;     // [E]; none: entries are numbered as they come
    Matrix<S> weight;   // [1, E]; none: ones
    bool ordered = false;
    double dropout = 0;
    uint64_t seed = 0;
    int64_t first = 0;  // number of the first entry, for dropout
    Matrix<S> x;        // [M, d]
    Matrix<S> out;      // [N, d]
    int threads = 1;
};

// grad_weight[e] = <grad_out[row of e], x[col[e]]>.
template <class S>
struct SpmmWeightGrad {
    Index rowptr, col;
    Matrix<S> x;            // [M, d]
    Matrix<S> grad_out;     // [N, d]
    Matrix<S> grad_weight;  // [1, E]
    int threads = 1;
};

template <class S>
void run(const SpmmForward<S>& a);
template <class S>
void run(const SpmmWeightGrad<S>& a);

}  // namespace jj
