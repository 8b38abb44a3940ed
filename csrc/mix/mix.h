// A layer's output mixed with other rows, and ReLU: what follows a layer with an initial residual.
#pragma once

#include "common/matrix.h"

namespace jj {

// y = relu((1 - share) x + share other)
template <class S>
struct MixForward {
    double share = 0;
    Matrix<S> x, other, y;  // [R, d]
    int threads = 1;
};

// What is positive in y passed ReLU.
template <class S>
struct MixBackward {
    double share = 0;
    Matrix<S> y, grad_y, grad_x, grad_other;  // [R, d]
    int threads = 1;
};

template <class S>
void run(const MixForward<S>& a);
template <class S>
void run(const MixBackward<S>& a);

}  // namespace jj
