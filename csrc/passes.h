// Passes over rows in blocks, for a layer that is more than one kernel.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "parallel.h"
#include "projection.h"
#include "run.h"

namespace jj {

// Working memory that stays with the process, in pieces on cache lines of their own.
template <class S>
class Pieces {
  public:
    Pieces(std::initializer_list<int64_t> sizes) : starts_{0}, buffer_(sum(sizes)) {}
    S* operator[](int i) const { return buffer_.get() + starts_[i]; }

  private:
    int64_t sum(std::initializer_list<int64_t> sizes) {
        for (int64_t size : sizes) starts_.push_back(starts_.back() + round_up(size, kAlign<S>));
        return starts_.back();
    }
    std::vector<int64_t> starts_;
    KeptBuffer<S> buffer_;
};

// The gradient where ReLU has let the output through, else zero. Written so that it needs no branch: the signs come in no
// order that a processor could foresee.
template <class S>
void relu_gradient(const S* __restrict out, const S* __restrict grad, S* __restrict to, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
        const S g = grad[i];
        to[i] = out[i] <= 0 ? S(0) : g;
    }
}

// Passes over rows in blocks, and what they need: the caller's layout, memory for each thread.
template <class S>
class Passes {
  public:
    // packed: so are the caller's rows.
    Passes(const Layout& layout, int64_t groups, bool packed, int threads)
        : layout_(layout), packed_(packed), threads_(threads),
          shifted_(grouped_scratch(make_grouped<S>(layout_, groups, false, nullptr, nullptr))),
          size_(shifted_ + kBlocks * kRowBlock * layout_.stride), scratch_(size_ * threads) {}

    // Memory of a thread: for the grouped kernels, and blocks of packed rows.
    S* scratch(int thread) const { return scratch_.get() + thread * size_; }
    S* block(int thread, int number) const { return scratch(thread) + shifted_ + number * kRowBlock * layout_.stride; }
    // Numbers in a row of the caller's.
    int64_t row_size() const { return packed_ ? layout_.stride : layout_.heads * layout_.channels; }

    // Calls f(first row, thread) for each block of rows.
    template <class F>
    void each_block(int64_t rows, F f) const {
        parallel_for((rows + kRowBlock - 1) / kRowBlock, threads_, [&](int64_t i, int thread) { f(i * kRowBlock, thread); });
    }
    // Calls begin(chunk) and then, in order, f(chunk, first row, rows, thread) for each block of rows of the chunk.
    template <class Begin, class F>
    void each_chunk(const GradChunks& chunks, Begin begin, F f) const {
        parallel_for(chunks.count, threads_, [&](int64_t i, int thread) {
            begin(i);
            const int64_t last = chunks.first(i + 1);
            for (int64_t row = chunks.first(i); row < last; row += kRowBlock)
                f(i, row, std::min(kRowBlock, last - row), thread);
        });
    }

    void pack(const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows) const {
        repack(kernels<S>().pack, x, x_stride, y, y_stride, rows);
    }
    void unpack(const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows) const {
        repack(kernels<S>().unpack, x, x_stride, y, y_stride, rows);
    }

  private:
    static constexpr int64_t kBlocks = 3;

    void repack(void (*kernel)(const Rows<S>&, int64_t, int64_t), const S* x, int64_t x_stride, S* y, int64_t y_stride,
                int64_t rows) const {
        Rows<S> a;
        a.rows = rows;
        a.layout = layout_;
        a.x = x;
        a.x_stride = x_stride;
        a.y = y;
        a.y_stride = y_stride;
        kernel(a, 0, rows);
    }

    Layout layout_;
    bool packed_;
    int threads_;
    int64_t shifted_, size_;
    Buffer<S> scratch_;
};

}  // namespace jj
