#include <algorithm>

#include "dna/passes.h"

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

// The gradients of a projection's weight and bias, or nothing where they are not wanted.
template <class S>
class MapGrad {
  public:
    MapGrad(const DnaLayer<S>& a, const Matrix<S>& grad_weight, const Matrix<S>& grad_bias, int64_t chunks)
        : wanted_(grad_weight), grad_weight_(grad_weight), grad_bias_(grad_bias),
          sums_(map_of(a, Matrix<S>(), Matrix<S>()), wanted_ ? chunks : 0) {}

    void clear(int64_t chunk) const {
        if (wanted_) sums_.clear(chunk);
    }
    void add(int64_t chunk, const S* x, int64_t x_stride, const S* grad_y, int64_t rows, S* scratch,
             const S* scale = nullptr) const {
        if (wanted_) sums_.add(chunk, x, x_stride, grad_y, rows, scratch, scale);
    }
    void collect() const {
        if (wanted_) sums_.collect();
    }
    void write() const {
        if (wanted_) sums_.write(grad_weight_.data, grad_bias_.data);
    }

  private:
    bool wanted_;
    Matrix<S> grad_weight_, grad_bias_;
    WeightGrad<S> sums_;
};

// The last step of backward: from the gradient of the queries to those of their weights and of the newest rows.
template <class S>
class QueryGrad {
  public:
    QueryGrad(const DnaBackward<S>& a, const Passes<S>& passes, const GradChunks& targets)
        : a_(a), passes_(passes), from_query_(transposed(a, a.query_weight, a.query_bias)),
          weight_(a, a.grad_query_weight, a.grad_query_bias, targets.count) {}

    void clear(int64_t chunk) const { weight_.clear(chunk); }
    // grad: [rows, stride]. Writes to grad_newest, or adds to the last of grad_history. Takes blocks 0 and 1.
    void add(int64_t chunk, int64_t first, int64_t rows, const S* grad, int thread) const {
        const int64_t stride = make_layout<S>(a_.heads, a_.channels()).stride, width = passes_.row_size();
        const Matrix<S>&from = a_.asking(), &to = a_.grad_newest ? a_.grad_newest : a_.grad_history.back();
        S* scratch = passes_.scratch(thread);
        weight_.add(chunk, from.row(first), from.stride, grad, rows, scratch);
        const bool add = !a_.grad_newest;
        if (a_.packed) return from_query_.apply(grad, stride, to.row(first), to.stride, rows, scratch, nullptr, add);
        S *x = passes_.block(thread, 0), *y = passes_.block(thread, 1);
        from_query_.apply(grad, stride, x, stride, rows, scratch);
        if (!add) return passes_.unpack(x, stride, to.row(first), to.stride, rows);
        passes_.unpack(x, stride, y, width, rows);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < width; ++i) to.row(first + r)[i] += y[r * width + i];
    }
    void write() const {
        weight_.collect();
        weight_.write();
    }

  private:
    const DnaBackward<S>& a_;
    const Passes<S>& passes_;
    const Projection<S> from_query_;
    const MapGrad<S> weight_;
};

template <class S>
void folded_backward(const DnaBackward<S>& a, Dna<S> dna) {
    const int64_t N = dna.graph.rows, stride = dna.layout.stride, P = dna.layout.padded;
    const Pieces<S> memory{N * stride, N * P, N * stride, N * P, a.keep_scores ? score_size(dna) : 0};
    S *grad_aggregate = memory[0], *grad_total = memory[1], *grad_folded = memory[2], *grad_bias = memory[3];
    const Passes<S> passes(dna.layout, a.groups, a.packed, a.threads);
    const GradChunks targets(N);
    const MapGrad<S> key_grad(a, a.grad_key_weight, a.grad_key_bias, targets.count);
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
    dna.grad_score = a.keep_scores ? memory[4] : nullptr;
    dna.grad_key = grad_history.data();
    dna.grad_key_stride = grad_stride.data();
    dna.unpack = !a.packed;
    attend_backward(dna, a.threads);

    const auto begin_query = [&](int64_t chunk) { key_grad.clear(chunk), query_grad.clear(chunk); };
    passes.each_chunk(targets, begin_query, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
        const S *grad = grad_folded + first * stride, *scale = grad_bias + first * P;
        S *grad_query = passes.block(thread, 2), *scratch = passes.scratch(thread);
        key_grad.add(chunk, grad, stride, a.queries.row(first), rows, scratch, scale);
        to_key.apply(grad, stride, grad_query, stride, rows, scratch, scale);
        query_grad.add(chunk, first, rows, grad_query, thread);
    });
    key_grad.collect();
    key_grad.write();
    query_grad.write();
}

template <class S>
void separate_backward(const DnaBackward<S>& a, Dna<S> dna) {
    const int64_t N = dna.graph.rows, M = dna.graph.cols, T = dna.steps, stride = dna.layout.stride;
    const bool as_given = a.packed && !a.relu;  // the gradient of the output
    const Pieces<S> memory{as_given ? 0 : N * stride, N * stride, score_size(dna), 2 * T * M * stride};
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
