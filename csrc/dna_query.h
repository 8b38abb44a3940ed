// Backward of the DNA attention by target: dq = sum_e sum_t ds k over CSR, each target owns its row. The pass by source
// has left the gradients of the scores, so that values and softmax are not needed again.
#pragma once

#include "simd.h"

namespace jj {
namespace JJ_ISA {

// Sums the edges [first, last) of a row into `dq` [stride] and, when folded, `dbias` [P].
template <class S, int N, int B>
static void dna_query_row(const Dna<S>& a, int64_t first, int64_t last, S* dq, S* dbias) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const int64_t P = a.layout.padded, T = a.steps, step = shape.step(), n = shape.vectors();
    for (int64_t b = 0; b < shape.blocks(); ++b) {
        Vec<S> dscores = {};
        Run<S, N> sum;
        sum.clear(dq + b * W, step, n);
        for (int64_t e = first; e < last; ++e) {
            if (b == 0 && e + a.ahead < a.graph.edges) {
                const int64_t next = a.graph.col[e + a.ahead];
                for (int64_t t = 0; t < T; ++t) prefetch(a.key[t] + next * a.key_stride[t], shape.bytes());
            }
            const int64_t source = a.graph.col[e];
            for (int64_t t = 0; t < T; ++t) {
                const Vec<S> ds = load_heads(a.grad_score + (e * T + t) * P + b * W, P);
                const S* k = a.key[t] + source * a.key_stride[t] + b * W;
                dscores += ds;
                for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + ds * load(k + j * step));
            }
        }
        sum.write(dq + b * W, step);
        if (dbias) store_heads(dbias + b * W, dscores, a.layout, b * W);
    }
}

template <class S, int N, int B>
static void dna_query_unit(const Dna<S>& a, const Unit& unit) {
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return dna_query_row<S, N, B>(a, unit.edge, unit.edge_end, sums, a.folded ? sums + a.layout.stride : nullptr);
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        S* dbias = a.folded ? a.grad_bias + v * a.layout.padded : nullptr;
        dna_query_row<S, N, B>(a, a.graph.rowptr[v], a.graph.rowptr[v + 1], a.grad_query + v * a.layout.stride, dbias);
    }
}

template <class S>
static void dna_backward_query(const Dna<S>& a, const Unit& unit, S*) {
    with_shape<S>(a.layout, [&](auto n, auto b) { dna_query_unit<S, n.value, b.value>(a, unit); });
}

}  // namespace JJ_ISA
}  // namespace jj
