// Forward of the sparse form: sparse_tile.h.
#pragma once

#include "sparse_tile.h"

namespace jj {
namespace JJ_ISA {

// The scores of one row of a head block, from `head` on.
template <class S, int H, int C>
JJ_INLINE void sparse_scores(const SparseTile<S, H, C>& tile, const Row<S, H * C>& q, const S* x, const S* bias,
                             S scale, S* to) {
    constexpr int L = kPart<S>;
    for (int64_t first = 0; first < tile.width; first += L) {
        const int64_t head = tile.head + first, left = tile.heads - head;
        Part<S> v[L];
        if (left >= L) {
            for (int l = 0; l < L; ++l) v[l] = multiply<S, C>(q, x, tile.at_head(head + l), tile.channels);
            store_part(to + first, (sum_each<S>(v) + load_part(bias + head)) * scale);
            continue;
        }
        for (int l = 0; l < L; ++l)
            v[l] = l < left ? multiply<S, C>(q, x, tile.at_head(head + l), tile.channels) : Part<S>{};
        const Part<S> sums = sum_each<S>(v);
        for (int64_t l = 0; l < L && first + l < tile.width; ++l) to[first + l] = (sums[l] + bias[head + l]) * scale;
    }
}

// Scores become the weights of the messages, whose sum per lane is returned, and lists what takes part.
template <class S, int H, int C>
JJ_INLINE Vec<S> sparse_weights(const Dna<S>& a, SparseTile<S, H, C>& tile, int64_t e, int64_t count) {
    using Bits = typename Types<S>::Bits;
    constexpr int W = kLanes<S>;
    const auto words = head_words<S>(tile.head, tile.padded);
    const uint32_t threshold = a.dropout.threshold;
    const S factor = a.dropout.factor;
    const int64_t end = tile.fill(count), T = tile.steps;
    for (int64_t i = 0; i < end; i += W) store(tile.inverse + i, restricted_softmax(tile, i));
    Vec<S> total = {};
    for (int64_t i = 0; i < end; i += W) {
        const Vec<S> inverse = load(tile.inverse + i), weight = load(tile.weight + i) * factor;
        const uint32_t valid = tile.valid_from(i, count);
        for (int64_t t = 0; t < T; ++t) {
            S* p = tile.score + t * tile.lanes + i;
            const Vec<S> probability = load(p) * inverse;
            Mask<S> taken = ~(probability > S(0));
            taken |= threshold ? keep_lanes<S>(words, load_words<S>(tile.key + i), t, threshold) : ~Mask<S>{};
            const Vec<S> c = taken ? probability * weight : Vec<S>{};
            const Bits marked = (Bits)probability | ((Bits)taken & (Bits)splat<S>(-0.0));
            total += c;
            store(p, c);
            append<S>(tile.list, tile.listed, t * tile.lanes + i, signs<S>((Vec<S>)marked) & valid);
            store(tile.gradient + t * tile.lanes + i, (Vec<S>)marked);
        }
    }
    tile.write(tile.gradient, a.kept, e, count);
    return total;
}

// Sums the edges [first, last) of a row into `out` [d] and `total` [P].
template <class S, int H, int C>
static void sparse_forward_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, S* out, S* total,
                               S* scratch) {
    constexpr int W = kLanes<S>;
    SparseTile<S, H, C> tile(a, scratch);
    const int64_t P = tile.padded, T = a.steps, d = tile.heads * tile.channels;
    const S scale = a.scale * S(kLog2e);
    const S* bias = a.bias + row * P;
    for (int64_t i = 0; i < d; i += W) store(out + i, Vec<S>{});
    clear_heads(total, P);

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        tile.find_rows(a, begin, count);
        for (int64_t head = 0; head < P; head += W) {
            tile.begin(head);
            const Row<S, H * C> q(a.query + row * d);
            for (int64_t i = 0; i < count; ++i) {
                if (head == 0) {
                    tile.set_edge(a, i, begin + i);
                    tile.prefetch_after(a, begin + i);
                }
                for (int64_t t = 0; t < T; ++t)
                    sparse_scores<S, H, C>(tile, q, tile.rows[t * tile.edges + i], bias, scale,
                                           tile.at(tile.score, t, i));
            }
            const Vec<S> weights = sparse_weights(a, tile, begin, count);
            const Vec<S> before = load_heads(total + head, P);
            store_heads(total + head, before + sum_channels<S>(weights, P), a.layout, head);
            for (int64_t n = 0; n < tile.listed; ++n) {
                const uint32_t lane = tile.list[n];
                add_scaled<S, C>(out + tile.offset(lane), tile.score[lane], tile.row(lane), tile.channels);
            }
        }
    }
}

template <class S, int H, int C>
static void sparse_forward_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t d = a.layout.heads * a.layout.channels;
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return sparse_forward_row<S, H, C>(a, unit.row, unit.edge, unit.edge_end, sums, sums + d, scratch);
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        const int64_t first = a.graph.rowptr[v], last = a.graph.rowptr[v + 1];
        sparse_forward_row<S, H, C>(a, v, first, last, a.out + v * d, a.total + v * a.layout.padded, scratch);
    }
}

template <class S>
static void sparse_forward(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_heads<S>(a.layout, [&](auto h, auto c) { sparse_forward_unit<S, h.value, c.value>(a, unit, scratch); });
}

}  // namespace JJ_ISA
}  // namespace jj
