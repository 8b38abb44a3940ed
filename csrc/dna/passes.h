// Passes over blocks of rows, and the maps that they apply.
#pragma once

#include <initializer_list>
#include <vector>

#include "common/run.h"
#include "dna/attention.h"
#include "dna/layer.h"
#include "grouped/projection.h"

namespace jj {

// Checks the layer, and makes the kernels' arguments of it: graph, layout, dropout, steps, scale, folded and weight.
template <class S>
Dna<S> checked_attention(const DnaLayer<S>& a);

// The map of a projection.
template <class S>
Grouped<S> map_of(const DnaLayer<S>& a, const Matrix<S>& weight, const Matrix<S>& bias) {
    return make_grouped<S>(make_layout<S>(a.heads, a.channels()), a.groups, false, weight.data, bias.data);
}

// The map by the transposed blocks; with it come the products with the bias.
template <class S>
Projection<S> transposed(const DnaLayer<S>& a, const Matrix<S>& weight, const Matrix<S>& bias) {
    const Layout layout = make_layout<S>(a.heads, a.channels());
    return Projection<S>(make_grouped<S>(layout, a.groups, true, weight.data, nullptr), bias.data);
}

// What the attention gathers along the edges. It must outlive the attention.
template <class S>
class Gathered {
  public:
    Gathered(const DnaLayer<S>& a, Dna<S>& dna) {
        const int64_t T = dna.steps, size = dna.layout.stride;
        for (int64_t t = 0; t < T; ++t) {
            key_.push_back(dna.folded ? a.history[t].data : a.keys.data + t * size);
            value_.push_back(dna.folded ? a.history[t].data : a.keys.data + (T + t) * size);
            stride_.push_back(dna.folded ? a.history[t].stride : 2 * T * size);
        }
        dna.query = dna.folded ? a.folded_queries.data : a.queries.data;
        dna.bias = a.score_bias.data;
        dna.key = key_.data();
        dna.value = value_.data();
        dna.key_stride = dna.value_stride = stride_.data();
    }
    Gathered(const Gathered&) = delete;

  private:
    std::vector<const S*> key_, value_;
    std::vector<int64_t> stride_;
};

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
    Workspace<S> buffer_;
};

// Passes over rows in blocks, and the memory that each thread needs for them.
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

    // Calls f(first row, number of rows, thread) for each block of rows.
    template <class F>
    void each_block(int64_t rows, F f) const {
        run_rows(rows, threads_, f);
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
        kernels<S>().pack(layout_, x, x_stride, y, y_stride, rows);
    }
    void unpack(const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows) const {
        kernels<S>().unpack(layout_, x, x_stride, y, y_stride, rows);
    }

    // Maps packed rows [rows, stride] to rows of the caller's, or adds to them. Takes blocks 0 and 1.
    void map(const Projection<S>& map, const S* x, const Matrix<S>& to, int64_t first, int64_t rows, bool add,
             int thread) const {
        const int64_t stride = layout_.stride, width = row_size();
        S* memory = scratch(thread);
        if (packed_) return map.apply(x, stride, to.row(first), to.stride, rows, memory, nullptr, add);
        S *mapped = block(thread, 0), *y = block(thread, 1);
        map.apply(x, stride, mapped, stride, rows, memory);
        if (!add) return unpack(mapped, stride, to.row(first), to.stride, rows);
        unpack(mapped, stride, y, width, rows);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < width; ++i) to.row(first + r)[i] += y[r * width + i];
    }

  private:
    static constexpr int64_t kBlocks = 3;

    Layout layout_;
    bool packed_;
    int threads_;
    int64_t shifted_, size_;
    Buffer<S> scratch_;
};

}  // namespace jj
