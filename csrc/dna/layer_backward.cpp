#include <algorithm>

#include "dna/map_gradients.h"

namespace jj {
namespace {

// The gradient where ReLU has let the output through, else zero. Written so that it needs no branch: the signs come in
// no order that a processor could foresee.
template <class S>
void relu_gradient(const S* __restrict out, const S* __restrict grad, S* __restrict to, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
        const S g = grad[i];
        to[i] = out[i] <= 0 ? S(0) : g;
    }
}

// Packed rows of the output's gradient, zero where ReLU has cut: `to`, or the caller's where they are that. Takes
// block 1.
template <class S>
const S* packed_grad(const DnaBackward<S>& a, const Passes<S>& passes, int64_t first, int64_t rows, S* to, int thread) {
    const int64_t width = passes.row_size();
    const S* grad = a.grad_out.row(first);
    if (a.relu) {
        S* cut = a.packed ? to : passes.block(thread, 1);
        relu_gradient(a.out.row(first), grad, cut, rows * width);
        grad = cut;
    }
    if (a.packed) return grad;
    passes.pack(grad, width, to, make_layout<S>(a.heads, a.channels()).stride, rows);
    return to;
}

template <class S>
void folded_backward(const DnaBackward<S>& a, Dna<S> dna) {
    const int64_t N = dna.graph.rows, stride = dna.layout.stride, P = dna.layout.padded;
    const UnitLength<S> unit(a);
    const int64_t factors = unit ? dna.graph.cols * dna.steps * P : 0;
    const Pieces<S> memory{N * stride, N * P, N * stride, N * P, a.keep_scores ? score_size(dna) : 0, factors};
    S *grad_aggregate = memory[0], *grad_total = memory[1], *grad_folded = memory[2], *grad_bias = memory[3];
    const Passes<S> passes(dna.layout, a.groups, a.packed, a.threads);
    const GradChunks targets(N);
    const int64_t key_chunks = unit ? std::max(targets.count, GradChunks(dna.graph.cols).count) : targets.count;
    const MapGrad<S> key_grad(a, a.grad_key_weight, a.grad_key_bias, key_chunks);
    const MapGrad<S> value_grad(a, a.grad_value_weight, a.grad_value_bias, targets.count);
    const QueryGrad<S> query_grad(a, passes, targets);
    const Projection<S> from_value = transposed(a, a.value_weight, a.value_bias);
    const Projection<S> to_key(map_of(a, a.key_weight, a.key_bias));

    const auto begin_value = [&](int64_t chunk) { value_grad.clear(chunk); };
    passes.each_chunk(targets, begin_value, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
        const S* grad = packed_grad(a, passes, first, rows, passes.block(thread, 0), thread);
        S* scratch = passes.scratch(thread);
        value_grad.add(chunk, a.aggregate.row(first), stride, grad, rows, scratch, a.total.row(first));
        from_value.apply_dot(grad, stride, grad_aggregate + first * stride, stride, grad_total + first * P, rows,
                             scratch);
    });
    value_grad.collect();
    value_grad.write();

    const Gathered<S> gathered(a, dna);
    std::vector<S*> grad_history;
    std::vector<int64_t> grad_stride;
    for (const Matrix<S>& x : a.grad_history) grad_history.push_back(x.data), grad_stride.push_back(x.stride);
    dna.grad_out = grad_aggregate;
    dna.grad_total = grad_total;
    dna.grad_query = grad_folded;
    dna.grad_bias = grad_bias;
    dna.grad_factor = memory[5];
    dna.grad_score = a.keep_scores ? memory[4] : nullptr;
    dna.grad_key = grad_history.data();
    dna.grad_key_stride = grad_stride.data();
    dna.unpack = !a.packed;
    attend_backward(dna, a.threads);

    const auto begin_query = [&](int64_t chunk) { key_grad.clear(chunk), query_grad.clear(chunk); };
    passes.each_chunk(targets, begin_query, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
        const S *grad = grad_folded + first * stride, *scale = grad_bias + first * P;
        S *grad_query = passes.block(thread, 2), *scratch = passes.scratch(thread);
        const S* query = unit ? unit.scaled(first, rows, passes.block(thread, 0)) : a.queries.row(first);
        key_grad.add(chunk, grad, stride, query, rows, scratch, scale);
        to_key.apply(grad, stride, grad_query, stride, rows, scratch, scale);
        query_grad.add(chunk, first, rows, grad_query, thread);
    });
    key_grad.clear_from(targets.count);
    key_grad.collect();
    if (unit) length_backward(a, unit, passes, to_key, key_grad, memory[5]);
    key_grad.write();
    query_grad.write();
}

template <class S>
void separate_backward(const DnaBackward<S>& a, Dna<S> dna) {
    const int64_t N = dna.graph.rows, M = dna.graph.cols, T = dna.steps, stride = dna.layout.stride;
    const bool as_given = a.packed && !a.relu;  // the gradient of the output
    const UnitLength<S> unit(a);
    const Pieces<S> memory{as_given ? 0 : N * stride, N * stride, score_size(dna), 2 * T * M * stride,
                           unit ? N * stride : 0};
    S *grad_query = memory[1], *grad_key = memory[3], *grad_value = grad_key + T * M * stride;
    const Passes<S> passes(dna.layout, a.groups, a.packed, a.threads);
    const GradChunks targets(N), sources(M);
    const MapGrad<S> key_grad(a, a.grad_key_weight, a.grad_key_bias, sources.count);
    const MapGrad<S> value_grad(a, a.grad_value_weight, a.grad_value_bias, sources.count);
    const QueryGrad<S> query_grad(a, passes, targets);
    const Projection<S> from_key = transposed(a, a.key_weight, a.key_bias);
    const Projection<S> from_value = transposed(a, a.value_weight, a.value_bias);

    dna.grad_out = as_given ? a.grad_out.data : memory[0];
    if (!as_given)
        passes.each_block(N, [&](int64_t first, int64_t rows, int thread) {
            packed_grad(a, passes, first, rows, memory[0] + first * stride, thread);
        });
    const Gathered<S> gathered(a, dna);
    if (unit) {
        passes.each_block(
            N, [&](int64_t first, int64_t rows, int) { unit.scaled(first, rows, memory[4] + first * stride); });
        dna.query = memory[4];
    }
    std::vector<S*> grad_keys, grad_values;
    for (int64_t t = 0; t < T; ++t) {
        grad_keys.push_back(grad_key + t * M * stride);
        grad_values.push_back(grad_value + t * M * stride);
    }
    const std::vector<int64_t> strides(T, stride);
    dna.grad_query = grad_query;
    dna.grad_score = memory[2];
    dna.grad_key = grad_keys.data();
    dna.grad_value = grad_values.data();
    dna.grad_key_stride = dna.grad_value_stride = strides.data();
    attend_backward(dna, a.threads);

    for (int64_t t = 0; t < T; ++t) {
        const bool with_query = t == T - 1 && !a.newest;  // then there are as many targets as sources
        const auto begin = [&](int64_t chunk) {
            key_grad.clear(chunk), value_grad.clear(chunk);
            if (with_query) query_grad.clear(chunk);
        };
        passes.each_chunk(sources, begin, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
            const Matrix<S>&x = a.history[t], &to = a.grad_history[t];
            S *dk = grad_keys[t] + first * stride, *dv = grad_values[t] + first * stride;
            if (unit) unit.key_gradient(first, rows, t, dk);
            S *scratch = passes.scratch(thread), *dx = a.packed ? to.row(first) : passes.block(thread, 2);
            const int64_t dx_stride = a.packed ? to.stride : stride;
            key_grad.add(chunk, x.row(first), x.stride, dk, rows, scratch);
            value_grad.add(chunk, x.row(first), x.stride, dv, rows, scratch);
            from_key.apply(dk, stride, dx, dx_stride, rows, scratch);
            from_value.apply(dv, stride, dx, dx_stride, rows, scratch, nullptr, true);
            if (!a.packed) passes.unpack(dx, stride, to.row(first), to.stride, rows);
            if (with_query) query_grad.add(chunk, first, rows, grad_query + first * stride, thread);
        });
        key_grad.collect();
        value_grad.collect();
    }
    if (a.newest) {
        const auto begin = [&](int64_t chunk) { query_grad.clear(chunk); };
        passes.each_chunk(targets, begin, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
            query_grad.add(chunk, first, rows, grad_query + first * stride, thread);
        });
    }
    key_grad.write();
    value_grad.write();
    query_grad.write();
}

template <class S>
void check_gradients(const DnaBackward<S>& a, const Layout& layout) {
    const int64_t N = a.graph.rows, M = a.graph.cols, d = layout.heads * layout.channels;
    const int64_t size = a.packed ? layout.stride : d;
    expect_dense(a.grad_out, "grad_out", N, size);
    if (a.relu) expect_dense(a.out, "out", N, size);
    require(a.grad_history.size() == a.history.size(), "history and grad_history differ in length");
    for (const Matrix<S>& x : a.grad_history) expect(x, "grad_history", M, size);
    require(static_cast<bool>(a.newest) == static_cast<bool>(a.grad_newest), "newest and grad_newest go together");
    if (a.grad_newest) expect(a.grad_newest, "grad_newest", N, size);
    if (a.grad_edge_weight) expect(a.grad_edge_weight, "grad_edge_weight", 1, a.graph.edges);
    if (a.grad_step_bias) {
        require(static_cast<bool>(a.step_bias), "grad_step_bias without step_bias");
        expect_dense(a.grad_step_bias, "grad_step_bias", N, a.steps() * layout.padded);
    }
    if (a.grad_qk_scale) {
        require(static_cast<bool>(a.qk_scale), "grad_qk_scale without qk_scale");
        expect_dense(a.grad_qk_scale, "grad_qk_scale", N, layout.padded);
    }
    if (!a.grad_query_weight) return;
    expect_blocks(a.grad_query_weight, "grad_query_weight", a.groups, d);
    expect_blocks(a.grad_key_weight, "grad_key_weight", a.groups, d);
    expect_blocks(a.grad_value_weight, "grad_value_weight", a.groups, d);
    expect(a.grad_query_bias, "grad_query_bias", 1, d);
    expect(a.grad_key_bias, "grad_key_bias", 1, d);
    expect(a.grad_value_bias, "grad_value_bias", 1, d);
}

}  // namespace

template <class S>
void run(const DnaBackward<S>& a) {
    Dna<S> dna = checked_attention(a);
    check_gradients(a, dna.layout);
    dna.grad_weight = a.grad_edge_weight.data;
    dna.grad_step_bias = a.grad_step_bias.data;
    if (a.folded)
        folded_backward(a, dna);
    else
        separate_backward(a, dna);
}

template void run<float>(const DnaBackward<float>&);
template void run<double>(const DnaBackward<double>&);

}  // namespace jj
