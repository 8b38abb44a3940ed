// Backward of the DNA attention by target: dq = sum_e sum_t ds k over CSR, each target owns its row.
//
// Where the pass by source has left the gradients of the scores, values and softmax are not needed again. Large folded
// layers recompute them: that takes no row but the one at hand, and less time than to write and read them.
#pragma once

#include "dna/kernel_gradient.h"

namespace jj {
namespace JJ_ISA {

// What a target adds to the gradients, in a row of its own: of the query [stride], of the bias [P] when folded, and of
// the biases of the steps [T, P] if wanted.
template <class S>
struct QuerySums {
    S *query, *bias, *step_bias;
};

// Adds one step's ds of `count` edges, `distance` apart, to the gradient of its bias.
template <class S>
JJ_INLINE void add_step_gradient(const Dna<S>& a, const S* ds, int64_t distance, int64_t count, int64_t head, S* to) {
    const int64_t P = a.layout.padded;
    Vec<S> sum = load_heads(to, P);
    for (int64_t i = 0; i < count; ++i) sum += load_heads(ds + i * distance, P) * (S(1) / a.scale);
    store_heads(to, sum, a.layout, head);
}

// Sums the edges [first, last) of a row.
template <class S, int N, int B>
static void dna_query_row(const Dna<S>& a, int64_t first, int64_t last, const QuerySums<S>& to) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    for (int64_t b = 0; b < shape.blocks(); ++b) {
        Run<S, N> sum;
        Vec<S> dscores{};
        sum.clear(to.query + b * W, step, n);
        for (int64_t e = first; e < last; ++e) {
            if (b == 0 && e + a.ahead < a.graph.edges) {
                const int64_t next = a.graph.col[e + a.ahead];
                for (int64_t t = 0; t < T; ++t) prefetch(a.key[t] + next * a.key_stride[t], shape.bytes());
                prefetch_factors(a, next);
            }
            const int64_t source = a.graph.col[e];
            for (int64_t t = 0; t < T; ++t) {
                Vec<S> ds = load_heads(a.grad_score + (e * T + t) * P + b * W, P);
                if (a.key_factor) ds *= key_factor(a, source, t, b * W);
                dscores += ds;
                const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + ds * load(k + j * step));
            }
        }
        sum.write(to.query + b * W, step);
        if (a.folded) store_heads(to.bias + b * W, dscores, a.layout, b * W);
        for (int64_t t = 0; t < T && to.step_bias; ++t)
            add_step_gradient(a, a.grad_score + (first * T + t) * P + b * W, T * P, last - first, b * W,
                              to.step_bias + t * P + b * W);
    }
}

// The same of the folded form, with the gradients of the scores computed anew.
template <class S, int N, int B>
static void dna_folded_query_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, const QuerySums<S>& to,
                                 S* scratch) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const EdgeTile<S> tile(a, scratch);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    const S scale = a.scale * S(kLog2e);
    for (int64_t i = 0; i < shape.stride(); i += W) store(to.query + i, Vec<S>{});
    for (int64_t i = 0; i < P; ++i) to.bias[i] = 0;

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
                        prefetch_factors(a, next);
                    }
                }
                for (int64_t t = 0; t < T; ++t) {
                    Vec<S> s, g;
                    dot2<S>(q, dout, a.key[t] + source * a.key_stride[t] + b * W, shape, s, g);
                    s = (sum_channels<S>(s, P) + bias) * scale;
                    g = sum_channels<S>(g, P);
                    if (a.key_factor) s *= key_factor(a, source, t, b * W);
                    store_first<W>(tile.at(tile.score, t, i), s, tile.width);
                    store_first<W>(tile.at(tile.gradient, t, i), g + dtotal, tile.width);
                }
            }
            score_gradients(a, tile, count, b * W);
            for (int64_t t = 0; t < T && to.step_bias; ++t)
                add_step_gradient(a, tile.at(tile.score, t, 0), tile.width, count, b * W, to.step_bias + t * P + b * W);
            Vec<S> dscores = load_heads(to.bias + b * W, P);
            Run<S, N> sum;
            sum.read(to.query + b * W, step);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t source = a.graph.col[begin + i];
                for (int64_t t = 0; t < T; ++t) {
                    Vec<S> ds = load_heads(tile.at(tile.score, t, i), P);
                    if (a.key_factor) ds *= key_factor(a, source, t, b * W);
                    dscores += ds;
                    const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                    for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + ds * load(k + j * step));
                }
            }
            sum.write(to.query + b * W, step);
            store_heads(to.bias + b * W, dscores, a.layout, b * W);
        }
    }
}

template <class S, int N, int B>
static void dna_query_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t stride = a.layout.stride, P = a.layout.padded, steps = a.steps * P;
    const auto row = [&](int64_t v, int64_t first, int64_t last, const QuerySums<S>& to) {
        for (int64_t i = 0; i < steps && to.step_bias; ++i) to.step_bias[i] = 0;
        if (a.grad_score)
            dna_query_row<S, N, B>(a, first, last, to);
        else
            dna_folded_query_row<S, N, B>(a, v, first, last, to, scratch);
    };
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return row(unit.row, unit.edge, unit.edge_end,
                   {sums, sums + stride, a.grad_step_bias ? sums + stride + P : nullptr});
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v)
        row(v, a.graph.rowptr[v], a.graph.rowptr[v + 1],
            {a.grad_query + v * stride, a.folded ? a.grad_bias + v * P : nullptr,
             a.grad_step_bias ? a.grad_step_bias + v * steps : nullptr});
}

template <class S>
static void dna_backward_query(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_shape<S>(a.layout, [&](auto n, auto b) { dna_query_unit<S, n.value, b.value>(a, unit, scratch); });
}

}  // namespace JJ_ISA
}  // namespace jj
