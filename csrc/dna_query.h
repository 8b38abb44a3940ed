// Backward of the DNA attention by target: dq over CSR, each target owns its row.
#pragma once

#include "dna_gradient.h"

namespace jj {
namespace JJ_ISA {

template <class S, int N, int B, bool Folded>
static void dna_query_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, S* dq, S* dbias, S* scratch) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const Tile<S> tile(a, scratch);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    const S scale = a.scale * S(kLog2e);
    for (int64_t i = 0; i < shape.stride(); i += W) store(dq + i, Vec<S>{});
    if (Folded)
        for (int64_t i = 0; i < P; ++i) dbias[i] = 0;

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            Run<S, N> q, dout;
            q.read(a.query + row * shape.stride() + b * W, step);
            dout.read(a.grad_out + row * shape.stride() + b * W, step);
            const Vec<S> bias = Folded ? load_heads(a.bias + row * P + b * W, P) : Vec<S>{};
            const Vec<S> dtotal = Folded ? load_heads(a.grad_total + row * P + b * W, P) : Vec<S>{};
            for (int64_t i = 0; i < count; ++i) {
                const int64_t source = a.graph.col[begin + i];
                if (b == 0) {
                    tile.set_edge(a, i, begin + i);
                    if (begin + i + a.ahead < a.graph.edges) {
                        const int64_t next = a.graph.col[begin + i + a.ahead];
                        for (int64_t t = 0; t < T; ++t) {
                            prefetch(a.key[t] + next * a.key_stride[t], shape.bytes());
                            if (!Folded) prefetch(a.value[t] + next * a.value_stride[t], shape.bytes());
                        }
                    }
                }
                for (int64_t t = 0; t < T; ++t) {
                    const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                    Vec<S> s, g;
                    if (Folded) {
                        dot2<S>(q, dout, k, shape, s, g);
                    } else {
                        s = dot<S>(q, k, shape);
                        g = dot<S>(dout, a.value[t] + source * a.value_stride[t] + b * W, shape);
                    }
                    s = sum_channels<S>(s, P);
                    g = sum_channels<S>(g, P);
                    store_first<W>(tile.at(tile.score, t, i), Folded ? (s + bias) * scale : s * scale, tile.width);
                    store_first<W>(tile.at(tile.gradient, t, i), Folded ? g + dtotal : g, tile.width);
                }
            }
            score_gradients(a, tile, count, b * W);
            if (a.grad_weight) {
                for (int64_t i = 0; i < count; ++i) {
                    S total = b ? a.grad_weight[begin + i] : S(0);
                    for (int64_t h = 0; h < tile.width; ++h) total += tile.inverse[i * tile.width + h];
                    a.grad_weight[begin + i] = total;
                }
            }
            Vec<S> dscores = Folded ? load_heads(dbias + b * W, P) : Vec<S>{};
            Run<S, N> sum;
            sum.read(dq + b * W, step);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t source = a.graph.col[begin + i];
                for (int64_t t = 0; t < T; ++t) {
                    const Vec<S> ds = load_heads(tile.at(tile.score, t, i), P);
                    dscores += ds;
                    const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                    for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + ds * load(k + j * step));
                }
            }
            sum.write(dq + b * W, step);
            if (Folded) store_heads(dbias + b * W, dscores, a.layout, b * W);
        }
    }
}

template <class S, int N, int B, bool Folded>
static void dna_query_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        dna_query_row<S, N, B, Folded>(a, unit.row, unit.edge, unit.edge_end, sums, sums + a.layout.stride, scratch);
        return;
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        S* dbias = Folded ? a.grad_bias + v * a.layout.padded : nullptr;
        dna_query_row<S, N, B, Folded>(a, v, a.graph.rowptr[v], a.graph.rowptr[v + 1],
                                       a.grad_query + v * a.layout.stride, dbias, scratch);
    }
}

template <class S>
static void dna_backward_query(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_shape<S>(a.layout, [&](auto n, auto b) {
        if (a.folded)
            dna_query_unit<S, n.value, b.value, true>(a, unit, scratch);
        else
            dna_query_unit<S, n.value, b.value, false>(a, unit, scratch);
    });
}

}  // namespace JJ_ISA
}  // namespace jj
