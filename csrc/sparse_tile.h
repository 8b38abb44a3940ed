// The folded DNA attention of rows in the standard layout, where the channels of a head fill whole cache lines.
//
// Dropout takes most of the weights. Here a head is read by itself, so what dropout has taken is left out: with p = 0.8
// four fifths of the weighted sums of forward and of their gradients, and in backward all of a head that has no weight
// left. Forward keeps the weights for backward, in CSR order, and marks those that take part by their sign. Besides the
// ones that dropout left these are weights of zero and NaN, so that NaN in a row reaches the output without fail.
#pragma once

#include <cstring>

#include "dna_attention.h"
#include "part.h"

namespace jj {
namespace JJ_ISA {

// A row that is multiplied by many: in registers where its size is known.
template <class S, int Size>
struct Row {
    Part<S> v[Size / kPart<S>];
    JJ_INLINE explicit Row(const S* p) {
        for (int i = 0; i < Size / kPart<S>; ++i) v[i] = load_part(p + i * kPart<S>);
    }
    JJ_INLINE Part<S> get(int64_t i) const { return v[i / kPart<S>]; }
};
template <class S>
struct Row<S, 0> {
    const S* p;
    JJ_INLINE explicit Row(const S* p_) : p(p_) {}
    JJ_INLINE Part<S> get(int64_t i) const { return load_part(p + i); }
};

// a . b lane by lane over C channels from `at` on.
template <class S, int C, class A>
JJ_INLINE Part<S> multiply(const A& a, const S* b, int64_t at, int64_t channels) {
    const int64_t n = C ? C : channels;
    Part<S> sum = a.get(at) * load_part(b + at);
    for (int64_t i = at + kPart<S>; i < at + n; i += kPart<S>) sum += a.get(i) * load_part(b + i);
    return sum;
}

// Bit l: the sign of lane l.
template <class S, class V>
JJ_INLINE uint32_t signs(V v) {
    constexpr int lanes = sizeof(V) / sizeof(S);
#if defined(__AVX512DQ__)
    if constexpr (sizeof(V) == 64 && sizeof(S) == 4) return _mm512_movepi32_mask((__m512i)v);
    if constexpr (sizeof(V) == 64 && sizeof(S) == 8) return _mm512_movepi64_mask((__m512i)v);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32 && sizeof(S) == 4) return _mm256_movemask_ps((__m256)v);
    if constexpr (sizeof(V) == 32 && sizeof(S) == 8) return _mm256_movemask_pd((__m256d)v);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(V) == 16 && sizeof(S) == 4) return _mm_movemask_ps((__m128)v);
    if constexpr (sizeof(V) == 16 && sizeof(S) == 8) return _mm_movemask_pd((__m128d)v);
#endif
    uint32_t bits = 0;
    for (int l = 0; l < lanes; ++l) bits |= static_cast<uint32_t>(__builtin_signbit(v[l]) != 0) << l;
    return bits;
}

// Appends base + l for each bit l of the W in `bits`. May write W entries beyond the end.
template <class S>
JJ_INLINE void append(uint32_t* list, int64_t& n, uint32_t base, uint32_t bits) {
#if defined(__AVX512DQ__)
    if constexpr (kLanes<S> == 16) {
        const auto lanes = lane_numbers<float>(std::make_integer_sequence<int, 16>()) + base;
        _mm512_storeu_si512(list + n, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), (__m512i)lanes));
        n += __builtin_popcount(bits);
        return;
    }
#endif
    for (; bits; bits &= bits - 1) list[n++] = base + __builtin_ctz(bits);
}

// A tile of edges with the places of their rows, and the lists of what takes part in it.
template <class S, int H, int C>
struct SparseTile : Tile<S> {
    using Tile<S>::W;
    int64_t heads, channels, head, shift;
    uint32_t valid;      // lanes of a vector that are heads
    const S** rows;      // [T, edges]
    uint32_t *list, *any;
    int64_t listed = 0, listed_any = 0;

    JJ_INLINE SparseTile(const Dna<S>& a, S* scratch) : Tile<S>(a, scratch, H ? H : a.layout.padded) {
        heads = H ? H : a.layout.heads;
        channels = C ? C : a.layout.channels;
        shift = __builtin_ctzll(this->width);
        S* next = scratch + kTileScratch<S>(this->steps);
        rows = reinterpret_cast<const S**>(next);
        list = reinterpret_cast<uint32_t*>(next + this->steps * this->kLongest);
        any = list + (this->steps + 1) * this->kLongest;
    }
    // Heads from `first` on are at work.
    JJ_INLINE void begin(int64_t first) {
        head = first;
        valid = 0;
        for (int l = 0; l < W; ++l) valid |= static_cast<uint32_t>(head + l % this->width < heads) << l;
        listed = listed_any = 0;
    }
    // Lanes of the vector at lane i that are heads of the first `count` edges.
    JJ_INLINE uint32_t valid_from(int64_t i, int64_t count) const {
        const int64_t left = count * this->width - i;
        return left < W ? valid & ((1u << left) - 1) : valid;
    }
    JJ_INLINE int64_t at_head(int64_t h) const { return h * (C ? C : channels); }
    JJ_INLINE int64_t offset(uint32_t lane) const { return at_head(head + (lane & (this->width - 1))); }
    JJ_INLINE const S* row(uint32_t lane) const { return rows[lane >> shift] + offset(lane); }
    // Numbers of the edges from e on, heads at work, from or to [E, T, P].
    JJ_INLINE void read(const S* all, S* to, int64_t e, int64_t count) const {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t t = 0; t < this->steps; ++t)
                std::memcpy(this->at(to, t, i), all + place(e + i, t), this->width * sizeof(S));
    }
    JJ_INLINE void write(S* from, S* all, int64_t e, int64_t count) const {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t t = 0; t < this->steps; ++t)
                std::memcpy(all + place(e + i, t), this->at(from, t, i), this->width * sizeof(S));
    }
    JJ_INLINE int64_t place(int64_t e, int64_t t) const { return (e * this->steps + t) * this->padded + head; }
    // The rows of the edge `ahead` after e.
    JJ_INLINE void prefetch_after(const Dna<S>& a, int64_t e) const {
        if (e + a.ahead >= a.graph.edges) return;
        const int64_t next = a.graph.col[e + a.ahead], bytes = at_head(heads) * static_cast<int64_t>(sizeof(S));
        for (int64_t t = 0; t < this->steps; ++t) prefetch(a.key[t] + next * a.key_stride[t], bytes);
    }
    JJ_INLINE void find_rows(const Dna<S>& a, int64_t begin, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t source = a.graph.col[begin + i];
            for (int64_t t = 0; t < this->steps; ++t) rows[t * this->edges + i] = a.key[t] + source * a.key_stride[t];
        }
    }
};

template <class S>
JJ_INLINE void clear_heads(S* to, int64_t padded) {
    for (int64_t i = 0; i < padded; i += kLanes<S>) store_first<kLanes<S>>(to + i, Vec<S>{}, padded);
}

// to += c x over the channels of a head.
template <class S, int C>
JJ_INLINE void add_scaled(S* to, S c, const S* x, int64_t channels) {
    const int64_t n = C ? C : channels;
    for (int64_t i = 0; i < n; i += kLanes<S>) store(to + i, load(to + i) + c * load(x + i));
}

// Calls f with heads and channels a head where they are the most common ones, 0 for any other.
template <class S, class F>
JJ_INLINE void with_heads(const Layout& layout, F f) {
    constexpr int line = 64 / static_cast<int>(sizeof(S));
    if (layout.heads == 8 && layout.channels == line) return f(Int<8>(), Int<line>());
    if (layout.channels == line) return f(Int<0>(), Int<line>());
    f(Int<0>(), Int<0>());
}

}  // namespace JJ_ISA
}  // namespace jj
