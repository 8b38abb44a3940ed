// Rows whose heads have unit length: x / sqrt(|x|^2 + epsilon), head by head, and their gradients.
#pragma once

#include "common/packed_row.h"
#include "dna/arguments.h"

namespace jj {
namespace JJ_ISA {

JJ_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
JJ_INLINE double square_root(double x) { return __builtin_sqrt(x); }

template <class S>
JJ_INLINE Vec<S> inverse_root(Vec<S> x) {
    for (int i = 0; i < kLanes<S>; ++i) x[i] = square_root(x[i]);
    return S(1) / x;
}

// factor: [rows, P], 1 / sqrt(|x|^2 + epsilon). With `apply`, x is multiplied by it.
template <class S>
static void unit_length(const Layout& layout, S* x, int64_t x_stride, S* factor, int64_t factor_stride, int64_t rows,
                        bool apply) {
    constexpr int W = kLanes<S>;
    const Shape<S, 0, 0> shape(layout);
    const int64_t P = layout.padded, step = shape.step(), n = shape.vectors();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            S* row = x + r * x_stride + b * W;
            Run<S, 0> run{row, step};
            const Vec<S> length = sum_channels<S>(dot<S>(run, row, shape), P);
            const Vec<S> inverse = inverse_root<S>(length + kUnitEpsilon<S>);
            store_heads(factor + r * factor_stride + b * W, inverse, layout, b * W);
            for (int64_t j = 0; j < n && apply; ++j) run.set(j, run.get(j) * inverse);
        }
    }
}

// From the gradient of scale * unit to that of the row that `unit` was made of, in place: with g the gradient and
// c = <unit, g>, factor * scale * (g - c unit). c is the gradient of the scale.
template <class S>
static void unit_gradient(const Layout& layout, const S* unit, int64_t unit_stride, const S* factor,
                          int64_t factor_stride, const S* scale, S* grad, S* grad_scale, int64_t rows) {
    constexpr int W = kLanes<S>;
    const Shape<S, 0, 0> shape(layout);
    const int64_t P = layout.padded, step = shape.step(), n = shape.vectors();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            const S* from = unit + r * unit_stride + b * W;
            Run<S, 0> g{grad + r * shape.stride() + b * W, step};
            const Vec<S> c = sum_channels<S>(dot<S>(g, from, shape), P);
            if (grad_scale) store_heads(grad_scale + r * P + b * W, c, layout, b * W);
            Vec<S> outer = load_heads(factor + r * factor_stride + b * W, P);
            if (scale) outer *= load_heads(scale + b * W, P);
            for (int64_t j = 0; j < n; ++j) g.set(j, outer * (g.get(j) - c * load(from + j * step)));
        }
    }
}

// y = scale * x, with a head row of factors for each row, scale_stride apart, or one for all.
template <class S>
static void scale_heads(const Layout& layout, const S* x, const S* scale, int64_t scale_stride, S* y, int64_t rows) {
    constexpr int W = kLanes<S>;
    const Shape<S, 0, 0> shape(layout);
    const int64_t step = shape.step(), n = shape.vectors();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t b = 0; b < shape.blocks(); ++b) {
            const Vec<S> outer = load_heads(scale + r * scale_stride + b * W, layout.padded);
            const int64_t at = r * shape.stride() + b * W;
            for (int64_t j = 0; j < n; ++j) store(y + at + j * step, outer * load(x + at + j * step));
        }
    }
}

}  // namespace JJ_ISA
}  // namespace jj
