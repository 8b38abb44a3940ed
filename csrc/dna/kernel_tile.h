// What forward and backward of the DNA attention share: the weights of a tile of edges.
//
// A chain of dependent operations leads from a score to its weight, longer than a core can look ahead. So edges go in
// tiles: all dot products of a tile, then all softmaxes, then all weighted sums, each of them independent of the next.
// Between the steps a tile stands in L1 as T rows of `edges` times `width` numbers, `width` = min(P, W): with few heads
// one vector holds several edges.
#pragma once

#include "common/packed_row.h"
#include "dna/arguments.h"

namespace jj {
namespace JJ_ISA {

template <class S>
struct EdgeTile {
    static constexpr int W = kLanes<S>;
    static constexpr int64_t kEdges = 8;
    static constexpr int64_t kLongest = kEdges * 64 / static_cast<int64_t>(sizeof(S));  // lanes at most, for any W

    int64_t padded, width, edges, lanes, steps;
    S *score, *gradient, *second, *before;  // [T, lanes]; before: scores as they were, with key_factor
    S *weight, *inverse;                    // [lanes]
    uint32_t* key;                          // [lanes]

    JJ_INLINE EdgeTile(const Dna<S>& a, S* scratch) {
        padded = a.layout.padded;
        width = padded < W ? padded : W;
        edges = W / width > kEdges ? W / width : kEdges;
        lanes = edges * width;
        steps = a.steps;
        weight = scratch;
        inverse = weight + kLongest;
        key = reinterpret_cast<uint32_t*>(inverse + kLongest);
        score = inverse + 2 * kLongest;
        gradient = score + steps * lanes;
        second = gradient + steps * lanes;
        before = second + steps * lanes;
    }
    JJ_INLINE S* at(S* rows, int64_t t, int64_t i) const { return rows + t * lanes + i * width; }

    // Weight and random key of edge i, which is edge e in CSR order.
    JJ_INLINE void set_edge(const Dna<S>& a, int64_t i, int64_t e) const {
        const Vec<S> w = splat<S>(a.weight[e]);
        store_first<W>(weight + i * width, w, width);
        if (a.dropout.threshold) {
            const typename Types<S>::Word k = typename Types<S>::Word{} + a.dropout.row_key(e);
            store_first<W>(key + i * width, k, width);
        }
    }
    // Edges that fill up the last vector weigh nothing.
    JJ_INLINE int64_t fill(int64_t count) const {
        const int64_t end = (count * width + W - 1) / W * W;
        for (int64_t i = count * width; i < end; ++i) {
            weight[i] = 0;
            key[i] = 0;
            for (int64_t t = 0; t < steps; ++t) score[t * lanes + i] = gradient[t * lanes + i] = 0;
        }
        return end;
    }
};

// Scalars a thread needs for a tile.
template <class S>
constexpr int64_t kTileScratch(int64_t steps) {
    return (3 + 4 * steps) * EdgeTile<S>::kLongest;
}

// The factors of the scores of step t of a source, for the heads from `head` on.
template <class S>
JJ_INLINE Vec<S> key_factor(const Dna<S>& a, int64_t source, int64_t t, int64_t head) {
    return load_heads(a.key_factor + (source * a.steps + t) * a.layout.padded + head, a.layout.padded);
}

template <class S>
JJ_INLINE void prefetch_factors(const Dna<S>& a, int64_t source) {
    const int64_t size = a.steps * a.layout.padded;
    if (a.key_factor) prefetch(a.key_factor + source * size, size * static_cast<int64_t>(sizeof(S)));
}

// Adds the biases of the steps to the scores (times log2 e) of the heads from `head` on.
template <class S>
JJ_INLINE void add_step_bias(const Dna<S>& a, const EdgeTile<S>& tile, int64_t end, int64_t head) {
    for (int64_t t = 0; t < tile.steps; ++t) {
        const Vec<S> bias = load_heads(a.step_bias + t * tile.padded + head, tile.padded) * S(kLog2e);
        S* score = tile.score + t * tile.lanes;
        for (int64_t i = 0; i < end; i += kLanes<S>) store(score + i, load(score + i) + bias);
    }
}

// Turns the scores (times log2 e) of the vector at lane i into exponentials and returns
// 1 / (their sum + the one of the fixed logit 0).
template <class S>
JJ_INLINE Vec<S> restricted_softmax(const EdgeTile<S>& tile, int64_t i) {
    Vec<S> top = {};
    for (int64_t t = 0; t < tile.steps; ++t) top = larger(load(tile.score + t * tile.lanes + i), top);
    Vec<S> sum = exp2_nonpositive(-top);
    for (int64_t t = 0; t < tile.steps; ++t) {
        S* p = tile.score + t * tile.lanes + i;
        const Vec<S> e = exp2_nonpositive(load(p) - top);
        store(p, e);
        sum += e;
    }
    return S(1) / sum;
}

}  // namespace JJ_ISA
}  // namespace jj
