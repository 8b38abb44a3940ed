// Rows from the standard to the packed layout, and back.
#pragma once

#include "common/packed_row.h"

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

template <class V, int... I>
JJ_INLINE void split_pair(V a, V b, V& even, V& odd, std::integer_sequence<int, I...>) {
    even = __builtin_shufflevector(a, b, (2 * I)...);
    odd = __builtin_shufflevector(a, b, (2 * I + 1)...);
}

template <class V, int... I>
JJ_INLINE void merge_pair(V a, V b, V& low, V& high, std::integer_sequence<int, I...>) {
    constexpr int W = sizeof...(I);
    low = __builtin_shufflevector(a, b, (I % 2 * W + I / 2)...);
    high = __builtin_shufflevector(a, b, (I % 2 * W + W / 2 + I / 2)...);
}

// A row of N vectors in registers. Taking the even numbers first and then the odd ones rotates the bits of a number's
// place by one: as many times as the columns have bits, and a matrix is transposed.
template <class S, int N>
struct RowVectors {
    static constexpr int W = kLanes<S>;
    Vec<S> v[N];
    JJ_INLINE explicit RowVectors(const S* x) {
        for (int i = 0; i < N; ++i) v[i] = load(x + i * W);
    }
    JJ_INLINE void write(S* y) const {
        for (int i = 0; i < N; ++i) store(y + i * W, v[i]);
    }
    JJ_INLINE void split() {
        Vec<S> to[N];
        for (int i = 0; i < N / 2; ++i)
            split_pair(v[2 * i], v[2 * i + 1], to[i], to[N / 2 + i], std::make_integer_sequence<int, W>());
        for (int i = 0; i < N; ++i) v[i] = to[i];
    }
    JJ_INLINE void merge() {
        Vec<S> to[N];
        for (int i = 0; i < N / 2; ++i)
            merge_pair(v[i], v[N / 2 + i], to[2 * i], to[2 * i + 1], std::make_integer_sequence<int, W>());
        for (int i = 0; i < N; ++i) v[i] = to[i];
    }
};

// Whether a plain row fits in eight registers, and the transposition is a rotation of bits.
template <class S>
JJ_INLINE bool is_rotated(const Layout& layout) {
    return layout.heads == layout.padded && layout.heads * layout.channels == layout.stride &&
           layout.stride == 8 * kLanes<S> && (layout.channels & (layout.channels - 1)) == 0;
}

template <class S>
JJ_INLINE void pack_row(const Layout& layout, const S* x, S* y) {
    const int64_t H = layout.heads, C = layout.channels, P = layout.padded;
    if (is_rotated<S>(layout)) {
        RowVectors<S, 8> row(x);
        for (int64_t h = 1; h < H; h *= 2) row.merge();
        return row.write(y);
    }
    if (is_plain(layout)) return transpose(x, H, C, y);
    for (int64_t c = 0; c < C; ++c) {
        for (int64_t h = 0; h < H; ++h) y[c * P + h] = x[h * C + c];
        for (int64_t h = H; h < P; ++h) y[c * P + h] = 0;
    }
    for (int64_t i = C * P; i < layout.stride; ++i) y[i] = 0;
}

template <class S>
JJ_INLINE void unpack_row(const Layout& layout, const S* x, S* y) {
    const int64_t H = layout.heads, C = layout.channels, P = layout.padded;
    if (is_rotated<S>(layout)) {
        RowVectors<S, 8> row(x);
        for (int64_t h = 1; h < H; h *= 2) row.split();
        return row.write(y);
    }
    if (is_plain(layout)) return transpose(x, C, H, y);
    for (int64_t h = 0; h < H; ++h)
        for (int64_t c = 0; c < C; ++c) y[h * C + c] = x[c * P + h];
}

template <class S>
static void pack(const Layout& layout, const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) pack_row(layout, x + r * x_stride, y + r * y_stride);
}

template <class S>
static void unpack(const Layout& layout, const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) unpack_row(layout, x + r * x_stride, y + r * y_stride);
}

}  // namespace JJ_ISA
}  // namespace jj
