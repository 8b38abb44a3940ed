// Sparse times dense: out[v] (+)= sum_e weight[e] * x[col[e]] on rows of any width, and the gradient of the weights.
#pragma once

#include "simd.h"

namespace jj {
namespace JJ_ISA {

constexpr int64_t kSpmmAhead = 8;

template <class S>
JJ_INLINE S edge_weight(const Spmm<S>& a, int64_t e) {
    return a.weight ? a.weight[a.position ? a.position[e] : e] : S(1);
}

template <class S>
JJ_INLINE S finish(const Spmm<S>& a, S x, int64_t i) {
    if (a.bias) x += a.bias[i];
    return a.relu && x < 0 ? S(0) : x;
}

// N vectors of a row from channel `from` on; the last starts at `from + last_offset` and may overlap the one before,
// so that rows need not be a multiple of W wide. Few vectors take several edges at a time to hide the latency.
template <class S, int N>
static void spmm_columns(const Spmm<S>& a, int64_t first, int64_t last, int64_t from, int64_t last_offset, S* out,
                         bool whole) {
    constexpr int W = kLanes<S>;
    constexpr int U = N <= 2 ? 4 : N <= 4 ? 2 : 1;
    const S* x = a.x + from;
    const auto offset = [last_offset](int j) -> int64_t { return j == N - 1 ? last_offset : j * W; };
    Vec<S> sum[U][N];
    for (int u = 0; u < U; ++u)
        for (int j = 0; j < N; ++j)
            sum[u][j] = u == 0 && whole && a.accumulate ? load(out + from + offset(j)) : Vec<S>{};
    const int64_t bytes = (last_offset + W) * static_cast<int64_t>(sizeof(S));
    int64_t e = first;
    for (; e + U <= last; e += U) {
        for (int u = 0; u < U; ++u) {
            const int64_t ahead = e + u + kSpmmAhead;
            if (ahead < a.edges) {
                prefetch(x + a.col[ahead] * a.x_stride, bytes);
                if (a.weight && a.position) prefetch(a.weight + a.position[ahead], 1);
            }
            const S weight = edge_weight(a, e + u);
            const S* row = x + a.col[e + u] * a.x_stride;
            for (int j = 0; j < N; ++j) sum[u][j] += weight * load(row + offset(j));
        }
    }
    for (; e < last; ++e) {
        const S weight = edge_weight(a, e);
        const S* row = x + a.col[e] * a.x_stride;
        for (int j = 0; j < N; ++j) sum[0][j] += weight * load(row + offset(j));
    }
    for (int j = 0; j < N; ++j) {
        Vec<S> total = sum[0][j];
        for (int u = 1; u < U; ++u) total += sum[u][j];
        if (whole && a.bias) total += load(a.bias + from + offset(j));
        if (whole && a.relu) total = total < S(0) ? Vec<S>{} : total;
        store(out + from + offset(j), total);
    }
}

// Rows narrower than a vector.
template <class S>
static void spmm_narrow(const Spmm<S>& a, int64_t first, int64_t last, S* out, bool whole) {
    S sum[kLanes<S>] = {};
    for (int64_t i = 0; i < a.width; ++i) sum[i] = whole && a.accumulate ? out[i] : S(0);
    for (int64_t e = first; e < last; ++e) {
        const S weight = edge_weight(a, e);
        const S* row = a.x + a.col[e] * a.x_stride;
        for (int64_t i = 0; i < a.width; ++i) sum[i] += weight * row[i];
    }
    for (int64_t i = 0; i < a.width; ++i) out[i] = whole ? finish(a, sum[i], i) : sum[i];
}

template <class S>
static void spmm_row(const Spmm<S>& a, int64_t first, int64_t last, S* out, bool whole) {
    constexpr int W = kLanes<S>;
    if (a.width < W) return spmm_narrow(a, first, last, out, whole);
    for (int64_t from = 0; from < a.width;) {
        const int64_t left = a.width - from;
        // A remainder narrower than a vector joins the vectors before it: 9 vectors are cut into 5 and 4.
        const int64_t n = (left + W - 1) / W, take = n <= 8 ? n : n < 16 ? (n + 1) / 2 : 8;
        const int64_t end = take == n ? left - W : (take - 1) * W;
        switch (take) {
            case 1: spmm_columns<S, 1>(a, first, last, from, end, out, whole); break;
            case 2: spmm_columns<S, 2>(a, first, last, from, end, out, whole); break;
            case 3: spmm_columns<S, 3>(a, first, last, from, end, out, whole); break;
            case 4: spmm_columns<S, 4>(a, first, last, from, end, out, whole); break;
            case 5: spmm_columns<S, 5>(a, first, last, from, end, out, whole); break;
            case 6: spmm_columns<S, 6>(a, first, last, from, end, out, whole); break;
            case 7: spmm_columns<S, 7>(a, first, last, from, end, out, whole); break;
            default: spmm_columns<S, 8>(a, first, last, from, end, out, whole); break;
        }
        from += take * W;
    }
}

template <class S>
static void spmm(const Spmm<S>& a, const Unit& unit) {
    if (unit.partial >= 0)
        return spmm_row(a, unit.edge, unit.edge_end, a.partials + unit.partial * a.width, false);
    for (int64_t v = unit.row; v < unit.row_end; ++v)
        spmm_row(a, a.rowptr[v], a.rowptr[v + 1], a.out + v * a.out_stride, true);
}

template <class S>
static void sddmm_edges(const Spmm<S>& a, int64_t row, int64_t first, int64_t last) {
    constexpr int W = kLanes<S>;
    const S* d = a.grad_out + row * a.grad_out_stride;
    for (int64_t e = first; e < last; ++e) {
        if (e + kSpmmAhead < a.edges)
            prefetch(a.x + a.col[e + kSpmmAhead] * a.x_stride, a.width * static_cast<int64_t>(sizeof(S)));
        const S* x = a.x + a.col[e] * a.x_stride;
        Vec<S> sum = {};
        int64_t i = 0;
        for (; i + W <= a.width; i += W) sum += load(d + i) * load(x + i);
        S total = sum_channels<S>(sum, 1)[0];
        for (; i < a.width; ++i) total += d[i] * x[i];
        a.grad_weight[e] = total;
    }
}

template <class S>
static void sddmm(const Spmm<S>& a, const Unit& unit) {
    if (unit.partial >= 0) return sddmm_edges(a, unit.row, unit.edge, unit.edge_end);
    for (int64_t v = unit.row; v < unit.row_end; ++v) sddmm_edges(a, v, a.rowptr[v], a.rowptr[v + 1]);
}

}  // namespace JJ_ISA
}  // namespace jj
