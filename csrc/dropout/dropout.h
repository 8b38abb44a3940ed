// Dropout of rows, with or without ReLU.
#pragma once

#include "common/matrix.h"

namespace jj {

// y = dropout(x) or dropout(relu(x)). Without ReLU the gradient is the same function of the output's gradient.
template <class S>
struct DropoutForward {
    double dropout = 0;
    uint64_t seed = 0;
    int64_t first = 0;  // number of the first row
    bool relu = false;
    Matrix<S> x, y;  // [R, d]
    int threads = 1;
};

// With ReLU the gradient of x follows from the output y alone: what is positive was kept.
template <class S>
struct DropoutBackward {
    double dropout = 0;
    Matrix<S> y, grad_y, grad_x;  // [R, d]
    int threads = 1;
};

template <class S>
void run(const DropoutForward<S>& a);
template <class S>
void run(const DropoutBackward<S>& a);

}  // namespace jj
