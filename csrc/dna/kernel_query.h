// Backward of the DNA attention by target: dq = sum_e sum_t ds k over CSR, each target owns its row.
//
// Where the pass by source has left the gradients of the scores, values and softmax are not needed again. Large folded
// layers recompute them: that takes no row but the one at hand, and less time than to write and read them.
#pragma once

#include "dna/kernel_gradient.h"

namespace jj {
namespace JJ_ISA {

// Sums the edges [first, last) of a row into `dq` [stride] and, when folded, their ds into `dbias` [P].
template <class S, int N, int B>
static void dna_query_row(const Dna<S>& a, int64_t first, int64_t last, S* dq, S* dbias) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    for (int64_t b = 0; b < shape.blocks(); ++b) {
        Run<S, N> sum;
        Vec<S> dscores{};
        sum.clear(dq + b * W, step, n);
        for (int64_t e = first; e < last; ++e) {
            if (b == 0 && e + a.ahead < a.graph.edges) {
                const int64_t next = a.graph.col[e + a.ahead];
                for (int64_t t = 0; t < T; ++t) prefetch(a.key[t] + next * a.key_stride[t], shape.bytes());
            }
            const int64_t source = a.graph.col[e];
            for (int64_t t = 0; t < T; ++t) {
                const Vec<S> ds = load_heads(a.grad_score + (e * T + t) * P + b * W, P);
                dscores += ds;
                const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + ds * load(k + j * step));
            }
        }
        sum.write(dq + b * W, step);
        if (a.folded) store_heads(dbias + b * W, dscores, a.layout, b * W);
    }
}

// The same of the folded form, with the gradients of the scores computed anew.
template <class S, int N, int B>
static void dna_folded_query_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, S* dq, S* dbias,
                                 S* scratch) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const EdgeTile<S> tile(a, scratch);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    const S scale = a.scale * S(kLog2e);
    for (int64_t i = 0; i < shape.stride(); i += W) store(dq + i, Vec<S>{});
    for (int64_t i = 0; i < P; ++i) dbias[i] = 0;

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            Run<S, N> q, dout;
            q.read(a.query + row * shape.stride() + b * W, step);
            dout.read(a.grad_out + row * shape.stride() + b * W, step);
            const Vec<S> bias = load_heads(a.bias + row * P + b * W, P);
            const Vec<S> dtotal = load_heads(a.grad_total + row * P + b * W, P);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t source = a.graph.col[begin + i];
                if (b == 0) {
                    tile.set_edge(a, i, begin + i);
                    if (begin + i + a.ahead < a.graph.edges) {
                        const int64_t next = a.graph.col[begin + i + a.ahead];
                        for (int64_t t = 0; t < T; ++t) prefetch(a.key[t] + next * a.key_stride[t], shape.bytes());
                    }
                }
                for (int64_t t = 0; t < T; ++t) {
                    Vec<S> s, g;
                    dot2<S>(q, dout, a.key[t] + source * a.key_stride[t] + b * W, shape, s, g);
                    s = sum_channels<S>(s, P);
                    g = sum_channels<S>(g, P);
                    store_first<W>(tile.at(tile.score, t, i), (s + bias) * scale, tile.width);
                    store_first<W>(tile.at(tile.gradient, t, i), g + dtotal, tile.width);
                }
            }
            score_gradients(a, tile, count, b * W);
            Vec<S> dscores = load_heads(dbias + b * W, P);
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
            store_heads(dbias + b * W, dscores, a.layout, b * W);
        }
    }
}

template <class S, int N, int B>
static void dna_query_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const auto row = [&](int64_t v, int64_t first, int64_t last, S* dq, S* dbias) {
        if (a.grad_score)
            dna_query_row<S, N, B>(a, first, last, dq, dbias);
        else
            dna_folded_query_row<S, N, B>(a, v, first, last, dq, dbias, scratch);
    };
    const int64_t stride = a.layout.stride;
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return row(unit.row, unit.edge, unit.edge_end, sums, sums + stride);
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        S* dbias = a.folded ? a.grad_bias + v * a.layout.padded : nullptr;
        row(v, a.graph.rowptr[v], a.graph.rowptr[v + 1], a.grad_query + v * stride, dbias);
    }
}

template <class S>
static void dna_backward_query(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_shape<S>(a.layout, [&](auto n, auto b) { dna_query_unit<S, n.value, b.value>(a, unit, scratch); });
}

}  // namespace JJ_ISA
}  // namespace jj
