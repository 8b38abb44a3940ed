// A packed row as vectors: head blocks of W lanes, their runs of vectors, and dot products of them.
#pragma once

#include "common/simd.h"

namespace jj {
namespace JJ_ISA {

// A strided run of vectors, in registers where the length N is known and in memory (N = 0) where not.
template <class S, int N>
struct Run {
    Vec<S> r[N];
    JJ_INLINE Vec<S> get(int64_t j) const { return r[j]; }
    JJ_INLINE void set(int64_t j, Vec<S> v) { r[j] = v; }
    JJ_INLINE void read(const S* p, int64_t step) {
        for (int j = 0; j < N; ++j) r[j] = load(p + j * step);
    }
    JJ_INLINE void clear(S*, int64_t, int64_t) {
        for (int j = 0; j < N; ++j) r[j] = Vec<S>{};
    }
    JJ_INLINE void write(S* p, int64_t step) const {
        for (int j = 0; j < N; ++j) store(p + j * step, r[j]);
    }
};

template <class S>
struct Run<S, 0> {
    S* p;
    int64_t step;
    JJ_INLINE Vec<S> get(int64_t j) const { return load(p + j * step); }
    JJ_INLINE void set(int64_t j, Vec<S> v) { store(p + j * step, v); }
    JJ_INLINE void read(const S* q, int64_t s) {
        p = const_cast<S*>(q);
        step = s;
    }
    JJ_INLINE void clear(S* q, int64_t s, int64_t n) {
        read(q, s);
        for (int64_t j = 0; j < n; ++j) set(j, Vec<S>{});
    }
    JJ_INLINE void write(S*, int64_t) const {}
};

// How a packed row splits into vectors: B head blocks of W lanes, each with N vectors. 0: known at run time.
template <class S, int N, int B>
struct Shape {
    int64_t blocks_, vectors_;
    JJ_INLINE explicit Shape(const Layout& layout) {
        blocks_ = layout.padded > kLanes<S> ? layout.padded / kLanes<S> : 1;
        vectors_ = layout.stride / kLanes<S> / blocks_;
    }
    JJ_INLINE int64_t blocks() const { return B ? B : blocks_; }
    JJ_INLINE int64_t vectors() const { return N ? N : vectors_; }
    JJ_INLINE int64_t step() const { return blocks() * kLanes<S>; }  // between two vectors of a block
    JJ_INLINE int64_t stride() const { return vectors() * step(); }
    JJ_INLINE int64_t bytes() const { return stride() * static_cast<int64_t>(sizeof(S)); }
};

template <int I>
using Int = std::integral_constant<int, I>;

// Calls f(N, B) with the constants of a common shape, or with (0, 0).
template <class S, class F>
JJ_INLINE void with_shape(const Layout& layout, F f) {
    const Shape<S, 0, 0> shape(layout);
    const int64_t n = shape.vectors(), b = shape.blocks();
    if (b == 1 && n == 1) return f(Int<1>(), Int<1>());
    if (b == 1 && n == 2) return f(Int<2>(), Int<1>());
    if (b == 1 && n == 4) return f(Int<4>(), Int<1>());
    if (b == 1 && n == 8) return f(Int<8>(), Int<1>());
    if (b == 2 && n == 4) return f(Int<4>(), Int<2>());
    if (b == 2 && n == 8) return f(Int<8>(), Int<2>());
    f(Int<0>(), Int<0>());
}

// q . k over one head block; two chains of additions hide the latency of one.
template <class S, class A, class Sh>
JJ_INLINE Vec<S> dot(const A& a, const S* b, const Sh& shape) {
    const int64_t n = shape.vectors(), step = shape.step();
    Vec<S> even = a.get(0) * load(b), odd = {};
    int64_t j = 1;
    if (n > 1) odd = a.get(1) * load(b + step), j = 2;
    for (; j + 1 < n; j += 2) {
        even += a.get(j) * load(b + j * step);
        odd += a.get(j + 1) * load(b + (j + 1) * step);
    }
    if (j < n) even += a.get(j) * load(b + j * step);
    return n > 1 ? even + odd : even;
}

// Both a . c and b . c with one load of c.
template <class S, class A, class Sh>
JJ_INLINE void dot2(const A& a, const A& b, const S* c, const Sh& shape, Vec<S>& ac, Vec<S>& bc) {
    const int64_t n = shape.vectors(), step = shape.step();
    Vec<S> v = load(c);
    ac = a.get(0) * v;
    bc = b.get(0) * v;
    for (int64_t j = 1; j < n; ++j) {
        v = load(c + j * step);
        ac += a.get(j) * v;
        bc += b.get(j) * v;
    }
}

}  // namespace JJ_ISA
}  // namespace jj
