// Block-diagonal linear maps of rows in the standard layout, with blocks of whole parts: what the sparse form needs.
#pragma once

#include "part.h"

namespace jj {
namespace JJ_ISA {

constexpr int kMapRows = 4;      // rows that share a load of the weight
constexpr int64_t kGradRows = 16;  // rows that stay in L1 while all blocks pass over them

// y of R rows and all channels.
template <class S, int R, int Block>
JJ_INLINE void diagonal_rows(const Diagonal<S>& a, int64_t row) {
    constexpr int L = kPart<S>;
    const int64_t H = a.layout.heads, C = a.layout.channels, block = Block ? Block : a.block;
    const S* x = a.x + row * a.x_stride;
    S* y = a.y + row * a.y_stride;
    for (int64_t head = 0; head < H; ++head) {
        S scale[R];
        for (int r = 0; r < R; ++r) scale[r] = a.scale ? a.scale[(row + r) * a.layout.padded + head] : S(1);
        for (int64_t first = head * C; first < (head + 1) * C; first += block) {
            for (int64_t j = first; j < first + block; j += L) {
                const Part<S> bias = a.bias ? load_part(a.bias + j) : Part<S>{};
                const S* weight = a.weight + first * block + (j - first);
                Part<S> sum[R];
                for (int r = 0; r < R; ++r) sum[r] = bias * scale[r];
                for (int64_t c = 0; c < block; ++c) {
                    const Part<S> w = load_part(weight + c * block);
                    for (int r = 0; r < R; ++r) sum[r] += x[r * a.x_stride + first + c] * w;
                }
                for (int r = 0; r < R; ++r)
                    store_part(y + r * a.y_stride + j, a.relu ? (sum[r] < S(0) ? Part<S>{} : sum[r]) : sum[r]);
            }
        }
    }
}

// dot[row] [P]: x . dot_with + dot_add, head by head.
template <class S>
JJ_INLINE void diagonal_dot(const Diagonal<S>& a, int64_t row) {
    constexpr int L = kPart<S>;
    const int64_t H = a.layout.heads, C = a.layout.channels, P = a.layout.padded;
    const S* x = a.x + row * a.x_stride;
    S* dot = a.dot + row * P;
    for (int64_t head = 0; head < P; head += L) {
        Part<S> v[L];
        for (int64_t l = 0; l < L; ++l) {
            v[l] = Part<S>{};
            for (int64_t c = (head + l) * C; c < (head + l + 1) * C && head + l < H && a.dot_with; c += L)
                v[l] += load_part(x + c) * load_part(a.dot_with + c);
        }
        const Part<S> sums = sum_each<S>(v);
        for (int64_t l = 0; l < L && head + l < P; ++l)
            dot[head + l] = sums[l] + (a.dot_add ? a.dot_add[head + l] : S(0));
    }
}

template <class S, int Block>
JJ_INLINE void diagonal_map_rows(const Diagonal<S>& a) {
    int64_t row = 0;
    for (; row + kMapRows <= a.rows; row += kMapRows) diagonal_rows<S, kMapRows, Block>(a, row);
    for (; row < a.rows; ++row) diagonal_rows<S, 1, Block>(a, row);
}

// y = x W (+ scale * bias), and the dots where they are asked for.
template <class S>
static void diagonal_map(const Diagonal<S>& a) {
    if (a.block == 8)
        diagonal_map_rows<S, 8>(a);
    else if (a.block == 16)
        diagonal_map_rows<S, 16>(a);
    else
        diagonal_map_rows<S, 0>(a);
    for (int64_t row = 0; row < a.rows && a.dot; ++row) diagonal_dot(a, row);
}

// Adds the rows [first, last) to K rows of a block's weight gradient, from channel c on.
template <class S, int K>
JJ_INLINE void diagonal_grad_rows(const Diagonal<S>& a, int64_t first, int64_t last, int64_t c, int64_t j, S* sums) {
    Part<S> sum[K];
    for (int k = 0; k < K; ++k) sum[k] = load_part(sums + k * a.block);
    for (int64_t row = first; row < last; ++row) {
        const Part<S> dy = load_part(a.grad_y + row * a.grad_y_stride + j);
        const S* x = a.x + row * a.x_stride + c;
        for (int k = 0; k < K; ++k) sum[k] += x[k] * dy;
    }
    for (int k = 0; k < K; ++k) store_part(sums + k * a.block, sum[k]);
}

// Adds the rows [first, last) of `x`, each head times its scale, to `sums` [d].
template <class S>
JJ_INLINE void add_scaled_rows(const Diagonal<S>& a, const S* x, int64_t stride, const S* scale, int64_t first,
                               int64_t last, S* sums) {
    constexpr int L = kPart<S>;
    const int64_t C = a.layout.channels, P = a.layout.padded;
    for (int64_t head = 0; head < a.layout.heads; ++head) {
        for (int64_t j = head * C; j < (head + 1) * C; j += L) {
            Part<S> sum = load_part(sums + j);
            if (scale)
                for (int64_t row = first; row < last; ++row)
                    sum += load_part(x + row * stride + j) * scale[row * P + head];
            else
                for (int64_t row = first; row < last; ++row) sum += load_part(x + row * stride + j);
            store_part(sums + j, sum);
        }
    }
}

// sums: the gradients of weight [d, block] and bias [d], then x times x_scale [d]; those of all rows are added.
template <class S>
static void diagonal_weight_grad(const Diagonal<S>& a, S* sums) {
    constexpr int L = kPart<S>;
    const int64_t d = a.layout.heads * a.layout.channels;
    S* bias = sums + d * a.block;
    for (int64_t first = 0; first < a.rows; first += kGradRows) {
        const int64_t last = first + kGradRows < a.rows ? first + kGradRows : a.rows;
        for (int64_t b = 0; b < d; b += a.block)
            for (int64_t j = b; j < b + a.block; j += L)
                for (int64_t c = b; c < b + a.block; c += L)
                    diagonal_grad_rows<S, L>(a, first, last, c, j, sums + c * a.block + (j - b));
        add_scaled_rows(a, a.grad_y, a.grad_y_stride, a.scale, first, last, bias);
        if (a.x_scale) add_scaled_rows(a, a.x, a.x_stride, a.x_scale, first, last, bias + d);
    }
}

}  // namespace JJ_ISA
}  // namespace jj
