// The maps of the sparse form: query and key as one, and their gradients.
#pragma once

#include <algorithm>
#include <vector>

#include "layer.h"
#include "projection.h"

namespace jj {

// Size of a layer's rows and blocks.
struct Size {
    int64_t channels, padded, d, block;
    template <class S>
    explicit Size(const Layer<S>& a)
        : channels(a.dna.layout.channels), padded(a.dna.layout.padded), d(a.dna.layout.heads * channels),
          block(d / a.groups) {}
};

// y += x w of one block-diagonal matrix [d, block] and another, or of the transposed of x and the other.
template <class S>
void add_product(const Size& size, const S* x, bool transpose, const S* w, S* y) {
    const int64_t block = size.block;
    for (int64_t i = 0; i < size.d; ++i) {
        const int64_t first = i / block * block;
        for (int64_t k = 0; k < block; ++k) {
            const S factor = transpose ? x[(first + k) * block + i - first] : x[i * block + k];
            for (int64_t j = 0; j < block; ++j) y[i * block + j] += factor * w[(first + k) * block + j];
        }
    }
}

// y += x w of a row [d].
template <class S>
void add_product(const Size& size, const S* x, const S* w, S* y) {
    for (int64_t i = 0; i < size.d; ++i)
        for (int64_t j = 0; j < size.block; ++j) y[i / size.block * size.block + j] += x[i] * w[i * size.block + j];
}

template <class S>
std::vector<S> transposed(const Size& size, const S* weight) {
    std::vector<S> to(size.d * size.block);
    for (int64_t i = 0; i < size.d; ++i)
        for (int64_t j = 0; j < size.block; ++j)
            to[(i / size.block * size.block + j) * size.block + i % size.block] = weight[i * size.block + j];
    return to;
}

template <class S>
std::vector<S> bias_or_zeros(const Size& size, const S* bias) {
    return bias ? std::vector<S>(bias, bias + size.d) : std::vector<S>(size.d);
}

// Query and key as one map. The folded query is (x Q + b) K^T = x M + c, its score bias (x Q + b) . k = x . u + e.
template <class S>
struct Fold {
    std::vector<S> map, offset, direction, constant;  // M [d, block], c [d], u [d], e [P]

    Fold(const Layer<S>& a, const Size& size)
        : map(size.d * size.block), offset(size.d), direction(size.d), constant(size.padded) {
        const std::vector<S> key = transposed(size, a.key.weight), query = transposed(size, a.query.weight);
        const std::vector<S> b = bias_or_zeros(size, a.query.bias), k = bias_or_zeros(size, a.key.bias);
        add_product(size, a.query.weight, false, key.data(), map.data());
        add_product(size, b.data(), key.data(), offset.data());
        add_product(size, k.data(), query.data(), direction.data());
        for (int64_t i = 0; i < size.d; ++i) constant[i / size.channels] += b[i] * k[i];
    }

    // From the gradients of M, c, u [d * block + 2 d] and e [P] to those of Q, b, K and k.
    void write(const Layer<S>& a, const Size& size, const S* grad, const S* grad_constant) const {
        const S *grad_offset = grad + size.d * size.block, *grad_direction = grad_offset + size.d;
        const std::vector<S> b = bias_or_zeros(size, a.query.bias), k = bias_or_zeros(size, a.key.bias);
        std::fill(a.query.grad_weight, a.query.grad_weight + size.d * size.block, S(0));
        std::fill(a.key.grad_weight, a.key.grad_weight + size.d * size.block, S(0));
        add_product(size, grad, false, a.key.weight, a.query.grad_weight);
        add_product(size, grad, true, a.query.weight, a.key.grad_weight);
        for (int64_t i = 0; i < size.d; ++i) {
            const int64_t first = i / size.block * size.block;
            for (int64_t j = 0; j < size.block; ++j) {
                a.query.grad_weight[i * size.block + j] += grad_direction[i] * k[first + j];
                a.key.grad_weight[i * size.block + j] += grad_offset[i] * b[first + j];
            }
            a.query.grad_bias[i] = grad_constant[i / size.channels] * k[i];
            a.key.grad_bias[i] = grad_constant[i / size.channels] * b[i];
        }
        add_product(size, grad_offset, a.key.weight, a.query.grad_bias);
        add_product(size, grad_direction, a.query.weight, a.key.grad_bias);
    }
};

// y = x weight of `rows` rows, ready to be changed and run.
template <class S>
Diagonal<S> map_rows(const Layer<S>& a, const S* weight, const S* x, int64_t x_stride, S* y, int64_t y_stride,
                     int64_t rows) {
    Diagonal<S> map;
    map.layout = a.dna.layout;
    map.block = Size(a).block;
    map.weight = weight;
    map.rows = rows;
    map.x = x;
    map.x_stride = x_stride;
    map.y = y;
    map.y_stride = y_stride;
    return map;
}

// Gradients of one map, summed in chunks of rows: weight [d, block], bias [d], and the sum of scaled rows x [d].
template <class S>
class MapGrad {
  public:
    MapGrad(const Layer<S>& a, const Size& size, int64_t chunks)
        : size_(round_up(size.d * (size.block + 2) + size.padded, kAlign<S>)), chunks_(chunks), sums_(chunks * size_) {
        a_.layout = a.dna.layout;
        a_.block = size.block;
        constant_ = size.d * (size.block + 2);
    }
    void clear(int64_t chunk) const { std::fill(sum(chunk), sum(chunk + 1), S(0)); }
    // scale, x_scale: [rows, P] or null. Those of x are summed, too.
    void add(int64_t chunk, const S* x, int64_t x_stride, const S* grad_y, int64_t grad_y_stride, int64_t rows,
             const S* scale, const S* x_scale) const {
        Diagonal<S> a = a_;
        a.rows = rows;
        a.x = x;
        a.x_stride = x_stride;
        a.grad_y = grad_y;
        a.grad_y_stride = grad_y_stride;
        a.scale = scale;
        a.x_scale = x_scale;
        kernels<S>().diagonal_weight_grad(a, sum(chunk));
        const int64_t P = a.layout.padded;
        for (int64_t i = 0; i < rows * P && x_scale; ++i) sum(chunk)[constant_ + i % P] += x_scale[i];
    }
    // The sums of all chunks, once they are there.
    const S* total() const { return add_slots(sums_.get(), size_, {0, 0, chunks_}); }

  private:
    S* sum(int64_t chunk) const { return sums_.get() + chunk * size_; }

    int64_t size_, chunks_, constant_;
    Diagonal<S> a_;
    Buffer<S> sums_;
};

}  // namespace jj
