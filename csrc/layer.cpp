#include "layer.h"

#include <algorithm>

#include "passes.h"

namespace jj {
namespace {

constexpr int64_t kPackRows = 4;

template <class S>
Grouped<S> map_of(const Layer<S>& a, const Weights<S>& weights) {
    return make_grouped<S>(a.dna.layout, a.groups, false, weights.weight, weights.bias);
}

// The map by the transposed blocks; with it come the products with the bias.
template <class S>
Projection<S> transposed(const Layer<S>& a, const Weights<S>& weights) {
    return Projection<S>(make_grouped<S>(a.dna.layout, a.groups, true, weights.weight, nullptr), weights.bias);
}

// What the attention gathers along the edges.
template <class S>
class Gathered {
  public:
    Gathered(const Layer<S>& a, Dna<S>& dna) {
        const int64_t T = dna.steps, size = dna.layout.stride;
        for (int64_t t = 0; t < T; ++t) {
            key_.push_back(dna.folded ? a.history[t].data : a.keys + t * size);
            value_.push_back(dna.folded ? a.history[t].data : a.keys + (T + t) * size);
            stride_.push_back(dna.folded ? a.history[t].stride : 2 * T * size);
        }
        dna.query = dna.folded ? a.folded : a.queries;
        dna.bias = a.bias;
        dna.key = key_.data();
        dna.value = value_.data();
        dna.key_stride = dna.value_stride = stride_.data();
    }
    Gathered(const Gathered&) = delete;

  private:
    std::vector<const S*> key_, value_;
    std::vector<int64_t> stride_;
};

// The last step of backward: from the gradient of the queries to those of their weights and of the newest rows.
template <class S>
class QueryGrad {
  public:
    QueryGrad(const Layer<S>& a, const Passes<S>& passes, const GradChunks& targets)
        : a_(a), passes_(passes), from_query_(transposed(a, a.query)), weight_(map_of(a, a.query), targets.count) {}

    void clear(int64_t chunk) const { weight_.clear(chunk); }
    // grad: [rows, stride]. Writes to grad_newest, or adds to the last of grad_history. Takes blocks 0 and 1.
    void add(int64_t chunk, int64_t first, int64_t rows, const S* grad, int thread) const {
        const int64_t stride = a_.dna.layout.stride, width = passes_.row_size();
        const Matrix<S> from = a_.asking(), to = a_.grad_newest ? a_.grad_newest : a_.grad_history.back();
        S* scratch = passes_.scratch(thread);
        weight_.add(chunk, from.row(first), from.stride, grad, rows, scratch);
        const bool add = !a_.grad_newest;
        if (a_.packed)
            return from_query_.apply(grad, stride, to.row(first), to.stride, rows, scratch, nullptr, add);
        S *x = passes_.block(thread, 0), *y = passes_.block(thread, 1);
        from_query_.apply(grad, stride, x, stride, rows, scratch);
        if (!add) return passes_.unpack(x, stride, to.row(first), to.stride, rows);
        passes_.unpack(x, stride, y, width, rows);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < width; ++i) to.row(first + r)[i] += y[r * width + i];
    }
    void write() const {
        weight_.collect();
        weight_.write(a_.query.grad_weight, a_.query.grad_bias);
    }

  private:
    const Layer<S>& a_;
    const Passes<S>& passes_;
    const Projection<S> from_query_;
    const WeightGrad<S> weight_;
};

// Packed rows of the output's gradient, zero where ReLU has cut: `to`, or the caller's where they are that. Takes block 1.
template <class S>
const S* packed_grad(const Layer<S>& a, const Passes<S>& passes, int64_t first, int64_t rows, S* to, int thread) {
    const int64_t width = passes.row_size();
    const S* grad = a.grad_out + first * width;
    if (a.relu) {
        S* cut = a.packed ? to : passes.block(thread, 1);
        relu_gradient(a.result + first * width, grad, cut, rows * width);
        grad = cut;
    }
    if (a.packed) return grad;
    passes.pack(grad, width, to, a.dna.layout.stride, rows);
    return to;
}

template <class S>
void folded_backward(const Layer<S>& a, int threads) {
    Dna<S> dna = a.dna;
    const int64_t N = dna.graph.rows, stride = dna.layout.stride, P = dna.layout.padded;
    const Pieces<S> memory{N * stride, N * P, N * stride, N * P, a.keep_scores ? score_size(dna) : 0};
    S *grad_aggregate = memory[0], *grad_total = memory[1], *grad_folded = memory[2], *grad_bias = memory[3];
    const Passes<S> passes(dna.layout, a.groups, a.packed, threads);
    const GradChunks targets(N);
    const WeightGrad<S> key_grad(map_of(a, a.key), targets.count), value_grad(map_of(a, a.value), targets.count);
    const QueryGrad<S> query_grad(a, passes, targets);
    const Projection<S> from_value = transposed(a, a.value), to_key(map_of(a, a.key));

    const auto begin_value = [&](int64_t chunk) { value_grad.clear(chunk); };
    passes.each_chunk(targets, begin_value, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
        const S* grad = packed_grad(a, passes, first, rows, passes.block(thread, 0), thread);
        S* scratch = passes.scratch(thread);
        value_grad.add(chunk, a.aggregate + first * stride, stride, grad, rows, scratch, a.total + first * P);
        from_value.apply_dot(grad, stride, grad_aggregate + first * stride, stride, grad_total + first * P, rows,
                             scratch);
    });
    value_grad.collect();
    value_grad.write(a.value.grad_weight, a.value.grad_bias);

    const Gathered<S> gathered(a, dna);
    std::vector<S*> grad_history;
    std::vector<int64_t> grad_stride;
    for (const Matrix<S>& x : a.grad_history) grad_history.push_back(x.data), grad_stride.push_back(x.stride);
    dna.grad_out = grad_aggregate;
    dna.grad_total = grad_total;
    dna.grad_query = grad_folded;
    dna.grad_bias = grad_bias;
    dna.grad_score = a.keep_scores ? memory[4] : nullptr;
    dna.grad_key = grad_history.data();
    dna.grad_key_stride = grad_stride.data();
    dna.unpack = !a.packed;
    run_dna_backward(dna, threads);

    const auto begin_query = [&](int64_t chunk) { key_grad.clear(chunk), query_grad.clear(chunk); };
    passes.each_chunk(targets, begin_query, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
        const S *grad = grad_folded + first * stride, *scale = grad_bias + first * P;
        S *grad_query = passes.block(thread, 2), *scratch = passes.scratch(thread);
        key_grad.add(chunk, grad, stride, a.queries + first * stride, rows, scratch, scale);
        to_key.apply(grad, stride, grad_query, stride, rows, scratch, scale);
        query_grad.add(chunk, first, rows, grad_query, thread);
    });
    key_grad.collect();
    key_grad.write(a.key.grad_weight, a.key.grad_bias);
    query_grad.write();
}

template <class S>
void separate_backward(const Layer<S>& a, int threads) {
    Dna<S> dna = a.dna;
    const int64_t N = dna.graph.rows, M = dna.graph.cols, T = dna.steps, stride = dna.layout.stride;
    const bool as_given = a.packed && !a.relu;  // the gradient of the output
    const Pieces<S> memory{as_given ? 0 : N * stride, N * stride, score_size(dna), 2 * T * M * stride};
    S *grad_query = memory[1], *grad_key = memory[3], *grad_value = grad_key + T * M * stride;
    const Passes<S> passes(dna.layout, a.groups, a.packed, threads);
    const GradChunks targets(N), sources(M);
    const WeightGrad<S> key_grad(map_of(a, a.key), sources.count), value_grad(map_of(a, a.value), sources.count);
    const QueryGrad<S> query_grad(a, passes, targets);
    const Projection<S> from_key = transposed(a, a.key), from_value = transposed(a, a.value);

    dna.grad_out = as_given ? a.grad_out : memory[0];
    if (!as_given)
        passes.each_block(N, [&](int64_t first, int thread) {
            packed_grad(a, passes, first, std::min(kRowBlock, N - first), memory[0] + first * stride, thread);
        });
    const Gathered<S> gathered(a, dna);
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
    run_dna_backward(dna, threads);

    for (int64_t t = 0; t < T; ++t) {
        const bool with_query = t == T - 1 && !a.newest;  // then there are as many targets as sources
        const auto begin = [&](int64_t chunk) {
            key_grad.clear(chunk), value_grad.clear(chunk);
            if (with_query) query_grad.clear(chunk);
        };
        passes.each_chunk(sources, begin, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
            const Matrix<S>& x = a.history[t];
            const Matrix<S>& to = a.grad_history[t];
            const S *dk = grad_keys[t] + first * stride, *dv = grad_values[t] + first * stride;
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
    key_grad.write(a.key.grad_weight, a.key.grad_bias);
    value_grad.write(a.value.grad_weight, a.value.grad_bias);
    query_grad.write();
}

}  // namespace

template <class S>
void run_layer_forward(const Layer<S>& a, int threads) {
    if (a.sparse) return run_sparse_layer_forward(a, threads);
    Dna<S> dna = a.dna;
    const int64_t N = dna.graph.rows, M = dna.graph.cols, T = dna.steps;
    const int64_t stride = dna.layout.stride, P = dna.layout.padded;
    const Passes<S> passes(dna.layout, a.groups, a.packed, threads);
    const Projection<S> to_query(map_of(a, a.query)), to_value(map_of(a, a.value));
    const Projection<S> to_key = dna.folded ? transposed(a, a.key) : Projection<S>(map_of(a, a.key));
    const Matrix<S> last = a.asking();

    passes.each_block(std::max(N, M), [&](int64_t first, int thread) {
        S* scratch = passes.scratch(thread);
        const int64_t sources = std::min(kRowBlock, M - first), targets = std::min(kRowBlock, N - first);
        // A few rows of all steps at a time: those of one node mostly lie side by side.
        for (int64_t row = first; row < first + sources && !a.packed; row += kPackRows) {
            const int64_t rows = std::min(kPackRows, first + sources - row);
            for (int64_t t = 0; t < T; ++t) {
                const Matrix<const S>& x = a.given[t];
                passes.pack(x.row(row), x.stride, a.history[t].row(row), a.history[t].stride, rows);
            }
        }
        for (int64_t t = 0; t < T && sources > 0 && !dna.folded; ++t) {
            const Matrix<S>& x = a.history[t];
            S *key = a.keys + (first * 2 * T + t) * stride, *value = key + T * stride;
            to_key.apply(x.row(first), x.stride, key, 2 * T * stride, sources, scratch);
            to_value.apply(x.row(first), x.stride, value, 2 * T * stride, sources, scratch);
        }
        if (targets <= 0) return;
        if (a.newest && !a.packed)
            passes.pack(a.given_newest.row(first), a.given_newest.stride, last.row(first), last.stride, targets);
        S* query = a.queries + first * stride;
        to_query.apply(last.row(first), last.stride, query, stride, targets, scratch);
        if (dna.folded)
            to_key.apply_dot(query, stride, a.folded + first * stride, stride, a.bias + first * P, targets, scratch);
    });

    const Pieces<S> memory{dna.folded || a.packed ? 0 : N * stride};
    const Gathered<S> gathered(a, dna);
    dna.out = dna.folded ? a.aggregate : a.packed ? a.out : memory[0];
    dna.total = a.total;
    dna.relu = a.relu && !dna.folded;
    run_dna_forward(dna, threads);

    if (!dna.folded && a.packed) return;
    passes.each_block(N, [&](int64_t first, int thread) {
        const int64_t rows = std::min(kRowBlock, N - first);
        S *x = dna.out + first * stride, *out = a.out + first * passes.row_size();
        if (dna.folded) {
            S* y = a.packed ? out : passes.block(thread, 0);
            to_value.apply(x, stride, y, stride, rows, passes.scratch(thread), a.total + first * P);
            for (int64_t i = 0; i < rows * stride && a.relu; ++i) y[i] = y[i] < 0 ? S(0) : y[i];
            x = y;
        }
        if (!a.packed) passes.unpack(x, stride, out, passes.row_size(), rows);
    });
}

template <class S>
void run_layer_backward(const Layer<S>& a, int threads) {
    if (a.sparse)
        run_sparse_layer_backward(a, threads);
    else if (a.dna.folded)
        folded_backward(a, threads);
    else
        separate_backward(a, threads);
}

template void run_layer_forward<float>(const Layer<float>&, int);
template void run_layer_forward<double>(const Layer<double>&, int);
template void run_layer_backward<float>(const Layer<float>&, int);
template void run_layer_backward<double>(const Layer<double>&, int);

}  // namespace jj
