// ReLU with dropout, row by row.
#pragma once

#include "common/simd.h"
#include "dropout/arguments.h"

namespace jj {
namespace JJ_ISA {

// y = keep(row, 0, channel) / (1 - p) * (relu(x) or x), where the channel is the position in the row.
template <class S>
static void dropout_forward(const DropoutRows<S>& a, int64_t first, int64_t last) {
    constexpr int W = kLanes<S>;
    const S factor = a.dropout.factor;
    const uint32_t threshold = a.dropout.threshold;
    for (int64_t r = first; r < last; ++r) {
        const uint32_t key = a.dropout.row_key(r);
        const S* x = a.x + r * a.x_stride;
        S* y = a.y + r * a.y_stride;
        typename Types<S>::Word words = head_words<S>(0, W);
        int64_t i = 0;
        for (; i + W <= a.width; i += W, words += W * kHeadFactor) {
            Vec<S> v = load(x + i) * factor;
            if (a.relu) v = v < S(0) ? Vec<S>{} : v;
            if (threshold) {
                const auto keep = keep_lanes<S>(words, key, 0, threshold);
                v = keep ? v : Vec<S>{};
            }
            store(y + i, v);
        }
        for (; i < a.width; ++i) {
            const bool keep = mix32(key ^ (static_cast<uint32_t>(i) * kHeadFactor)) >= threshold;
            y[i] = !keep || (a.relu && x[i] < 0) ? S(0) : x[i] * factor;
        }
    }
}

// With ReLU: y alone tells what was kept, a.x is y. Without: the same function of the gradient as of x.
template <class S>
static void dropout_backward(const DropoutRows<S>& a, int64_t first, int64_t last) {
    constexpr int W = kLanes<S>;
    const S factor = a.dropout.factor;
    for (int64_t r = first; r < last; ++r) {
        const S *y = a.x + r * a.x_stride, *dy = a.grad_y + r * a.grad_y_stride;
        S* dx = a.y + r * a.y_stride;
        int64_t i = 0;
        for (; i + W <= a.width; i += W) {
            const Vec<S> d = load(dy + i) * factor;
            store(dx + i, load(y + i) <= S(0) ? Vec<S>{} : d);
        }
        for (; i < a.width; ++i) dx[i] = y[i] <= 0 ? S(0) : dy[i] * factor;
    }
}

}  // namespace JJ_ISA
}  // namespace jj
