// Arguments of dropout with ReLU.
#pragma once

#include "common/types.h"

namespace jj {

template <class S>
struct DropoutRows {
    int64_t rows = 0, width = 0;
    const S* x = nullptr;  // backward: the output of forward
    int64_t x_stride = 0;
    const S* grad_y = nullptr;
    int64_t grad_y_stride = 0;
    S* y = nullptr;  // backward: the gradient of x
    int64_t y_stride = 0;
    bool relu = false;
    Dropout<S> dropout;
};

}  // namespace jj
