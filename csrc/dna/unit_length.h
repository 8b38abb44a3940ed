// Queries and keys of unit length, head by head, where a layer has scales for their products.
//
// separate: keys are brought to unit length where they lie.
// folded: there are no keys, so the attention multiplies the product with the row that it gathers by one over the
// length of its key. Keys are projected for their lengths, and once more for the gradients of these.
#pragma once

#include "dna/passes.h"

namespace jj {

template <class S>
class UnitLength {
  public:
    explicit UnitLength(const DnaLayer<S>& a) : a_(a), layout_(make_layout<S>(a.heads, a.channels())) {}
    explicit operator bool() const { return static_cast<bool>(a_.qk_scale); }

    // Projected queries from row `first` on: to unit length.
    void queries(int64_t first, int64_t rows) const {
        kernels<S>().unit_length(layout_, a_.queries.row(first), layout_.stride, a_.query_factor.row(first),
                                 layout_.padded, rows, true);
    }
    // The queries times the scales.
    const S* scaled(int64_t first, int64_t rows, S* to) const {
        kernels<S>().scale_heads(layout_, a_.queries.row(first), a_.qk_scale.data, 0, to, rows);
        return to;
    }
    // Projected keys of step t: to unit length, or folded their lengths alone.
    void keys(int64_t first, int64_t rows, int64_t t, S* key, int64_t key_stride) const {
        kernels<S>().unit_length(layout_, key, key_stride, factor(first, t), factors(), rows, !a_.folded);
    }
    // From the gradient of the scaled queries to that of the projected ones, and of the scales [N, P] where wanted.
    void query_gradient(int64_t first, int64_t rows, S* grad, const Matrix<S>& grad_scale) const {
        kernels<S>().unit_gradient(layout_, a_.queries.row(first), layout_.stride, a_.query_factor.row(first),
                                   layout_.padded, a_.qk_scale.data, grad, grad_scale ? grad_scale.row(first) : nullptr,
                                   rows);
    }
    // Separate: from the gradient of the keys of step t to that of the projected ones.
    void key_gradient(int64_t first, int64_t rows, int64_t t, S* grad) const {
        const int64_t stride = layout_.stride;
        kernels<S>().unit_gradient(layout_, a_.keys.row(first) + t * stride, 2 * a_.steps() * stride, factor(first, t),
                                   factors(), nullptr, grad, nullptr, rows);
    }
    // Folded: from the projected keys of step t to their gradient, in place. A score falls with the length of its key:
    // dk = -factor^2 (sum_e ds score) k, with the sums in `sums` [M, T, P], which are changed.
    void length_gradient(int64_t first, int64_t rows, int64_t t, S* key, S* sums) const {
        for (int64_t r = first; r < first + rows; ++r) {
            const S* f = factor(r, t);
            S* sum = sums + r * factors() + t * layout_.padded;
            for (int64_t h = 0; h < layout_.padded; ++h) sum[h] *= -f[h] * f[h];
        }
        const S* scale = sums + first * factors() + t * layout_.padded;
        kernels<S>().scale_heads(layout_, key, scale, factors(), key, rows);
    }

  private:
    int64_t factors() const { return a_.steps() * layout_.padded; }
    S* factor(int64_t row, int64_t t) const { return a_.key_factor.row(row) + t * layout_.padded; }

    const DnaLayer<S>& a_;
    Layout layout_;
};

}  // namespace jj
