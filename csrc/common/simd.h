// Vectors of one instruction set, with the lanes laid out as in a packed row: lane l of vector j is head (j W + l) % P.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of values that immintrin.h leaves undefined on purpose
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include "common/types.h"

#ifndef JJ_ISA
#error "JJ_ISA names the namespace and JJ_BYTES the vector size of this translation unit"
#endif

namespace jj {
namespace JJ_ISA {

template <class S>
struct Types;

template <>
struct Types<float> {
    typedef float V __attribute__((vector_size(JJ_BYTES)));
    typedef int32_t Mask __attribute__((vector_size(JJ_BYTES)));
    typedef uint32_t Bits __attribute__((vector_size(JJ_BYTES)));
    typedef uint32_t Word __attribute__((vector_size(JJ_BYTES)));  // one 32-bit word per lane
    typedef int32_t WordMask __attribute__((vector_size(JJ_BYTES)));
    typedef float Unaligned __attribute__((vector_size(JJ_BYTES), aligned(4)));
};

template <>
struct Types<double> {
    typedef double V __attribute__((vector_size(JJ_BYTES)));
    typedef int64_t Mask __attribute__((vector_size(JJ_BYTES)));
    typedef uint64_t Bits __attribute__((vector_size(JJ_BYTES)));
    typedef uint32_t Word __attribute__((vector_size(JJ_BYTES / 2)));
    typedef int32_t WordMask __attribute__((vector_size(JJ_BYTES / 2)));
    typedef double Unaligned __attribute__((vector_size(JJ_BYTES), aligned(8)));
};

template <class S>
using Vec = typename Types<S>::V;
template <class S>
using Mask = typename Types<S>::Mask;

template <class S>
constexpr int kLanes = JJ_BYTES / static_cast<int>(sizeof(S));

template <class S>
JJ_INLINE Vec<S> load(const S* p) {
    return *reinterpret_cast<const typename Types<S>::Unaligned*>(p);
}

template <class S>
JJ_INLINE void store(S* p, Vec<S> v) {
    *reinterpret_cast<typename Types<S>::Unaligned*>(p) = v;
}

template <class S>
JJ_INLINE Vec<S> splat(S x) {
    return x - Vec<S>{};  // x + 0 would turn -0 into 0, so it takes an addition; x - 0 is x
}

template <class V>
JJ_INLINE V larger(V a, V b) {
    return a > b ? a : b;
}

template <int Step, class V, int... I>
JJ_INLINE V swap_lanes(V v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (I ^ Step)...);
}

// Lane l of the result is lane (l ^ Step).
template <class S, int Step>
JJ_INLINE Vec<S> swap_lanes(Vec<S> v) {
    return swap_lanes<Step>(v, std::make_integer_sequence<int, kLanes<S>>());
}

template <class S, int Step = kLanes<S> / 2>
JJ_INLINE Vec<S> swap_lanes(Vec<S> v, int step) {
    if constexpr (Step == 0) {
        return v;
    } else {
        if (step & Step) v = swap_lanes<S, Step>(v);
        return swap_lanes<S, Step / 2>(v, step);
    }
}

// Sum of all lanes that belong to the same head, left in each of them.
template <class S, int Step = kLanes<S> / 2>
JJ_INLINE Vec<S> sum_channels(Vec<S> v, int64_t padded) {
    if constexpr (Step > 0) {
        if (padded <= Step) {
            v += swap_lanes<S, Step>(v);
            return sum_channels<S, Step / 2>(v, padded);
        }
    }
    return v;
}

template <class S, int P, int... I>
JJ_INLINE Vec<S> repeat(const S* p, std::integer_sequence<int, I...>) {
    typedef S Part __attribute__((vector_size(P * sizeof(S))));
    Part part;
    std::memcpy(&part, p, sizeof part);
    return __builtin_shufflevector(part, part, (I % P)...);
}

// The W lanes that start at a head row, repeated if the row is shorter than a vector.
template <class S, int P = kLanes<S> / 2>
JJ_INLINE Vec<S> load_heads(const S* p, int64_t padded) {
    if (padded >= kLanes<S>) return load(p);
    if constexpr (P > 1) {
        if (padded == P) return repeat<S, P>(p, std::make_integer_sequence<int, kLanes<S>>());
        return load_heads<S, P / 2>(p, padded);
    } else {
        return splat<S>(*p);
    }
}

template <int P, class V, class E, int... I>
JJ_INLINE void store_lanes(E* p, V v, std::integer_sequence<int, I...>) {
    typedef E Part __attribute__((vector_size(P * sizeof(E))));
    const Part part = __builtin_shufflevector(v, v, I...);
    std::memcpy(p, &part, sizeof part);
}

// The first `lanes` lanes of a vector of W; a power of two.
template <int W, class V, class E>
JJ_INLINE void store_first(E* p, V v, int64_t lanes) {
    if constexpr (W == 1) {
        *p = v[0];
    } else {
        if (lanes >= W)
            store_lanes<W>(p, v, std::make_integer_sequence<int, W>());
        else
            store_first<W / 2>(p, v, lanes);
    }
}

// The first lanes of a vector that holds all heads from `first` on, zero in the padding.
template <class S>
JJ_INLINE void store_heads(S* p, Vec<S> v, const Layout& layout, int64_t first) {
    const int64_t n = layout.padded < kLanes<S> ? layout.padded : kLanes<S>;
    if (n == kLanes<S> && first + n <= layout.heads) {
        store(p, v);
        return;
    }
    for (int64_t i = 0; i < n; ++i) p[i] = first + i < layout.heads ? v[i] : S(0);
}

constexpr double kLog2e = 1.4426950408889634;

// 2^x for x <= 0, NaN for NaN. 2^x = 2^n 2^f with n = round(x) and |f| <= 1/2. Adding 1.5 * 2^23 rounds to an integer
// that stands in the low bits of the mantissa; with 127 more, those bits are the exponent field of 2^n, zero (and so
// the result) at the lower clamp.
JJ_INLINE Vec<float> exp2_nonpositive(Vec<float> x) {
#if defined(__AVX512DQ__)
    const Vec<float> f = (Vec<float>)_mm512_reduce_ps((__m512)x, 8);  // x - round(x)
    Vec<float> p = f * 0.00132646572f + 0.00967156594f;
    p = p * f + 0.0555073439f;
    p = p * f + 0.240222413f;
    p = p * f + 0.693146977f;
    p = p * f + 1.0f;
    return (Vec<float>)_mm512_scalef_ps((__m512)p, (__m512)(x - f));
#else
    const float magic = 12582912.0f + 127.0f;
    x = larger(splat(-127.0f), x);
    const Vec<float> shifted = x + magic;
    const Vec<float> f = x - (shifted - magic);
    Vec<float> p = f * 0.00132646572f + 0.00967156594f;
    p = p * f + 0.0555073439f;
    p = p * f + 0.240222413f;
    p = p * f + 0.693146977f;
    p = p * f + 1.0f;
    return p * (Vec<float>)((Types<float>::Bits)shifted << 23);
#endif
}

JJ_INLINE Vec<double> exp2_nonpositive(Vec<double> x) {
    const double magic = 6755399441055744.0 + 1023.0;
    x = larger(splat(-1023.0), x);
    const Vec<double> shifted = x + magic;
    const Vec<double> r = (x - (shifted - magic)) * 0.69314718055994531;
    Vec<double> p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * (Vec<double>)((Types<double>::Bits)shifted << 52);
}

template <class S, int... I>
JJ_INLINE typename Types<S>::Word lane_numbers(std::integer_sequence<int, I...>) {
    return typename Types<S>::Word{static_cast<uint32_t>(I)...};
}

// Head numbers of the W lanes from head `first` on, times the factor of the dropout function.
template <class S>
JJ_INLINE typename Types<S>::Word head_words(int64_t first, int64_t padded) {
    const auto lanes = lane_numbers<S>(std::make_integer_sequence<int, kLanes<S>>());
    return ((lanes + static_cast<uint32_t>(first)) & static_cast<uint32_t>(padded - 1)) * kHeadFactor;
}

template <class S>
JJ_INLINE typename Types<S>::Word load_words(const uint32_t* p) {
    typename Types<S>::Word w;
    std::memcpy(&w, p, sizeof w);
    return w;
}

// All ones in the lanes that dropout keeps. `words` are head_words, `key` is the row's in each lane or in all.
template <class S, class K>
JJ_INLINE Mask<S> keep_lanes(typename Types<S>::Word words, K key, uint32_t step, uint32_t threshold) {
    typename Types<S>::Word h = (words + step * kStepFactor) ^ key;
    h ^= h >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h *= 0x846CA68Bu;
    h ^= h >> 16;
    typename Types<S>::WordMask keep = h >= threshold;
    return __builtin_convertvector(keep, Mask<S>);
}

// Prefetch a row of `bytes` bytes, to read it or to write it.
template <int Write = 0>
JJ_INLINE void prefetch(const void* p, int64_t bytes) {
    const char* c = static_cast<const char*>(p);
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(c + i, Write, 3);
}

}  // namespace JJ_ISA
}  // namespace jj
