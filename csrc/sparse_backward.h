// Backward of the sparse form (sparse_tile.h): by target, which leaves the gradients of the scores, then by source.
#pragma once

#include "sparse_tile.h"

namespace jj {
namespace JJ_ISA {

// From the weights that forward kept and the gradients g of those that take part (tile.gradient, zero elsewhere) to
// scale * ds in tile.score (dna_gradient.h), whose sum per lane is returned.
template <class S, int H, int C>
JJ_INLINE Vec<S> sparse_score_gradients(const Dna<S>& a, const SparseTile<S, H, C>& tile, int64_t count) {
    constexpr int W = kLanes<S>;
    const S factor = a.dropout.factor, scale = a.scale;
    const int64_t end = (count * tile.width + W - 1) / W * W, lanes = tile.lanes;
    Vec<S> total = {};
    for (int64_t i = 0; i < end; i += W) {
        const Vec<S> outer = load(tile.weight + i) * scale;
        Vec<S> mean = {};
        for (int64_t t = 0; t < tile.steps; ++t) {
            S *score = tile.score + t * lanes + i, *g = tile.gradient + t * lanes + i;
            const Vec<S> marked = load(score), probability = marked < S(0) ? -marked : marked;
            const Vec<S> gradient = load(g) * factor;
            mean += probability * gradient;
            store(score, probability);
            store(g, gradient);
        }
        for (int64_t t = 0; t < tile.steps; ++t) {
            S* score = tile.score + t * lanes + i;
            const Vec<S> ds = load(score) * ((load(tile.gradient + t * lanes + i) - mean) * outer);
            total += ds;
            store(score, ds);
        }
    }
    return total;
}

// By target: dq = sum_e sum_t ds x over the edges [first, last) of a row into `dq` [d], their ds into `dbias` [P] and
// into grad_score.
template <class S, int H, int C>
static void sparse_target_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, S* dq, S* dbias, S* scratch) {
    constexpr int W = kLanes<S>, L = kPart<S>;
    SparseTile<S, H, C> tile(a, scratch);
    const int64_t P = tile.padded, T = a.steps, d = tile.heads * tile.channels, lanes = tile.lanes;
    const Row<S, 0> dout(a.grad_out + row * d);
    const S* dtotal = a.grad_total + row * P;
    for (int64_t i = 0; i < d; i += W) store(dq + i, Vec<S>{});
    clear_heads(dbias, P);

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        tile.find_rows(a, begin, count);
        for (int64_t head = 0; head < P; head += W) {
            tile.begin(head);
            for (int64_t i = 0; i < count; ++i) {
                const Vec<S> w = splat<S>(a.weight ? a.weight[begin + i] : S(1));
                store_first<W>(tile.weight + i * tile.width, w, tile.width);
                if (head == 0) tile.prefetch_after(a, begin + i);
            }
            tile.read(a.kept, tile.score, begin, count);
            tile.fill(count);
            for (int64_t i = 0; i < count * tile.width; i += W) {
                uint32_t any = 0;
                for (int64_t t = 0; t < T; ++t) {
                    const uint32_t taken = signs<S>(load(tile.score + t * lanes + i)) & tile.valid_from(i, count);
                    append<S>(tile.list, tile.listed, t * lanes + i, taken);
                    any |= taken;
                    store(tile.gradient + t * lanes + i, Vec<S>{});
                }
                append<S>(tile.any, tile.listed_any, i, any);
            }
            for (int l = 0; l < L && tile.listed; ++l) tile.list[tile.listed + l] = tile.list[tile.listed - 1];
            for (int64_t n = 0; n < tile.listed; n += L) {
                Part<S> v[L];
                for (int l = 0; l < L; ++l) {
                    const uint32_t lane = tile.list[n + l];
                    v[l] = multiply<S, C>(dout, tile.rows[lane >> tile.shift], tile.offset(lane), tile.channels);
                }
                const Part<S> sums = sum_each<S>(v);
                for (int l = 0; l < L; ++l) {
                    const uint32_t lane = tile.list[n + l];
                    tile.gradient[lane] = sums[l] + dtotal[head + (lane & (tile.width - 1))];
                }
            }
            const Vec<S> dscores = sparse_score_gradients(a, tile, count);
            store_heads(dbias + head, load_heads(dbias + head, P) + sum_channels<S>(dscores, P), a.layout, head);
            tile.write(tile.score, a.grad_score, begin, count);
            for (int64_t n = 0; n < tile.listed_any; ++n) {
                const uint32_t lane = tile.any[n];
                const int64_t offset = tile.offset(lane);
                const S* const* x = tile.rows + (lane >> tile.shift);
                const S* ds = tile.score + lane;
                for (int64_t c = 0; c < (C ? C : tile.channels); c += W) {
                    Vec<S> sum = load(dq + offset + c);
                    for (int64_t t = 0; t < T; ++t) sum += ds[t * lanes] * load(x[t * tile.edges] + offset + c);
                    store(dq + offset + c, sum);
                }
            }
        }
    }
}

template <class S, int H, int C>
static void sparse_target_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t d = a.layout.heads * a.layout.channels, P = a.layout.padded;
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return sparse_target_row<S, H, C>(a, unit.row, unit.edge, unit.edge_end, sums, sums + d, scratch);
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        const int64_t first = a.graph.rowptr[v], last = a.graph.rowptr[v + 1];
        if (last - first > kChunkEdges) continue;  // done before, in pieces
        S *dq = a.grad_query + (v - a.grad_first) * d, *dbias = a.grad_bias + (v - a.grad_first) * P;
        sparse_target_row<S, H, C>(a, v, first, last, dq, dbias, scratch);
    }
}

// By source: dx_t = sum_e ds_t q + weight * dropout(a_t) dout over the outgoing edges [first, last), into T rows,
// the first `cleared` of which start from zero. weights: [T, part] scratch.
template <class S, int H, int C>
static void sparse_source_row(const Dna<S>& a, int64_t first, int64_t last, S* const* dx, int64_t cleared, S* weights) {
    constexpr int W = kLanes<S>, L = kPart<S>;
    const int64_t heads = H ? H : a.layout.heads, P = H ? H : a.layout.padded, T = a.steps;
    const int64_t channels = C ? C : a.layout.channels, d = heads * channels;
    for (int64_t t = 0; t < cleared; ++t)
        for (int64_t i = 0; i < d; i += W) store(dx[t] + i, Vec<S>{});
    for (int64_t i = first; i < last; ++i) {
        const int64_t target = a.graph.row[i], e = a.graph.position[i];
        if (i + a.ahead_back < a.graph.edges) {
            const int64_t next = a.graph.position[i + a.ahead_back];
            prefetch(a.kept + next * T * P, T * P * static_cast<int64_t>(sizeof(S)));
            prefetch(a.grad_score + next * T * P, T * P * static_cast<int64_t>(sizeof(S)));
        }
        if (i + a.ahead < a.graph.edges) {
            const int64_t next = a.graph.row[i + a.ahead];
            prefetch(a.query + next * d, d * static_cast<int64_t>(sizeof(S)));
            prefetch(a.grad_out + next * d, d * static_cast<int64_t>(sizeof(S)));
        }
        const S *q = a.query + target * d, *dout = a.grad_out + target * d;
        const S factor = (a.weight ? a.weight[e] : S(1)) * a.dropout.factor;
        for (int64_t head = 0; head < heads; head += L) {
            const S *kept = a.kept + e * T * P + head, *ds = a.grad_score + e * T * P + head;
            uint32_t any = 0;
            for (int64_t t = 0; t < T; ++t) {
                const Part<S> marked = load_part(kept + t * P);
                any |= signs<S>(marked);
                store_part(weights + t * L, (marked < S(0) ? -marked : Part<S>{}) * factor);
            }
            if (heads - head < L) any &= (1u << (heads - head)) - 1;
            for (; any; any &= any - 1) {
                const int64_t l = __builtin_ctz(any), at = (head + l) * channels;
                for (int64_t c = at; c < at + channels; c += W) {
                    const Vec<S> x = load(q + c), y = load(dout + c);
                    for (int64_t t = 0; t < T; ++t)
                        store(dx[t] + c, load(dx[t] + c) + ds[t * P + l] * x + weights[t * L + l] * y);
                }
            }
        }
    }
}

template <class S, int H, int C>
static void sparse_source_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t T = a.steps, d = a.layout.heads * a.layout.channels;
    S** to = reinterpret_cast<S**>(scratch);
    S* weights = scratch + T * Tile<S>::kLongest;
    if (unit.partial >= 0) {
        for (int64_t t = 0; t < T; ++t) to[t] = a.partials + unit.partial * a.partial_size + t * d;
        return sparse_source_row<S, H, C>(a, unit.edge, unit.edge_end, to, T, weights);
    }
    for (int64_t w = unit.row; w < unit.row_end; ++w) {
        for (int64_t t = 0; t < T; ++t) to[t] = a.grad_key[t] + w * a.grad_key_stride[t];
        sparse_source_row<S, H, C>(a, a.graph.colptr[w], a.graph.colptr[w + 1], to, T - a.accumulate, weights);
    }
}

template <class S>
static void sparse_target(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_heads<S>(a.layout, [&](auto h, auto c) { sparse_target_unit<S, h.value, c.value>(a, unit, scratch); });
}
template <class S>
static void sparse_source(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_heads<S>(a.layout, [&](auto h, auto c) { sparse_source_unit<S, h.value, c.value>(a, unit, scratch); });
}

}  // namespace JJ_ISA
}  // namespace jj
