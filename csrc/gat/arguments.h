// Arguments of the GAT kernels.
#pragma once

#include "common/types.h"

namespace jj {

template <class S>
struct Gat {
    Graph graph;
    Layout layout;
    Dropout<S> dropout;
    S slope = 0;
    int64_t ahead = 1;                // edges to prefetch ahead
    const S* value = nullptr;         // [M, stride]
    const S* score_source = nullptr;  // [M, P]
    const S* score_target = nullptr;  // [N, P]
    S* out = nullptr;                 // [N, stride]
    // Saved for backward: `sloped` is the sum of the edges' messages times the slope of LeakyReLU there, and `state`
    // holds four head rows per node: score_target, the largest score, 1 / the sum of exponentials, the mean slope.
    // So the gradient of score_target needs no pass over the edges.
    S* sloped = nullptr;  // [N, stride]
    S* state = nullptr;   // [N, 4, P]
    // backward
    const S* grad_out = nullptr;  // [N, stride]
    S* work = nullptr;            // [N, 4, P]: state, with <grad_out, out> in place of the mean slope
    S* grad_value = nullptr;      // [M, stride]
    S* grad_source = nullptr;     // [M, P]
    S* grad_target = nullptr;     // [N, P]
    S* partials = nullptr;
    int64_t partial_size = 0;
};

}  // namespace jj
