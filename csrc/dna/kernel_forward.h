// out[v] = sum_e weight[e] sum_t dropout(softmax_t(scale * q[v] . k[w, t])) v[w, t]: one pass over CSR.
#pragma once

#include "dna/kernel_tile.h"

namespace jj {
namespace JJ_ISA {

// The edges [first, last) of a row, and where those of the row taken after it begin: they are prefetched from here.
struct Edges {
    int64_t first, last, next;
    // The edge `distance` after e; at or beyond the number of edges where there is none.
    JJ_INLINE int64_t ahead(int64_t e, int64_t distance) const {
        e += distance;
        return e < last ? e : e - last + next;
    }
};

// Scores become weights of the messages, whose sum per lane is returned.
template <class S>
JJ_INLINE Vec<S> message_weights(const Dna<S>& a, const EdgeTile<S>& tile, int64_t count, int64_t head) {
    constexpr int W = kLanes<S>;
    const auto words = head_words<S>(head, tile.padded);
    const uint32_t threshold = a.dropout.threshold;
    const S factor = a.dropout.factor;
    const int64_t end = tile.fill(count);
    if (a.step_bias) add_step_bias(a, tile, end, head);
    for (int64_t i = 0; i < end; i += W) store(tile.inverse + i, restricted_softmax(tile, i));
    Vec<S> total = {};
    for (int64_t i = 0; i < end; i += W) {
        const Vec<S> inverse = load(tile.inverse + i) * (load(tile.weight + i) * factor);
        for (int64_t t = 0; t < tile.steps; ++t) {
            S* p = tile.score + t * tile.lanes + i;
            Vec<S> c = load(p) * inverse;
            if (threshold) c = keep_lanes<S>(words, load_words<S>(tile.key + i), t, threshold) ? c : Vec<S>{};
            total += c;
            store(p, c);
        }
    }
    return total;
}

// Sums the edges of a row into `out` [stride] and, when folded, `total` [P].
template <class S, int N, int B, bool Folded>
static void dna_forward_row(const Dna<S>& a, int64_t row, const Edges& edges, S* out, S* total, S* scratch) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const EdgeTile<S> tile(a, scratch);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    const S scale = a.scale * S(kLog2e);
    for (int64_t i = 0; i < shape.stride(); i += W) store(out + i, Vec<S>{});
    if (Folded)
        for (int64_t i = 0; i < P; ++i) total[i] = 0;

    for (int64_t begin = edges.first; begin < edges.last; begin += tile.edges) {
        const int64_t left = edges.last - begin, count = left < tile.edges ? left : tile.edges;
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            Run<S, N> q;
            q.read(a.query + row * shape.stride() + b * W, step);
            const Vec<S> bias = Folded ? load_heads(a.bias + row * P + b * W, P) : Vec<S>{};
            for (int64_t i = 0; i < count; ++i) {
                const int64_t source = a.graph.col[begin + i];
                if (b == 0) {
                    tile.set_edge(a, i, begin + i);
                    const int64_t ahead = edges.ahead(begin + i, a.ahead);
                    if (ahead < a.graph.edges) {
                        const int64_t next = a.graph.col[ahead];
                        for (int64_t t = 0; t < T; ++t) {
                            prefetch(a.key[t] + next * a.key_stride[t], shape.bytes());
                            if (!Folded) prefetch(a.value[t] + next * a.value_stride[t], shape.bytes());
                        }
                        if (Folded) prefetch_factors(a, next);
                    }
                }
                for (int64_t t = 0; t < T; ++t) {
                    const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                    Vec<S> s = sum_channels<S>(dot<S>(q, k, shape), P);
                    s = Folded ? (s + bias) * scale : s * scale;
                    if (Folded && a.key_factor) s *= key_factor(a, source, t, b * W);
                    store_first<W>(tile.at(tile.score, t, i), s, tile.width);
                }
            }
            const Vec<S> weights = message_weights(a, tile, count, b * W);
            if (Folded) {
                const Vec<S> before = load_heads(total + b * W, P);
                store_heads(total + b * W, before + sum_channels<S>(weights, P), a.layout, b * W);
            }
            Run<S, N> sum;
            sum.read(out + b * W, step);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t source = a.graph.col[begin + i];
                for (int64_t t = 0; t < T; ++t) {
                    const Vec<S> c = load_heads(tile.at(tile.score, t, i), P);
                    const S* v = a.value[t] + source * a.value_stride[t] + b * W;
                    for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + c * load(v + j * step));
                }
            }
            sum.write(out + b * W, step);
        }
    }
}

template <class S, int N, int B, bool Folded>
static void dna_forward_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        const Edges piece{unit.edge, unit.edge_end, unit.edge_end};
        dna_forward_row<S, N, B, Folded>(a, unit.row, piece, sums, sums + a.layout.stride, scratch);
        return;
    }
    for (int64_t i = unit.row; i < unit.row_end; ++i) {
        const int64_t v = a.graph.at(i);
        S* total = Folded ? a.total + v * a.layout.padded : nullptr;
        const int64_t next = i + 1 < a.graph.rows ? a.graph.rowptr[a.graph.at(i + 1)] : a.graph.edges;
        const Edges edges{a.graph.rowptr[v], a.graph.rowptr[v + 1], next};
        S* out = a.out + v * a.layout.stride;
        dna_forward_row<S, N, B, Folded>(a, v, edges, out, total, scratch);
        for (int64_t j = 0; j < a.layout.stride && a.relu; j += kLanes<S>) {
            const Vec<S> x = load(out + j);
            store(out + j, x < S(0) ? Vec<S>{} : x);
        }
    }
}

template <class S>
static void dna_forward(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_shape<S>(a.layout, [&](auto n, auto b) {
        if (a.folded)
            dna_forward_unit<S, n.value, b.value, true>(a, unit, scratch);
        else
            dna_forward_unit<S, n.value, b.value, false>(a, unit, scratch);
    });
}

}  // namespace JJ_ISA
}  // namespace jj
