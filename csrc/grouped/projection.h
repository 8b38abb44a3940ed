// A block-diagonal linear map of packed rows, its weight packed for the kernels once.
#pragma once

#include <algorithm>

#include "common/buffer.h"
#include "common/isa.h"
#include "common/matrix.h"
#include "common/schedule.h"

namespace jj {

template <class S>
Grouped<S> make_grouped(const Layout& layout, int64_t groups, bool transpose, const S* weight, const S* bias) {
    Grouped<S> a;
    const int64_t channels = layout.channels;
    a.layout = layout;
    a.groups = groups;
    a.block = layout.heads * channels / groups;
    a.transpose = transpose;
    const int64_t spanned = a.block / channels;
    if (groups == 1 || (a.block <= channels && channels % a.block == 0))
        a.shifts = 1;
    else if (a.block % channels == 0 && (spanned & (spanned - 1)) == 0)
        a.shifts = spanned;
    else
        a.shifts = layout.padded;
    a.weight = weight;
    a.bias = bias;
    return a;
}

// The blocks of a map of d channels, one below the other.
template <class S>
void expect_blocks(const Matrix<S>& weight, const char* name, int64_t groups, int64_t d) {
    require(groups >= 1 && d % groups == 0, "groups does not divide the number of channels");
    expect_dense(weight, name, d, d / groups);
}

// Scalars a thread needs for the rows at work.
template <class S>
int64_t grouped_scratch(const Grouped<S>& a) {
    return a.shifts > 1 ? 16 * std::min(a.shifts, kAlign<S>) * a.layout.stride : 0;
}

template <class S>
class Projection {
  public:
    // dot_with: [d] or null, packed for grouped_forward's `dot`. A map that is not wanted must not be applied.
    explicit Projection(const Grouped<S>& a, const S* dot_with = nullptr, bool wanted = true)
        : a_(a), packed_(wanted ? kernels<S>().grouped_workspace(a) : 0), dot_row_(dot_with ? a.layout.stride : 0) {
        if (!wanted) return;
        a_.packed = packed_.get();
        kernels<S>().grouped_pack(a_);
        if (!dot_with) return;
        const int64_t H = a.layout.heads, C = a.layout.channels, P = a.layout.padded;
        std::fill(dot_row_.get(), dot_row_.get() + a.layout.stride, S(0));
        for (int64_t h = 0; h < H; ++h)
            for (int64_t c = 0; c < C; ++c) dot_row_.get()[c * P + h] = dot_with[h * C + c];
        a_.dot_row = dot_row_.get();
    }

    // y = the map of `rows` rows x, with the bias times `scale` [rows, P] where it is given.
    void apply(const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows, S* scratch, const S* scale = nullptr,
               bool accumulate = false) const {
        run(x, x_stride, y, y_stride, rows, scratch, scale, nullptr, accumulate);
    }

    // The same, and x . dot_with head by head: zero without one.
    void apply_dot(const S* x, int64_t x_stride, S* y, int64_t y_stride, S* dot, int64_t rows, S* scratch) const {
        if (!a_.dot_row) std::fill(dot, dot + rows * a_.layout.padded, S(0));
        run(x, x_stride, y, y_stride, rows, scratch, nullptr, a_.dot_row ? dot : nullptr, false);
    }

  private:
    void run(const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows, S* scratch, const S* scale, S* dot,
             bool accumulate) const {
        Grouped<S> a = a_;
        a.rows = rows;
        a.x = x;
        a.x_stride = x_stride;
        a.y = y;
        a.y_stride = y_stride;
        a.scale = scale;
        a.dot = dot;
        a.accumulate = accumulate;
        kernels<S>().grouped_forward(a, 0, rows, scratch);
    }

    Grouped<S> a_;
    Buffer<S> packed_, dot_row_;
};

// Which rows share a partial sum of weight gradients: it depends on their number alone. The sums are added in order.
struct GradChunks {
    int64_t rows, size, count;
    explicit GradChunks(int64_t rows_)
        : rows(rows_), size(std::max(kFewest, round_up((rows + kMost - 1) / kMost, 16))),
          count(std::max<int64_t>(1, (rows + size - 1) / size)) {}
    int64_t first(int64_t i) const { return std::min(i * size, rows); }

  private:
    static constexpr int64_t kFewest = 256;  // rows of a chunk
    static constexpr int64_t kMost = 32;     // chunks
};

// Gradients of the weight and the bias of one map that is applied to one or several inputs.
template <class S>
class WeightGrad {
  public:
    WeightGrad(const Grouped<S>& a, int64_t chunks)
        : a_(a), size_(round_up(kernels<S>().grouped_workspace(a), kAlign<S>)), chunks_(chunks),
          sums_((chunks + 1) * size_), total_(sums_.get() + chunks * size_) {
        std::fill(total_, total_ + size_, S(0));
    }

    // Begins a chunk of rows of the next input.
    void clear(int64_t chunk) const { std::fill(sum(chunk), sum(chunk + 1), S(0)); }
    // Adds `rows` rows of the input and of the output's gradient [rows, stride] to a chunk.
    void add(int64_t chunk, const S* x, int64_t x_stride, const S* grad_y, int64_t rows, S* scratch,
             const S* scale = nullptr) const {
        Grouped<S> a = a_;
        a.rows = rows;
        a.x = x;
        a.x_stride = x_stride;
        a.grad_y = grad_y;
        a.scale = scale;
        kernels<S>().grouped_weight_grad(a, 0, rows, scratch, sum(chunk));
    }
    // Ends an input: all its chunks are there.
    void collect() const {
        const S* input = add_slots(sums_.get(), size_, {0, 0, chunks_});
        for (int64_t i = 0; i < size_; ++i) total_[i] += input[i];
    }
    void write(S* grad_weight, S* grad_bias) const { kernels<S>().grouped_unpack(a_, total_, grad_weight, grad_bias); }

  private:
    S* sum(int64_t chunk) const { return sums_.get() + chunk * size_; }

    Grouped<S> a_;
    int64_t size_, chunks_;
    Buffer<S> sums_;
    S* total_;
};

}  // namespace jj
