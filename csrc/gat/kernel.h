// Graph attention: softmax over the incoming edges of each target of LeakyReLU(score_source[w] + score_target[v]).
//
// Forward is one pass over CSR. Backward is one pass over CSC, because the sums over a target's edges that it needs
// are products of sums of the forward pass:
//   sum_e a_e da_e               = <dout, out>
//   sum_e slope_e a_e (da_e - D) = <dout, sloped> - D * mean slope,  the gradient of score_target
#pragma once

#include "common/packed_row.h"
#include "gat/arguments.h"

namespace jj {
namespace JJ_ISA {

// Sums of a row, or of a piece of a long one: [stride] messages, [stride] sloped messages, then the head rows
// [P] largest score, [P] sum of exponentials, [P] sum of slopes times exponentials.
template <class S, int N, int B>
static void gat_forward_row(const Gat<S>& a, int64_t row, int64_t first, int64_t last, S* sums) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const int64_t P = a.layout.padded, step = shape.step(), n = shape.vectors(), stride = shape.stride();
    const int64_t bytes = shape.bytes(), ahead = a.ahead;
    S *sloped_sums = sums + stride, *heads = sums + 2 * stride;
    for (int64_t i = 0; i < 2 * stride; i += W) store(sums + i, Vec<S>{});
    const auto leaky = [&a](Vec<S> x) { return x > S(0) ? x : x * a.slope; };

    for (int64_t b = 0; b < shape.blocks(); ++b) {
        const typename Types<S>::Word words = head_words<S>(b * W, P);
        const Vec<S> target = load_heads(a.score_target + row * P + b * W, P);
        Vec<S> top = splat<S>(-__builtin_inf());
        for (int64_t e = first; e < last; ++e)
            top = larger(leaky(load_heads(a.score_source + a.graph.col[e] * P + b * W, P) + target), top);

        Run<S, N> sum, sloped;
        sum.read(sums + b * W, step);
        sloped.read(sloped_sums + b * W, step);
        Vec<S> total = {}, slopes = {};
        for (int64_t e = first; e < last; ++e) {
            const int64_t source = a.graph.col[e];
            if (e + ahead < a.graph.edges) {
                const int64_t next = a.graph.col[e + ahead];
                prefetch(a.value + next * stride, bytes);
                prefetch(a.score_source + next * P, 1);
            }
            const Vec<S> score = load_heads(a.score_source + source * P + b * W, P) + target;
            const Vec<S> exponential = exp2_nonpositive((leaky(score) - top) * S(kLog2e));
            const Vec<S> slope = score > S(0) ? splat(S(1)) : splat(a.slope);
            total += exponential;
            slopes += exponential * slope;
            Vec<S> c = exponential * a.dropout.factor;
            if (a.dropout.threshold) {
                const auto keep = keep_lanes<S>(words, a.dropout.row_key(e), 0, a.dropout.threshold);
                c = keep ? c : Vec<S>{};
            }
            const Vec<S> d = c * slope;
            const S* v = a.value + source * stride + b * W;
            for (int64_t j = 0; j < n; ++j) {
                const Vec<S> x = load(v + j * step);
                sum.set(j, sum.get(j) + c * x);
                sloped.set(j, sloped.get(j) + d * x);
            }
        }
        sum.write(sums + b * W, step);
        sloped.write(sloped_sums + b * W, step);
        store_heads(heads + b * W, top, a.layout, b * W);
        store_heads(heads + P + b * W, total, a.layout, b * W);
        store_heads(heads + 2 * P + b * W, slopes, a.layout, b * W);
    }
}

template <class S>
static void gat_finish(const Gat<S>& a, int64_t row, S* sums) {
    constexpr int W = kLanes<S>;
    const int64_t P = a.layout.padded, stride = a.layout.stride;
    S* heads = sums + 2 * stride;
    for (int64_t h = 0; h < P; ++h) {
        const S total = heads[P + h], inverse = total > 0 || total != total ? S(1) / total : S(0);
        heads[P + h] = inverse;
        heads[2 * P + h] *= inverse;
        S* state = a.state + row * 4 * P + h;
        state[0] = a.score_target[row * P + h];
        state[P] = inverse != 0 ? heads[h] : S(0);
        state[2 * P] = inverse;
        state[3 * P] = heads[2 * P + h];
    }
    for (int64_t i = 0; i < stride; i += W) {
        const Vec<S> inverse = load_heads(heads + P + i % P, P);
        store(a.out + row * stride + i, load(sums + i) * inverse);
        store(a.sloped + row * stride + i, load(sums + stride + i) * inverse);
    }
}

// scratch: 2 * stride + 3 * P.
template <class S, int N, int B>
static void gat_forward_unit(const Gat<S>& a, const Unit& unit, S* scratch) {
    const auto sum = gat_forward_row<S, N, B>;
    if (unit.partial >= 0)
        return sum(a, unit.row, unit.edge, unit.edge_end, a.partials + unit.partial * a.partial_size);
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        sum(a, v, a.graph.rowptr[v], a.graph.rowptr[v + 1], scratch);
        gat_finish(a, v, scratch);
    }
}

template <class S>
static void gat_forward(const Gat<S>& a, const Unit& unit, S* scratch) {
    with_shape<S>(a.layout, [&](auto n, auto b) { gat_forward_unit<S, n.value, b.value>(a, unit, scratch); });
}

// D = <dout, out> per head and the gradient of score_target, for the targets [first, last).
template <class S>
static void gat_prepare(const Gat<S>& a, int64_t first, int64_t last) {
    constexpr int W = kLanes<S>;
    const Shape<S, 0, 0> shape(a.layout);
    const int64_t P = a.layout.padded, stride = a.layout.stride;
    for (int64_t v = first; v < last; ++v) {
        const S* state = a.state + v * 4 * P;
        S* work = a.work + v * 4 * P;
        for (int64_t h = 0; h < 3 * P; ++h) work[h] = state[h];
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            Vec<S> mean = {}, sloped = {};
            for (int64_t j = 0; j < shape.vectors(); ++j) {
                const int64_t i = v * stride + b * W + j * shape.step();
                mean += load(a.grad_out + i) * load(a.out + i);
                sloped += load(a.grad_out + i) * load(a.sloped + i);
            }
            mean = sum_channels<S>(mean, P);
            sloped = sum_channels<S>(sloped, P) - mean * load_heads(state + 3 * P + b * W, P);
            store_heads(work + 3 * P + b * W, mean, a.layout, b * W);
            store_heads(a.grad_target + v * P + b * W, sloped, a.layout, b * W);
        }
    }
}

// Sums the outgoing edges [first, last) of a source into `dvalue` [stride] and, if Scores, `dscore` [P].
template <class S, int N, int B, bool Scores>
static void gat_backward_row(const Gat<S>& a, int64_t source, int64_t first, int64_t last, S* dvalue, S* dscore) {
    constexpr int W = kLanes<S>;
    const Shape<S, N, B> shape(a.layout);
    const int64_t P = a.layout.padded, step = shape.step(), n = shape.vectors(), stride = shape.stride();
    const int64_t bytes = shape.bytes(), ahead = a.ahead;
    for (int64_t i = 0; i < stride; i += W) store(dvalue + i, Vec<S>{});
    for (int64_t b = 0; b < shape.blocks(); ++b) {
        const typename Types<S>::Word words = head_words<S>(b * W, P);
        const Vec<S> own = load_heads(a.score_source + source * P + b * W, P);
        Run<S, N> value, sum;
        if constexpr (Scores) value.read(a.value + source * stride + b * W, step);
        sum.read(dvalue + b * W, step);
        Vec<S> dscores = {};
        for (int64_t i = first; i < last; ++i) {
            const int64_t target = a.graph.row[i];
            if (i + ahead < a.graph.edges) {
                const int64_t next = a.graph.row[i + ahead];
                prefetch(a.grad_out + next * stride, bytes);
                prefetch(a.work + next * 4 * P, 4 * P * static_cast<int64_t>(sizeof(S)));
            }
            const S *work = a.work + target * 4 * P + b * W, *dout = a.grad_out + target * stride + b * W;
            const Vec<S> score = own + load_heads(work, P);
            const Vec<S> leaky = score > S(0) ? score : score * a.slope;
            const Vec<S> weight =
                exp2_nonpositive((leaky - load_heads(work + P, P)) * S(kLog2e)) * load_heads(work + 2 * P, P);
            Vec<S> kept = weight * a.dropout.factor;
            Mask<S> keep = {};
            if (a.dropout.threshold) {
                const uint32_t key = a.dropout.row_key(a.graph.position[i]);
                keep = keep_lanes<S>(words, key, 0, a.dropout.threshold);
                kept = keep ? kept : Vec<S>{};
            }
            if constexpr (Scores) {
                Vec<S> gradient = sum_channels<S>(dot<S>(value, dout, shape), P) * a.dropout.factor;
                if (a.dropout.threshold) gradient = keep ? gradient : Vec<S>{};
                const Vec<S> ds = weight * (gradient - load_heads(work + 3 * P, P));
                dscores += score > S(0) ? ds : ds * a.slope;
            }
            for (int64_t j = 0; j < n; ++j) sum.set(j, sum.get(j) + kept * load(dout + j * step));
        }
        sum.write(dvalue + b * W, step);
        if constexpr (Scores) store_heads(dscore + b * W, dscores, a.layout, b * W);
    }
}

template <class S, int N, int B, bool Scores>
static void gat_backward_unit(const Gat<S>& a, const Unit& unit) {
    const auto sum = gat_backward_row<S, N, B, Scores>;
    const int64_t stride = a.layout.stride, P = Scores ? a.layout.padded : 0;
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return sum(a, unit.row, unit.edge, unit.edge_end, sums, sums + stride);
    }
    for (int64_t w = unit.row; w < unit.row_end; ++w)
        sum(a, w, a.graph.colptr[w], a.graph.colptr[w + 1], a.grad_value + w * stride, a.grad_source + w * P);
}

template <class S>
static void gat_backward(const Gat<S>& a, const Unit& unit, S*) {
    with_shape<S>(a.layout, [&](auto n, auto b) {
        if (a.grad_source)
            gat_backward_unit<S, n.value, b.value, true>(a, unit);
        else
            gat_backward_unit<S, n.value, b.value, false>(a, unit);
    });
}

}  // namespace JJ_ISA
}  // namespace jj
