// Vectors of 32 bytes at most, and the sums of their lanes.
#pragma once

#include "simd.h"

namespace jj {
namespace JJ_ISA {

// Adding up the lanes of longer vectors takes more time than multiplying them saves.
constexpr int kPartBytes = JJ_BYTES < 32 ? JJ_BYTES : 32;
template <class S>
constexpr int kPart = kPartBytes / static_cast<int>(sizeof(S));
template <class S>
struct PartType;
template <>
struct PartType<float> {
    typedef float V __attribute__((vector_size(kPartBytes)));
    typedef float Unaligned __attribute__((vector_size(kPartBytes), aligned(4)));
};
template <>
struct PartType<double> {
    typedef double V __attribute__((vector_size(kPartBytes)));
    typedef double Unaligned __attribute__((vector_size(kPartBytes), aligned(8)));
};
template <class S>
using Part = typename PartType<S>::V;

template <class S>
JJ_INLINE Part<S> load_part(const S* p) {
    return *reinterpret_cast<const typename PartType<S>::Unaligned*>(p);
}
template <class S>
JJ_INLINE void store_part(S* p, Part<S> v) {
    *reinterpret_cast<typename PartType<S>::Unaligned*>(p) = v;
}

// Which lane of (a, b) goes to lane l where runs of K lanes of both are interleaved, half a group of them at a time.
template <class S, int K>
constexpr int interleaved(int l, bool upper) {
    const int lane = 16 / static_cast<int>(sizeof(S)), group = 2 * K > lane ? 2 * K : lane;
    const int at = l % group, from = at / (2 * K) * K + at % K + (upper ? group / 2 : 0);
    return l / group * group + from + (at % (2 * K) < K ? 0 : kPart<S>);
}
template <class S, int K, int... I>
JJ_INLINE Part<S> add_interleaved(Part<S> a, Part<S> b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, interleaved<S, K>(I, false)...) +
           __builtin_shufflevector(a, b, interleaved<S, K>(I, true)...);
}
// Lane l of the result is the sum of the lanes of v[l].
template <class S, int K = 1>
JJ_INLINE Part<S> sum_each(Part<S>* v) {
    if constexpr (K == kPart<S>) {
        return v[0];
    } else {
        for (int i = 0; i < kPart<S> / (2 * K); ++i)
            v[i] = add_interleaved<S, K>(v[2 * i], v[2 * i + 1], std::make_integer_sequence<int, kPart<S>>());
        return sum_each<S, 2 * K>(v);
    }
}

}  // namespace JJ_ISA
}  // namespace jj
