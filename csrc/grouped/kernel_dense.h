// A linear map in one block (groups = 1) of packed rows: a dense matrix product in the packed order of the channels.
//
// The packed weight is cut into panels of up to kPanel output vectors, each [stride input channels, vectors, W].
#pragma once

#include "common/packed_row.h"
#include "grouped/arguments.h"

namespace jj {
namespace JJ_ISA {

constexpr int kPanel = JJ_BYTES == 64 ? 4 : 2;  // with 4 rows the sums fit in registers
constexpr int64_t kDenseRows = 32;              // rows that stay in L1 while the weight gradient passes over them

template <class S>
JJ_INLINE int64_t dense_workspace(const Grouped<S>& a) {
    return a.layout.stride * (a.layout.stride + 1);
}

// Calls f(J, first vector) for each panel of J vectors. Its weight begins `first vector * W * stride` scalars in.
template <class S, class F>
JJ_INLINE void each_panel(const Layout& layout, F f) {
    const int64_t vectors = layout.stride / kLanes<S>;
    int64_t v = 0;
    for (; v + kPanel <= vectors; v += kPanel) f(Int<kPanel>(), v);
    for (; v < vectors; ++v) f(Int<1>(), v);
}

// Calls visit(position in the packed weight, position in `weight`) for each weight.
template <class S, class Visit>
JJ_INLINE void each_dense_weight(const Grouped<S>& a, Visit visit) {
    constexpr int W = kLanes<S>;
    const int64_t P = a.layout.padded, H = a.layout.heads, C = a.layout.channels, stride = a.layout.stride;
    each_panel<S>(a.layout, [&](auto panel, int64_t v) {
        constexpr int64_t width = panel.value * W;
        for (int64_t from = 0; from < H * C; ++from) {
            const int64_t row = v * W * stride + (from % C * P + from / C) * width;
            for (int64_t lane = 0; lane < width; ++lane) {
                const int64_t head = (v * W + lane) % P, channel = (v * W + lane) / P, to = head * C + channel;
                if (head < H && channel < C) visit(row + lane, a.transpose ? to * H * C + from : from * H * C + to);
            }
        }
    });
}

// The factor of a row's bias for the lanes from position i of a packed row on.
template <class S>
JJ_INLINE Vec<S> row_scale(const Grouped<S>& a, int64_t row, int64_t i) {
    const int64_t P = a.layout.padded;
    return load_heads(a.scale + row * P + (P > kLanes<S> ? i % P : 0), P);
}

// R rows times the J output vectors from v on.
template <class S, int R, int J>
JJ_INLINE void dense_registers(const Grouped<S>& a, int64_t row, int64_t v, const S* weight, const S* bias) {
    constexpr int W = kLanes<S>;
    const S* x = a.x + row * a.x_stride;
    Vec<S> sum[R][J];
    for (int r = 0; r < R; ++r) {
        for (int j = 0; j < J; ++j) {
            sum[r][j] = load(bias + (v + j) * W);
            if (a.scale) sum[r][j] *= row_scale(a, row + r, (v + j) * W);
        }
    }
    for (int64_t c = 0; c < a.layout.stride; ++c, weight += J * W) {
        Vec<S> w[J];
        for (int j = 0; j < J; ++j) w[j] = load(weight + j * W);
        for (int r = 0; r < R; ++r)
            for (int j = 0; j < J; ++j) sum[r][j] += x[r * a.x_stride + c] * w[j];
    }
    for (int r = 0; r < R; ++r) {
        for (int j = 0; j < J; ++j) {
            S* y = a.y + (row + r) * a.y_stride + (v + j) * W;
            store(y, a.accumulate ? load(y) + sum[r][j] : sum[r][j]);
        }
    }
}

template <class S>
static void dense_rows(const Grouped<S>& a, int64_t first, int64_t last) {
    const int64_t stride = a.layout.stride;
    const S* bias = a.packed + stride * stride;
    each_panel<S>(a.layout, [&](auto panel, int64_t v) {
        constexpr int J = panel.value;
        const S* weight = a.packed + v * kLanes<S> * stride;
        int64_t row = first;
        for (; row + 4 <= last; row += 4) dense_registers<S, 4, J>(a, row, v, weight, bias);
        for (; row < last; ++row) dense_registers<S, 1, J>(a, row, v, weight, bias);
    });
}

// K input channels from c on of the J output vectors from v on, summed over some rows.
template <class S, int K, int J>
JJ_INLINE void dense_grad_registers(const Grouped<S>& a, int64_t first, int64_t last, int64_t c, int64_t v, S* sums) {
    constexpr int W = kLanes<S>;
    Vec<S> sum[K][J];
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < J; ++j) sum[k][j] = load(sums + (k * J + j) * W);
    for (int64_t r = first; r < last; ++r) {
        const S *x = a.x + r * a.x_stride + c, *dy = a.grad_y + r * a.layout.stride + v * W;
        Vec<S> d[J];
        for (int j = 0; j < J; ++j) d[j] = load(dy + j * W);
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < J; ++j) sum[k][j] += x[k] * d[j];
    }
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < J; ++j) store(sums + (k * J + j) * W, sum[k][j]);
}

template <class S>
static void dense_weight_grad(const Grouped<S>& a, int64_t first, int64_t last, S* sums) {
    constexpr int W = kLanes<S>;
    const int64_t stride = a.layout.stride;
    each_panel<S>(a.layout, [&](auto panel, int64_t v) {
        constexpr int J = panel.value;
        for (int64_t c = 0; c < stride; c += 4)
            dense_grad_registers<S, 4, J>(a, first, last, c, v, sums + (v * stride + c * J) * W);
    });
}

}  // namespace JJ_ISA
}  // namespace jj
