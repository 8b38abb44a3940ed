// Gradients of the scores of a tile of edges.
// With g_t = <dout, v_t> (+ dtotal), p_t = weight * mask_t / (1 - p) * g_t and a the weights before dropout:
//   ds_t = a_t (p_t - sum_j a_j p_j), dq = scale sum ds_t k_t, dk_t = scale ds_t q, dv_t = weight * dropout(a_t) dout.
#pragma once

#include "dna/kernel_tile.h"

namespace jj {
namespace JJ_ISA {

// tile.score: scores -> scale * ds. tile.gradient: g -> weight * dropout(a). tile.inverse: -> the gradient of the
// edge's weight, sum_t dropout(a_t) g_t, in each lane.
template <class S>
JJ_INLINE void score_gradients(const Dna<S>& a, const EdgeTile<S>& tile, int64_t count, int64_t head) {
    constexpr int W = kLanes<S>;
    const auto words = head_words<S>(head, tile.padded);
    const uint32_t threshold = a.dropout.threshold;
    const S factor = a.dropout.factor, scale = a.scale;
    const int64_t end = tile.fill(count), lanes = tile.lanes;
    if (a.step_bias) add_step_bias(a, tile, end, head);
    for (int64_t i = 0; i < end; i += W) store(tile.inverse + i, restricted_softmax(tile, i));
    for (int64_t i = 0; i < end; i += W) {
        const Vec<S> inverse = load(tile.inverse + i), weight = load(tile.weight + i), scaled = weight * factor;
        const auto key = load_words<S>(tile.key + i);
        Vec<S> mean = {};
        for (int64_t t = 0; t < tile.steps; ++t) {
            S *score = tile.score + t * lanes + i, *g = tile.gradient + t * lanes + i;
            const Vec<S> probability = load(score) * inverse;
            Vec<S> gradient = load(g) * factor, kept = probability * scaled;
            if (threshold) {
                const auto keep = keep_lanes<S>(words, key, t, threshold);
                gradient = keep ? gradient : Vec<S>{};
                kept = keep ? kept : Vec<S>{};
            }
            mean += probability * gradient;
            store(g, kept);
            store(score, probability);
            store(tile.second + t * lanes + i, gradient);
        }
        store(tile.inverse + i, mean);
        const Vec<S> outer = weight * scale;
        for (int64_t t = 0; t < tile.steps; ++t) {
            S* score = tile.score + t * lanes + i;
            store(score, load(score) * ((load(tile.second + t * lanes + i) - mean) * outer));
        }
    }
}

}  // namespace JJ_ISA
}  // namespace jj
