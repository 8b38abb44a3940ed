// Block-diagonal linear maps on packed rows, with no horizontal operation.
//
// Group j maps the standard channels i = head * C + c of [j m, (j + 1) m) to themselves. In a packed row the output
// lanes of one vector need, for each input channel c, that channel of their own head (a repeated load) and, where a
// group spans several heads, of the heads (lane ^ s): shifts s = 0 .. heads of a group - 1 reach them all if that
// number is a power of two, s = 0 .. P - 1 in any case.
#pragma once

#include "grouped/kernel_dense.h"

namespace jj {
namespace JJ_ISA {

constexpr int64_t kBlockRows = 16;    // rows taken through all blocks of the weight together
constexpr int64_t kRegisterRows = 4;  // rows that share a load of the weight

template <class S>
struct Blocks {
    static constexpr int W = kLanes<S>;
    const Layout& layout;
    Shape<S, 0, 0> shape;
    int64_t size, shifts;

    JJ_INLINE explicit Blocks(const Grouped<S>& a)
        : layout(a.layout), shape(a.layout), size(a.block), shifts(a.shifts) {}
    // Channels of output vector i of a head block: [channel(i), channel(i + 1)), perhaps beyond C.
    JJ_INLINE int64_t channel(int64_t i) const { return layout.padded >= W ? i : i * (W / layout.padded); }
    // Input channels that output vector i needs.
    JJ_INLINE void range(int64_t i, int64_t& first, int64_t& last) const {
        const int64_t C = layout.channels, c = channel(i), end = channel(i + 1) < C ? channel(i + 1) : C;
        first = last = 0;
        if (c >= C) return;
        last = C;
        if (size > C || C % size) return;
        first = c / size * size;
        last = ((end - 1) / size + 1) * size;
    }
    JJ_INLINE int64_t vectors(int64_t i) const {
        int64_t first, last;
        range(i, first, last);
        return (last - first) * shifts;
    }
};

template <class S>
static int64_t grouped_workspace(const Grouped<S>& a) {
    if (a.groups == 1) return dense_workspace(a);
    const Blocks<S> blocks(a);
    int64_t n = 0;
    for (int64_t i = 0; i < blocks.shape.vectors(); ++i) n += blocks.vectors(i);
    return n * blocks.shape.blocks() * kLanes<S> + a.layout.stride;
}

// Calls visit(position in the packed weight, position in `weight`) for each weight, in the order of the packed weight.
template <class S, class Visit>
JJ_INLINE void each_weight(const Grouped<S>& a, Visit visit) {
    constexpr int W = kLanes<S>;
    if (a.groups == 1) return each_dense_weight(a, visit);
    const Blocks<S> blocks(a);
    const int64_t P = a.layout.padded, H = a.layout.heads, C = a.layout.channels, m = a.block;
    int64_t at = 0;
    for (int64_t b = 0; b < blocks.shape.blocks(); ++b) {
        for (int64_t i = 0; i < blocks.shape.vectors(); ++i) {
            int64_t first, last;
            blocks.range(i, first, last);
            // Of each lane: its head (-1: padding), the first channel of its group, its place in the group.
            int64_t head[W], start[W], place[W];
            for (int64_t lane = 0; lane < W; ++lane) {
                const int64_t channel = blocks.channel(i) + lane / P;
                head[lane] = (b * W + lane) % P;
                start[lane] = (head[lane] * C + channel) / m * m;
                place[lane] = head[lane] * C + channel - start[lane];
                if (head[lane] >= H || channel >= C) head[lane] = -1;
            }
            for (int64_t s = 0; s < a.shifts; ++s) {
                for (int64_t c = first; c < last; ++c, at += W) {
                    for (int64_t lane = 0; lane < W; ++lane) {
                        if (head[lane] < 0 || (head[lane] ^ s) >= H) continue;
                        const int64_t from = (head[lane] ^ s) * C + c - start[lane], to = place[lane];
                        if (from < 0 || from >= m) continue;
                        visit(at + lane, start[lane] * m + (a.transpose ? to * m + from : from * m + to));
                    }
                }
            }
        }
    }
}

template <class S>
static void grouped_pack(const Grouped<S>& a) {
    const int64_t n = grouped_workspace(a), P = a.layout.padded;
    for (int64_t i = 0; i < n; ++i) a.packed[i] = 0;
    each_weight(a, [&a](int64_t to, int64_t from) { a.packed[to] = a.weight[from]; });
    if (!a.bias) return;
    S* bias = a.packed + n - a.layout.stride;
    for (int64_t h = 0; h < a.layout.heads; ++h)
        for (int64_t c = 0; c < a.layout.channels; ++c) bias[c * P + h] = a.bias[h * a.layout.channels + c];
}

template <class S>
static void grouped_unpack(const Grouped<S>& a, const S* sums, S* grad_weight, S* grad_bias) {
    const int64_t n = grouped_workspace(a), P = a.layout.padded;
    if (grad_weight) each_weight(a, [=](int64_t from, int64_t to) { grad_weight[to] = sums[from]; });
    if (!grad_bias) return;
    const S* bias = sums + n - a.layout.stride;
    for (int64_t h = 0; h < a.layout.heads; ++h)
        for (int64_t c = 0; c < a.layout.channels; ++c) grad_bias[h * a.layout.channels + c] = bias[c * P + h];
}

// The rows from `first` on with their lanes exchanged by each shift below W: [shifts, kBlockRows, stride].
template <class S>
JJ_INLINE void shift_rows(const Grouped<S>& a, int64_t first, int64_t rows, S* out) {
    constexpr int W = kLanes<S>;
    const int64_t stride = a.layout.stride, shifts = a.shifts < W ? a.shifts : W;
    for (int64_t s = 0; s < shifts; ++s)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < stride; i += W)
                store(out + (s * kBlockRows + r) * stride + i,
                      swap_lanes<S>(load(a.x + (first + r) * a.x_stride + i), static_cast<int>(s)));
}

template <class S>
JJ_INLINE const S* shifted(const Grouped<S>& a, int64_t first, const S* scratch) {
    return a.shifts == 1 ? a.x + first * a.x_stride : scratch;
}

// Distance between the rows that shifted() points to.
template <class S>
JJ_INLINE int64_t shifted_stride(const Grouped<S>& a) {
    return a.shifts == 1 ? a.x_stride : a.layout.stride;
}

// dot[row] = x[row] . dot_row, head by head.
template <class S>
JJ_INLINE void dot_rows(const Grouped<S>& a, int64_t first, int64_t last) {
    constexpr int W = kLanes<S>;
    const Shape<S, 0, 0> shape(a.layout);
    for (int64_t r = first; r < last; ++r) {
        const S* x = a.x + r * a.x_stride;
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            Vec<S> sum{};
            for (int64_t i = 0; i < shape.vectors(); ++i) {
                const int64_t at = b * W + i * shape.step();
                sum += load(x + at) * load(a.dot_row + at);
            }
            store_heads(a.dot + r * a.layout.padded + b * W, sum_channels<S>(sum, a.layout.padded), a.layout, b * W);
        }
    }
}

// Calls f(P) with the constant P if it is a common one below W, with W for all from W on, else with 0.
template <class S, class F>
JJ_INLINE void with_padded(int64_t padded, F f) {
    constexpr int W = kLanes<S>;
    if (padded >= W) return f(Int<W>());
    if (padded == W / 2) return f(Int<W / 2>());
    f(Int<0>());
}

// R rows times J output vectors of one head block. `x` points to input channel 0 of the rows, one pointer a shift;
// `weight` holds J runs of `run` scalars.
template <class S, int R, int J, int P>
JJ_INLINE void grouped_registers(const Grouped<S>& a, const Blocks<S>& blocks, int64_t row, int64_t b, int64_t i,
                                 int64_t first, int64_t last, const S* weight, const S* bias, const S* rows) {
    constexpr int W = kLanes<S>;
    const int64_t stride = a.layout.stride, step = blocks.shape.step(), run = (last - first) * a.shifts * W;
    const int64_t padded = P == 0 ? a.layout.padded : P == W ? step : P, x_stride = shifted_stride(a);
    Vec<S> sum[R][J];
    for (int r = 0; r < R; ++r) {
        for (int j = 0; j < J; ++j) sum[r][j] = load(bias + b * W + (i + j) * step);
        if (!a.scale) continue;
        const Vec<S> scale = row_scale(a, row + r, b * W);
        for (int j = 0; j < J; ++j) sum[r][j] *= scale;
    }
    for (int64_t s = 0; s < a.shifts; ++s) {
        const S* x = rows + s % W * kBlockRows * stride + (b ^ (s / W)) * W + first * padded;
        for (int64_t c = first; c < last; ++c, weight += W, x += padded) {
            Vec<S> w[J];
            for (int j = 0; j < J; ++j) w[j] = load(weight + j * run);
            for (int r = 0; r < R; ++r) {
                const Vec<S> v = load_heads(x + r * x_stride, P ? P : padded);
                for (int j = 0; j < J; ++j) sum[r][j] += v * w[j];
            }
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int j = 0; j < J; ++j) {
            S* y = a.y + (row + r) * a.y_stride + b * W + (i + j) * step;
            store(y, a.accumulate ? load(y) + sum[r][j] : sum[r][j]);
        }
    }
}

// All rows of a block times J output vectors.
template <class S, int J, int P>
JJ_INLINE void grouped_column(const Grouped<S>& a, const Blocks<S>& blocks, int64_t row, int64_t rows, int64_t b,
                              int64_t i, int64_t first, int64_t last, const S* weight, const S* bias, const S* x) {
    int64_t r = 0;
    for (; r + kRegisterRows <= rows; r += kRegisterRows)
        grouped_registers<S, kRegisterRows, J, P>(a, blocks, row + r, b, i, first, last, weight, bias,
                                                  x + r * shifted_stride(a));
    for (; r < rows; ++r)
        grouped_registers<S, 1, J, P>(a, blocks, row + r, b, i, first, last, weight, bias, x + r * shifted_stride(a));
}

// scratch: kBlockRows * min(shifts, W) rows.
template <class S, int P>
static void grouped_rows(const Grouped<S>& a, int64_t from, int64_t to, S* scratch) {
    constexpr int W = kLanes<S>;
    const Blocks<S> blocks(a);
    const S* bias = a.packed + grouped_workspace(a) - a.layout.stride;
    for (int64_t row = from; row < to; row += kBlockRows) {
        const int64_t rows = to - row < kBlockRows ? to - row : kBlockRows;
        if (a.shifts > 1) shift_rows(a, row, rows, scratch);
        const S *weight = a.packed, *x = shifted(a, row, scratch);
        for (int64_t b = 0; b < blocks.shape.blocks(); ++b) {
            for (int64_t i = 0; i < blocks.shape.vectors();) {
                int64_t first, last, next_first = -1, next_last = -1;
                blocks.range(i, first, last);
                if (i + 1 < blocks.shape.vectors()) blocks.range(i + 1, next_first, next_last);
                const bool pair = first == next_first && last == next_last;
                if (pair)
                    grouped_column<S, 2, P>(a, blocks, row, rows, b, i, first, last, weight, bias, x);
                else
                    grouped_column<S, 1, P>(a, blocks, row, rows, b, i, first, last, weight, bias, x);
                weight += (pair ? 2 : 1) * (last - first) * a.shifts * W;
                i += pair ? 2 : 1;
            }
        }
    }
}

template <class S>
static void grouped_forward(const Grouped<S>& a, int64_t first, int64_t last, S* scratch) {
    if (a.dot) dot_rows(a, first, last);
    if (a.groups == 1) return dense_rows(a, first, last);
    with_padded<S>(a.layout.padded, [&](auto p) { grouped_rows<S, p.value>(a, first, last, scratch); });
}

// K input channels of J output vectors, summed over some rows.
template <class S, int K, int J, int P>
JJ_INLINE void grad_registers(const S* x, int64_t x_stride, int64_t padded, const S* dy, int64_t step, int64_t stride,
                              int64_t rows, S* sums, int64_t run) {
    constexpr int W = kLanes<S>;
    Vec<S> sum[K][J];
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < J; ++j) sum[k][j] = load(sums + j * run + k * W);
    for (int64_t r = 0; r < rows; ++r) {
        Vec<S> d[J];
        for (int j = 0; j < J; ++j) d[j] = load(dy + r * stride + j * step);
        for (int k = 0; k < K; ++k) {
            const Vec<S> v = load_heads(x + r * x_stride + k * padded, P ? P : padded);
            for (int j = 0; j < J; ++j) sum[k][j] += v * d[j];
        }
    }
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < J; ++j) store(sums + j * run + k * W, sum[k][j]);
}

template <class S, int J, int P>
JJ_INLINE void grad_vectors(const Grouped<S>& a, const S* dy, int64_t step, int64_t rows, int64_t b, int64_t first,
                            int64_t last, S* sums, const S* all_x) {
    constexpr int W = kLanes<S>;
    const int64_t stride = a.layout.stride, run = (last - first) * a.shifts * W;
    const int64_t padded = P == 0 ? a.layout.padded : P == W ? step : P;
    for (int64_t s = 0; s < a.shifts; ++s) {
        const S* x = all_x + s % W * kBlockRows * stride + (b ^ (s / W)) * W;
        int64_t c = first;
        for (; c + 4 <= last; c += 4, sums += 4 * W)
            grad_registers<S, 4, J, P>(x + c * padded, shifted_stride(a), padded, dy, step, stride, rows, sums, run);
        for (; c < last; ++c, sums += W)
            grad_registers<S, 1, J, P>(x + c * padded, shifted_stride(a), padded, dy, step, stride, rows, sums, run);
    }
}

template <class S, int P>
static void grad_rows(const Grouped<S>& a, int64_t from, int64_t to, S* scratch, S* all_sums) {
    constexpr int W = kLanes<S>;
    const Blocks<S> blocks(a);
    const int64_t stride = a.layout.stride, step = blocks.shape.step();
    for (int64_t row = from; row < to; row += kBlockRows) {
        const int64_t rows = to - row < kBlockRows ? to - row : kBlockRows;
        if (a.shifts > 1) shift_rows(a, row, rows, scratch);
        const S* x = shifted(a, row, scratch);
        S* sums = all_sums;
        for (int64_t b = 0; b < blocks.shape.blocks(); ++b) {
            for (int64_t i = 0; i < blocks.shape.vectors();) {
                int64_t first, last, next_first = -1, next_last = -1;
                blocks.range(i, first, last);
                if (i + 1 < blocks.shape.vectors()) blocks.range(i + 1, next_first, next_last);
                const bool pair = first == next_first && last == next_last;
                const S* dy = a.grad_y + row * stride + b * W + i * step;
                if (pair)
                    grad_vectors<S, 2, P>(a, dy, step, rows, b, first, last, sums, x);
                else
                    grad_vectors<S, 1, P>(a, dy, step, rows, b, first, last, sums, x);
                sums += (pair ? 2 : 1) * (last - first) * a.shifts * W;
                i += pair ? 2 : 1;
            }
        }
    }
}

// Adds the gradient of the packed bias from some rows.
template <class S>
JJ_INLINE void grad_bias(const Grouped<S>& a, int64_t first, int64_t last, S* bias) {
    for (int64_t i = 0; i < a.layout.stride; i += kLanes<S>) {
        Vec<S> sum = load(bias + i);
        for (int64_t r = first; r < last; ++r) {
            const Vec<S> d = load(a.grad_y + r * a.layout.stride + i);
            sum += a.scale ? d * row_scale(a, r, i) : d;
        }
        store(bias + i, sum);
    }
}

// Adds the gradients of the packed weight and bias from the rows [first, last) to `sums`.
// scratch: kBlockRows * min(shifts, W) rows.
template <class S>
static void grouped_weight_grad(const Grouped<S>& a, int64_t first, int64_t last, S* scratch, S* sums) {
    S* bias = sums + grouped_workspace(a) - a.layout.stride;
    for (int64_t row = first; row < last; row += kDenseRows) {
        const int64_t end = last - row < kDenseRows ? last : row + kDenseRows;
        if (a.groups == 1)
            dense_weight_grad(a, row, end, sums);
        else
            with_padded<S>(a.layout.padded, [&](auto p) { grad_rows<S, p.value>(a, row, end, scratch, sums); });
        grad_bias(a, row, end, bias);
    }
}

}  // namespace JJ_ISA
}  // namespace jj
