// Arguments of the block-diagonal linear maps.
#pragma once

#include "common/types.h"

namespace jj {

// A block-diagonal linear map of packed rows. The packed weight holds, for each output vector j, each lane shift s and
// each input channel c in [first[j], last[j]), one vector: what channel c of head (lane ^ s) adds to the lane.
template <class S>
struct Grouped {
    Layout layout;
    int64_t rows = 0;
    int64_t groups = 0, block = 0;  // g, d / g
    bool transpose = false;         // map by the transposed blocks
    int64_t shifts = 1;             // 1 where every group lies within a head, or there is one group: kernel_dense.h
    const S* x = nullptr;           // [R, x_stride]
    int64_t x_stride = 0;
    const S* weight = nullptr;   // [g, block, block]
    const S* bias = nullptr;     // [d] or null
    const S* scale = nullptr;    // [R, P] or null: factor of the bias, and of grad_y in the bias gradient
    const S* dot_row = nullptr;  // [stride] or null: a packed row to multiply x by
    S* dot = nullptr;            // [R, P] or null: x . dot_row, head by head
    S* packed = nullptr;         // workspace of grouped_workspace() scalars: the packed weight and bias
    S* y = nullptr;              // [R, y_stride]
    int64_t y_stride = 0;
    bool accumulate = false;    // add to y
    const S* grad_y = nullptr;  // [R, stride]
};

}  // namespace jj
