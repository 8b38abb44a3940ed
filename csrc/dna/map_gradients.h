// Backward from the gradients of queries and keys to those of the projections and of the rows.
#pragma once

#include "dna/unit_length.h"

namespace jj {

// The gradients of a projection's weight and bias, or nothing where they are not wanted.
template <class S>
class MapGrad {
  public:
    MapGrad(const DnaLayer<S>& a, const Matrix<S>& grad_weight, const Matrix<S>& grad_bias, int64_t chunks)
        : wanted_(grad_weight), grad_weight_(grad_weight), grad_bias_(grad_bias), chunks_(wanted_ ? chunks : 0),
          sums_(map_of(a, Matrix<S>(), Matrix<S>()), chunks_) {}

    void clear(int64_t chunk) const {
        if (wanted_) sums_.clear(chunk);
    }
    // The chunks that an input with fewer rows than others leaves unused.
    void clear_from(int64_t chunk) const {
        for (; chunk < chunks_; ++chunk) sums_.clear(chunk);
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
    int64_t chunks_;
    WeightGrad<S> sums_;
};

// The last step of backward: from the gradient of the queries to those of their weights and of the newest rows.
template <class S>
class QueryGrad {
  public:
    QueryGrad(const DnaBackward<S>& a, const Passes<S>& passes, const GradChunks& targets)
        : a_(a), passes_(passes), unit_(a), from_query_(transposed(a, a.query_weight, a.query_bias)),
          weight_(a, a.grad_query_weight, a.grad_query_bias, targets.count) {}

    void clear(int64_t chunk) const { weight_.clear(chunk); }
    // grad: [rows, stride], changed where queries have unit length. Writes to grad_newest, or adds to the last of
    // grad_history. Takes blocks 0 and 1.
    void add(int64_t chunk, int64_t first, int64_t rows, S* grad, int thread) const {
        const Matrix<S>&from = a_.asking(), &to = a_.grad_newest ? a_.grad_newest : a_.grad_history.back();
        if (unit_) unit_.query_gradient(first, rows, grad, a_.grad_qk_scale);
        weight_.add(chunk, from.row(first), from.stride, grad, rows, passes_.scratch(thread));
        passes_.map(from_query_, grad, to, first, rows, !a_.grad_newest, thread);
    }
    void write() const {
        weight_.collect();
        weight_.write();
    }

  private:
    const DnaBackward<S>& a_;
    const Passes<S>& passes_;
    const UnitLength<S> unit_;
    const Projection<S> from_query_;
    const MapGrad<S> weight_;
};

// Folded: what the lengths of the keys add to the gradients. `sums` [M, T, P] are those of UnitLength::length_gradient.
template <class S>
void length_backward(const DnaBackward<S>& a, const UnitLength<S>& unit, const Passes<S>& passes,
                     const Projection<S>& to_key, const MapGrad<S>& key_grad, S* sums) {
    const Projection<S> from_key = transposed(a, a.key_weight, a.key_bias);
    const int64_t stride = make_layout<S>(a.heads, a.channels()).stride;
    const GradChunks sources(a.graph.cols);
    key_grad.clear_from(sources.count);
    for (int64_t t = 0; t < a.steps(); ++t) {
        const auto begin = [&](int64_t chunk) { key_grad.clear(chunk); };
        passes.each_chunk(sources, begin, [&](int64_t chunk, int64_t first, int64_t rows, int thread) {
            const Matrix<S>& x = a.history[t];
            S *key = passes.block(thread, 2), *scratch = passes.scratch(thread);
            to_key.apply(x.row(first), x.stride, key, stride, rows, scratch);
            unit.length_gradient(first, rows, t, key, sums);
            key_grad.add(chunk, x.row(first), x.stride, key, rows, scratch);
            passes.map(from_key, key, a.grad_history[t], first, rows, true, thread);
        });
        key_grad.collect();
    }
}

}  // namespace jj
