// Block-diagonal linear maps of packed rows, and the gradients of their weights.
#pragma once

#include "common/matrix.h"

namespace jj {

// y = x times the blocks, or with `transpose` times the transposed blocks: the gradient of x from that of y.
template <class S>
struct GroupedForward {
    int64_t heads = 0, channels = 0, groups = 0;
    bool transpose = false;
    Matrix<S> weight;  // [g * d / g, d / g] on the standard channels head * C + c
    Matrix<S> bias;    // [1, d] or none
    Matrix<S> x, y;    // [R, stride]
    int threads = 1;
};

template <class S>
struct GroupedWeightGrad {
    int64_t heads = 0, channels = 0, groups = 0;
    Matrix<S> x, grad_y;    // [R, stride]
    Matrix<S> grad_weight;  // [g * d / g, d / g]
    Matrix<S> grad_bias;    // [1, d]
    int threads = 1;
};

template <class S>
void run(const GroupedForward<S>& a);
template <class S>
void run(const GroupedWeightGrad<S>& a);

}  // namespace jj
