// Backward of the DNA attention by source: dk and dv over CSC, each source owns its rows. The gradients of the scores,
// where the pass by target wants them, and of the edge weights are left in CSR order.
#pragma once

#include "dna/kernel_gradient.h"
#include "layout/kernel.h"

namespace jj {
namespace JJ_ISA {

// Adds `count` edges to the rows of K steps from t on, in registers: dk_t += ds_t q + (folded) kept_t dout.
// The first edges of a source start from zero.
template <class S, int N, int B, int K, bool Folded>
JJ_INLINE void add_history(const Dna<S>& a, const EdgeTile<S>& tile, const Shape<S, N, B>& shape, int64_t begin,
                           int64_t count, int64_t source, int64_t b, int64_t t, bool start, S* dk, S* dv) {
    constexpr int W = kLanes<S>;
    const int64_t P = a.layout.padded, stride = shape.stride(), step = shape.step(), n = shape.vectors();
    Run<S, N> k[K], v[K];
    for (int i = 0; i < K; ++i) {
        S *to_k = dk + (t + i) * stride + b * W, *to_v = dv + (t + i) * stride + b * W;
        if (start) {
            k[i].clear(to_k, step, n);
            if (!Folded) v[i].clear(to_v, step, n);
        } else {
            k[i].read(to_k, step);
            if (!Folded) v[i].read(to_v, step);
        }
    }
    for (int64_t e = 0; e < count; ++e) {
        const int64_t target = a.graph.row[begin + e];
        const S *q = a.query + target * stride + b * W, *dout = a.grad_out + target * stride + b * W;
        Vec<S> ds[K], kept[K];
        for (int i = 0; i < K; ++i) {
            ds[i] = load_heads(tile.at(tile.score, t + i, e), P);
            kept[i] = load_heads(tile.at(tile.gradient, t + i, e), P);
            if (Folded && a.key_factor) ds[i] *= key_factor(a, source, t + i, b * W);
        }
        for (int64_t j = 0; j < n; ++j) {
            const Vec<S> x = load(q + j * step), y = load(dout + j * step);
            for (int i = 0; i < K; ++i) {
                if (Folded) {
                    k[i].set(j, k[i].get(j) + ds[i] * x + kept[i] * y);
                } else {
                    k[i].set(j, k[i].get(j) + ds[i] * x);
                    v[i].set(j, v[i].get(j) + kept[i] * y);
                }
            }
        }
    }
    for (int i = 0; i < K; ++i) {
        k[i].write(dk + (t + i) * stride + b * W, step);
        if (!Folded) v[i].write(dv + (t + i) * stride + b * W, step);
    }
}

// Adds ds * score of the tile, whose scores have been kept, to the sums [T, P] of a source.
template <class S>
JJ_INLINE void add_factor_gradient(const Dna<S>& a, const EdgeTile<S>& tile, int64_t count, int64_t head, S* sums) {
    const int64_t P = a.layout.padded;
    for (int64_t t = 0; t < tile.steps; ++t) {
        Vec<S> sum = {};
        for (int64_t i = 0; i < count; ++i)
            sum += load_heads(tile.at(tile.score, t, i), P) * load_heads(tile.at(tile.before, t, i), P);
        S* to = sums + t * P + head;
        store_heads(to, load_heads(to, P) + sum * S(1 / kLog2e), a.layout, head);
    }
}

// Writes the tile's ds for the pass by target, and adds the lanes from `head` on to the gradients of the weights.
template <class S>
JJ_INLINE void write_scores(const Dna<S>& a, const EdgeTile<S>& tile, int64_t begin, int64_t count, int64_t head) {
    constexpr int W = kLanes<S>;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t e = a.graph.position[begin + i];
        if (a.grad_score) {
            S* to = a.grad_score + e * tile.steps * tile.padded + head;
            for (int64_t t = 0; t < tile.steps; ++t)
                store_first<W>(to + t * tile.padded, load_heads(tile.at(tile.score, t, i), tile.padded), tile.width);
        }
        if (a.grad_weight) {
            S total = head ? a.grad_weight[e] : S(0);
            for (int64_t h = 0; h < tile.width; ++h) total += tile.inverse[i * tile.width + h];
            a.grad_weight[e] = total;
        }
    }
}

// Sums the outgoing edges [first, last) of a source into T rows `dk` and, when not folded, T rows `dv`, all contiguous;
// with key_factor, their gradients [T, P] follow.
// The source's own keys and values are copied next to them: T rows of T tensors tend to share the same few cache sets.
template <class S, int N, int B, bool Folded>
static void dna_history_row(const Dna<S>& a, int64_t source, int64_t first, int64_t last, S* dk, S* scratch) {
    constexpr int W = kLanes<S>;
    constexpr int K = Folded && JJ_BYTES == 64 ? 2 : 1;  // steps whose rows fit in registers together
    const Shape<S, N, B> shape(a.layout);
    const EdgeTile<S> tile(a, scratch);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), stride = shape.stride();
    const S scale = a.scale * S(kLog2e);
    S* k = scratch + kTileScratch<S>(T);
    S *v = Folded ? k : k + T * stride, *dv = dk + T * stride, *factors = dv;
    for (int64_t i = 0; i < T * P && Folded && a.key_factor; ++i) factors[i] = 0;
    if (first == last) {
        for (int64_t i = 0; i < (Folded ? 1 : 2) * T * stride; i += W) store(dk + i, Vec<S>{});
        return;
    }
    for (int64_t t = 0; t < T; ++t) {
        for (int64_t i = 0; i < stride; i += W) {
            store(k + t * stride + i, load(a.key[t] + source * a.key_stride[t] + i));
            if (!Folded) store(v + t * stride + i, load(a.value[t] + source * a.value_stride[t] + i));
        }
    }

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t target = a.graph.row[begin + i];
                if (b == 0) {
                    tile.set_edge(a, i, a.graph.position[begin + i]);
                    if (begin + i + a.ahead_back < a.graph.edges) {
                        const int64_t next = a.graph.row[begin + i + a.ahead_back];
                        const int64_t e = a.graph.position[begin + i + a.ahead_back];
                        prefetch(a.weight + e, 1);
                        if (a.grad_score)
                            prefetch<1>(a.grad_score + e * T * P, T * P * static_cast<int64_t>(sizeof(S)));
                        prefetch(a.query + next * stride, shape.bytes());
                        prefetch(a.grad_out + next * stride, shape.bytes());
                        if (Folded) {
                            prefetch(a.bias + next * P, 1);
                            prefetch(a.grad_total + next * P, 1);
                        }
                    }
                }
                Run<S, N> q, dout;
                q.read(a.query + target * stride + b * W, step);
                dout.read(a.grad_out + target * stride + b * W, step);
                const Vec<S> bias = Folded ? load_heads(a.bias + target * P + b * W, P) : Vec<S>{};
                const Vec<S> dtotal = Folded ? load_heads(a.grad_total + target * P + b * W, P) : Vec<S>{};
                for (int64_t t = 0; t < T; ++t) {
                    Vec<S> s, g;
                    if (Folded) {
                        dot2<S>(q, dout, k + t * stride + b * W, shape, s, g);
                    } else {
                        s = dot<S>(q, k + t * stride + b * W, shape);
                        g = dot<S>(dout, v + t * stride + b * W, shape);
                    }
                    s = sum_channels<S>(s, P);
                    g = sum_channels<S>(g, P);
                    s = Folded ? (s + bias) * scale : s * scale;
                    if (Folded && a.key_factor) {
                        s *= key_factor(a, source, t, b * W);
                        store_first<W>(tile.at(tile.before, t, i), s, tile.width);
                    }
                    store_first<W>(tile.at(tile.score, t, i), s, tile.width);
                    store_first<W>(tile.at(tile.gradient, t, i), Folded ? g + dtotal : g, tile.width);
                }
            }
            score_gradients(a, tile, count, b * W);
            write_scores(a, tile, begin, count, b * W);
            if (Folded && a.key_factor) add_factor_gradient(a, tile, count, b * W, factors);
            int64_t t = 0;
            for (; t + K <= T; t += K)
                add_history<S, N, B, K, Folded>(a, tile, shape, begin, count, source, b, t, begin == first, dk, dv);
            if (t < T)
                add_history<S, N, B, 1, Folded>(a, tile, shape, begin, count, source, b, t, begin == first, dk, dv);
        }
    }
}

template <class S>
JJ_INLINE void write_rows(S* const* out, const int64_t* strides, int64_t row, const S* sums, const Dna<S>& a) {
    for (int64_t t = 0; t < a.steps; ++t) {
        S* p = out[t] + row * strides[t];
        const S* from = sums + t * a.layout.stride;
        if (a.unpack) {
            unpack_row(a.layout, from, p);
            continue;
        }
        for (int64_t i = 0; i < a.layout.stride; i += kLanes<S>) store(p + i, load(from + i));
    }
}

// The sums of a source, T rows of dk and, when not folded, T rows of dv; with key_factor, the gradients [T, P].
template <class S>
static void dna_write_history(const Dna<S>& a, int64_t row, const S* sums) {
    write_rows(a.grad_key, a.grad_key_stride, row, sums, a);
    const S* rest = sums + a.steps * a.layout.stride;
    if (!a.folded) write_rows(a.grad_value, a.grad_value_stride, row, rest, a);
    const int64_t factors = a.key_factor ? a.steps * a.layout.padded : 0;
    for (int64_t i = 0; i < factors; ++i) a.grad_factor[row * factors + i] = rest[i];
}

// scratch: a tile, then the source's rows (T or 2 T) and as many sums.
template <class S, int N, int B, bool Folded>
static void dna_history_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return dna_history_row<S, N, B, Folded>(a, unit.row, unit.edge, unit.edge_end, sums, scratch);
    }
    const int64_t rows = (Folded ? 1 : 2) * a.steps;
    S* sums = scratch + kTileScratch<S>(a.steps) + rows * a.layout.stride;
    for (int64_t w = unit.row; w < unit.row_end; ++w) {
        dna_history_row<S, N, B, Folded>(a, w, a.graph.colptr[w], a.graph.colptr[w + 1], sums, scratch);
        dna_write_history(a, w, sums);
    }
}

template <class S>
static void dna_backward_history(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_shape<S>(a.layout, [&](auto n, auto b) {
        if (a.folded)
            dna_history_unit<S, n.value, b.value, true>(a, unit, scratch);
        else
            dna_history_unit<S, n.value, b.value, false>(a, unit, scratch);
    });
}

}  // namespace JJ_ISA
}  // namespace jj
