// Passes over rows: between the standard and the packed layout, and ReLU with dropout.
#pragma once

#include "simd.h"

namespace jj {
namespace JJ_ISA {

// y[j, i] = x[i, j] for i < rows, j < cols: both multiples of four where S is float, which goes by blocks of registers.
template <class S>
JJ_INLINE void transpose(const S* x, int64_t rows, int64_t cols, S* y) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) y[j * rows + i] = x[i * cols + j];
}

template <>
JJ_INLINE void transpose(const float* x, int64_t rows, int64_t cols, float* y) {
    typedef float Four __attribute__((vector_size(16)));
    const auto read = [](const float* p) {
        Four v;
        std::memcpy(&v, p, sizeof v);
        return v;
    };
    const auto write = [](float* p, Four v) { std::memcpy(p, &v, sizeof v); };
    for (int64_t i = 0; i < rows; i += 4) {
        for (int64_t j = 0; j < cols; j += 4) {
            const float* p = x + i * cols + j;
            const Four a = read(p), b = read(p + cols), c = read(p + 2 * cols), d = read(p + 3 * cols);
            const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), AB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            float* q = y + j * rows + i;
            write(q, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
            write(q + rows, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
            write(q + 2 * rows, __builtin_shufflevector(AB, CD, 0, 1, 4, 5));
            write(q + 3 * rows, __builtin_shufflevector(AB, CD, 2, 3, 6, 7));
        }
    }
}

// Whether a packed row is the transposed standard row and nothing else, in sizes that transpose() takes.
JJ_INLINE bool is_plain(const Layout& layout) {
    return layout.heads == layout.padded && layout.heads * layout.channels == layout.stride && layout.heads % 4 == 0 &&
           layout.channels % 4 == 0;
}

template <class S>
static void pack(const Rows<S>& a, int64_t first, int64_t last) {
    const int64_t H = a.layout.heads, C = a.layout.channels, P = a.layout.padded;
    for (int64_t r = first; r < last; ++r) {
        const S* x = a.x + r * a.x_stride;
        S* y = a.y + r * a.y_stride;
        if (is_plain(a.layout)) {
            transpose(x, H, C, y);
            continue;
        }
        for (int64_t c = 0; c < C; ++c) {
            for (int64_t h = 0; h < H; ++h) y[c * P + h] = x[h * C + c];
            for (int64_t h = H; h < P; ++h) y[c * P + h] = 0;
        }
        for (int64_t i = C * P; i < a.layout.stride; ++i) y[i] = 0;
    }
}

template <class S>
JJ_INLINE void unpack_row(const Layout& layout, const S* x, S* y) {
    const int64_t H = layout.heads, C = layout.channels, P = layout.padded;
    if (is_plain(layout)) return transpose(x, C, H, y);
    for (int64_t h = 0; h < H; ++h)
        for (int64_t c = 0; c < C; ++c) y[h * C + c] = x[c * P + h];
}

template <class S>
static void unpack(const Rows<S>& a, int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) unpack_row(a.layout, a.x + r * a.x_stride, a.y + r * a.y_stride);
}

// y = keep(row, 0, channel) / (1 - p) * (relu(x) or x), where the channel is the position in the row.
template <class S>
static void dropout_forward(const Rows<S>& a, int64_t first, int64_t last) {
    constexpr int W = kLanes<S>;
    const S factor = a.dropout.factor;
    const uint32_t threshold = a.dropout.threshold;
    for (int64_t r = first; r < last; ++r) {
        const uint32_t key = a.dropout.row_key(a.first_row + r);
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
static void dropout_backward(const Rows<S>& a, int64_t first, int64_t last) {
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
