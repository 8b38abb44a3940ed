// Arguments of the sparse times dense kernels.
#pragma once

#include "common/types.h"

namespace jj {

// spmm: out[v] = sum_e dropout(weight[number of e]) * x[col[e]].
// sddmm: grad_weight[e] = <grad_out[row of e], x[col[e]]>, the gradient of the weights.
template <class S>
struct Spmm {
    int64_t rows = 0, edges = 0, width = 0;
    Index rowptr, col;
    Index position;             // the numbers of the edges; null: as they come
    const S* weight = nullptr;  // null: ones
    bool ordered = false;       // the weights come in the order of the edges, whatever their numbers
    Dropout<S> dropout;         // keep(row 0, 0, first + number of e)
    uint32_t first = 0;         // low word of the number of the first entry
    const S* x = nullptr;
    int64_t x_stride = 0;
    S* out = nullptr;
    int64_t out_stride = 0;
    S* partials = nullptr;
    // sddmm
    const S* grad_out = nullptr;
    int64_t grad_out_stride = 0;
    S* grad_weight = nullptr;
};

}  // namespace jj
