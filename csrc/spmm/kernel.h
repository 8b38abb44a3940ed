// Sparse times dense: out[v] = sum_e weight[e] * x[col[e]] on rows of any width, and the gradient of the weights.
#pragma once

#include "common/simd.h"
#include "spmm/arguments.h"

namespace jj {
namespace JJ_ISA {

constexpr int64_t kSpmmAhead = 8;

template <class S>
JJ_INLINE S edge_weight(const Spmm<S>& a, int64_t e) {
    return a.weight ? a.weight[a.position && !a.ordered ? a.position[e] : e] : S(1);
}

// Sums that share the edges of a row: few vectors take several edges at a time to hide the latency.
template <int N>
constexpr int kSums = N <= 2   ? 4
                      : N <= 4 ? 2
                               : 1;

// The edges of a row that dropout keeps, as offsets from its first one, dealt to U sums: U edges at a time, the rest to
// the first sum.
template <class S, int U>
struct Kept {
    int32_t offset[U][kChunkEdges + kLanes<S>];
    int64_t count[U] = {};

    JJ_INLINE Kept(const Spmm<S>& a, int64_t first, int64_t last) {
        constexpr int W = kLanes<S>;
        const int64_t size = last - first, even = size / U * U;
        const uint32_t key = a.dropout.row_key(0), threshold = a.dropout.threshold;
        int64_t i = 0;
        for (; i + W <= size; i += W) {
            add_lanes(i, keep_lanes<S>(numbers(a, first + i) * kHeadFactor, key, 0, threshold));
        }
        for (; i < size; ++i) {
            const int64_t number = a.position ? a.position[first + i] : first + i;
            add(i, even, mix32(key ^ ((static_cast<uint32_t>(number) + a.first) * kHeadFactor)) >= threshold);
        }
    }
    // W edges from i on.
    JJ_INLINE void add_lanes(int64_t i, Mask<S> keep) {
        constexpr int W = kLanes<S>;
#if defined(__AVX512DQ__)
        if constexpr (W == 16) {
            const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            const __m512i offsets = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(i)));
            const unsigned all = _mm512_movepi32_mask((__m512i)keep);
            for (int u = 0; u < U; ++u) {
                const unsigned own = all & ((U == 1 ? 0xFFFFu : U == 2 ? 0x5555u : 0x1111u) << u);
                const __m512i kept = _mm512_maskz_compress_epi32(static_cast<__mmask16>(own), offsets);
                _mm512_storeu_si512(offset[u] + count[u], kept);
                count[u] += __builtin_popcount(own);
            }
            return;
        }
#endif
        for (int lane = 0; lane < W; ++lane) add(i + lane, i + W, keep[lane] != 0);
    }
    JJ_INLINE void add(int64_t i, int64_t even, bool keep) {
        const int64_t u = i < even ? i % U : 0;
        offset[u][count[u]] = static_cast<int32_t>(i);
        count[u] += keep;
    }
    // The low words of the numbers of W edges from e on.
    static JJ_INLINE typename Types<S>::Word numbers(const Spmm<S>& a, int64_t e) {
        if (!a.position)
            return lane_numbers<S>(std::make_integer_sequence<int, kLanes<S>>()) + (static_cast<uint32_t>(e) + a.first);
        if (!a.position.wide) return load_words<S>(static_cast<const uint32_t*>(a.position.data) + e) + a.first;
        typename Types<S>::Word words;
        for (int lane = 0; lane < kLanes<S>; ++lane)
            words[lane] = static_cast<uint32_t>(a.position[e + lane]) + a.first;
        return words;
    }
};

// N vectors of a row from channel `from` on; the last starts at `from + last_offset` and may overlap the one before,
// so that rows need not be a multiple of W wide.
template <class S, int N>
static void spmm_columns(const Spmm<S>& a, int64_t first, int64_t last, int64_t from, int64_t last_offset, S* out) {
    constexpr int W = kLanes<S>;
    constexpr int U = kSums<N>;
    const S* x = a.x + from;
    const auto offset = [last_offset](int j) -> int64_t { return j == N - 1 ? last_offset : j * W; };
    Vec<S> sum[U][N] = {};
    const int64_t bytes = (last_offset + W) * static_cast<int64_t>(sizeof(S));
    int64_t e = first;
    if (a.dropout.threshold) {
        const Kept<S, U> kept(a, first, last);
        for (int u = 0; u < U; ++u) {
            for (int64_t k = 0; k < kept.count[u]; ++k) {
                if (k + kSpmmAhead < kept.count[u])
                    prefetch(x + a.col[first + kept.offset[u][k + kSpmmAhead]] * a.x_stride, bytes);
                const int64_t edge = first + kept.offset[u][k];
                const S weight = edge_weight(a, edge) * a.dropout.factor;
                const S* row = x + a.col[edge] * a.x_stride;
                for (int j = 0; j < N; ++j) sum[u][j] += weight * load(row + offset(j));
            }
        }
        e = last;
    }
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
        store(out + from + offset(j), total);
    }
}

// Rows narrower than a vector.
template <class S>
static void spmm_narrow(const Spmm<S>& a, int64_t first, int64_t last, S* out) {
    S sum[kLanes<S>] = {};
    const uint32_t key = a.dropout.row_key(0), threshold = a.dropout.threshold;
    for (int64_t e = first; e < last; ++e) {
        const int64_t number = a.position ? a.position[e] : e;
        if (threshold && mix32(key ^ ((static_cast<uint32_t>(number) + a.first) * kHeadFactor)) < threshold) continue;
        const S weight = edge_weight(a, e) * a.dropout.factor;
        const S* row = a.x + a.col[e] * a.x_stride;
        for (int64_t i = 0; i < a.width; ++i) sum[i] += weight * row[i];
    }
    for (int64_t i = 0; i < a.width; ++i) out[i] = sum[i];
}

template <class S>
static void spmm_row(const Spmm<S>& a, int64_t first, int64_t last, S* out) {
    constexpr int W = kLanes<S>;
    if (a.width < W) return spmm_narrow(a, first, last, out);
    for (int64_t from = 0; from < a.width;) {
        const int64_t left = a.width - from;
        // A remainder narrower than a vector joins the vectors before it: 9 vectors are cut into 5 and 4.
        const int64_t n = (left + W - 1) / W, take = n <= 8 ? n : n < 16 ? (n + 1) / 2 : 8;
        const int64_t end = take == n ? left - W : (take - 1) * W;
        switch (take) {
            case 1: spmm_columns<S, 1>(a, first, last, from, end, out); break;
            case 2: spmm_columns<S, 2>(a, first, last, from, end, out); break;
            case 3: spmm_columns<S, 3>(a, first, last, from, end, out); break;
            case 4: spmm_columns<S, 4>(a, first, last, from, end, out); break;
            case 5: spmm_columns<S, 5>(a, first, last, from, end, out); break;
            case 6: spmm_columns<S, 6>(a, first, last, from, end, out); break;
            case 7: spmm_columns<S, 7>(a, first, last, from, end, out); break;
            default: spmm_columns<S, 8>(a, first, last, from, end, out); break;
        }
        from += take * W;
    }
}

template <class S>
static void spmm(const Spmm<S>& a, const Unit& unit) {
    if (unit.partial >= 0) return spmm_row(a, unit.edge, unit.edge_end, a.partials + unit.partial * a.width);
    for (int64_t v = unit.row; v < unit.row_end; ++v)
        spmm_row(a, a.rowptr[v], a.rowptr[v + 1], a.out + v * a.out_stride);
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
