// The sparse form of a DNA layer: rows in the standard layout throughout.
#include <algorithm>

#include "layer.h"
#include "parallel.h"
#include "passes.h"
#include "run.h"

namespace jj {
namespace {

// Rows of a chunk at least: small graphs too have enough of them for the threads.
constexpr int64_t kFewestRows = 128;
// Rows at work at a time: their maps are not so many that stores wait for memory, or weights for their gradients.
constexpr int64_t kFewRows = 4, kTileRows = 16;
// Edges ahead of the one at work by source whose target's rows, and whose weights, are prefetched.
constexpr int64_t kRowsAhead = 3, kWeightsAhead = 8;

// A projection, or with `transpose` the way back: its transposed blocks, without the bias.
template <class S>
class Map {
  public:
    Map(const Layer<S>& a, const Weights<S>& weights, bool transpose = false) : weight_(0) {
        a_.layout = a.dna.layout;
        const int64_t d = a_.layout.heads * a_.layout.channels, block = d / a.groups;
        a_.block = block;
        a_.weight = weights.weight;
        a_.bias = weights.bias;
        if (!transpose) return;
        weight_ = Buffer<S>(d * block);
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < block; ++j)
                weight_.get()[(i / block * block + j) * block + i % block] = weights.weight[i * block + j];
        a_.weight = weight_.get();
        a_.bias = nullptr;
        a_.dot_with = weights.bias;
    }

    // The map of `rows` rows, ready to be changed and run.
    Diagonal<S> of(const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows) const {
        Diagonal<S> a = a_;
        a.rows = rows;
        a.x = x;
        a.x_stride = x_stride;
        a.y = y;
        a.y_stride = y_stride;
        return a;
    }

  private:
    Diagonal<S> a_;
    Buffer<S> weight_;
};

// Gradients of one projection, summed in chunks of rows.
template <class S>
class MapGrad {
  public:
    MapGrad(const Layer<S>& a, int64_t chunks) : chunks_(chunks), sums_(0) {
        a_.layout = a.dna.layout;
        const int64_t d = a_.layout.heads * a_.layout.channels;
        a_.block = d / a.groups;
        weight_size_ = d * a_.block;
        bias_size_ = d;
        size_ = round_up(weight_size_ + d, kAlign<S>);
        sums_ = Buffer<S>(chunks * size_);
    }
    void clear(int64_t chunk) const { std::fill(sum(chunk), sum(chunk + 1), S(0)); }
    void add(int64_t chunk, const S* x, int64_t x_stride, const S* grad_y, int64_t grad_y_stride, int64_t rows,
             const S* scale = nullptr) const {
        Diagonal<S> a = a_;
        a.rows = rows;
        a.x = x;
        a.x_stride = x_stride;
        a.grad_y = grad_y;
        a.grad_y_stride = grad_y_stride;
        a.scale = scale;
        kernels<S>().diagonal_weight_grad(a, sum(chunk));
    }
    // All chunks are there.
    void write(const Weights<S>& weights) const {
        const S* total = add_slots(sums_.get(), size_, {0, 0, chunks_});
        std::copy(total, total + weight_size_, weights.grad_weight);
        std::copy(total + weight_size_, total + weight_size_ + bias_size_, weights.grad_bias);
    }

  private:
    S* sum(int64_t chunk) const { return sums_.get() + chunk * size_; }

    Diagonal<S> a_;
    int64_t chunks_, weight_size_, bias_size_, size_;
    Buffer<S> sums_;
};

template <class S>
Matrix<S> newest(const Layer<S>& a) {
    return a.newest ? a.newest : a.history.back();
}

template <class S>
struct History {
    std::vector<S*> rows;
    std::vector<int64_t> strides;
    explicit History(const std::vector<Matrix<S>>& list) {
        for (const Matrix<S>& x : list) rows.push_back(x.data), strides.push_back(x.stride);
    }
};

// What both directions share. `history` must outlive it.
template <class S>
Dna<S> attention(const Layer<S>& a, const History<S>& history) {
    Dna<S> dna = a.dna;
    const int64_t d = dna.layout.heads * dna.layout.channels;
    dna.query = a.folded;
    dna.bias = a.bias;
    dna.key = history.rows.data();
    dna.key_stride = history.strides.data();
    dna.kept = a.kept;
    dna.ahead = edges_ahead(dna.steps * d * sizeof(S));
    return dna;
}

// Memory of each thread: for the kernels, then blocks of rows.
template <class S>
class Scratch {
  public:
    Scratch(const Layer<S>& a, int threads)
        : kernel_(tile_scratch<S>(a.dna.steps) + (3 + 3 * a.dna.steps) * 8 * kAlign<S>),
          block_(kTileRows * a.dna.layout.stride), size_(kernel_ + kBlocks * block_ + kAlign<S>),
          buffer_(size_ * threads) {}
    S* kernel(int thread) const { return buffer_.get() + thread * size_; }
    S* block(int thread, int number) const { return kernel(thread) + kernel_ + number * block_; }

  private:
    static constexpr int kBlocks = 5;
    int64_t kernel_, block_, size_;
    Buffer<S> buffer_;
};

// Room for the sums of pieces of long rows.
template <class S>
Buffer<S> partials_for(Dna<S>& dna, const Plan& plan, int64_t size) {
    dna.partial_size = round_up(size, kAlign<S>);
    Buffer<S> partials(plan.partials * dna.partial_size);
    dna.partials = partials.get();
    return partials;
}

}  // namespace

// Each row goes from the newest representation to the output before the next few are begun.
template <class S>
void run_sparse_layer_forward(const Layer<S>& a, int threads) {
    const Layout& layout = a.dna.layout;
    const int64_t d = layout.heads * layout.channels, P = layout.padded;
    const Map<S> to_query(a, a.query), to_key(a, a.key, true), to_value(a, a.value);
    const Matrix<S> last = newest(a);
    const auto ask = [&](int64_t first, int64_t rows, S* query) {
        kernels<S>().diagonal_map(to_query.of(last.row(first), last.stride, query, d, rows));
        Diagonal<S> fold = to_key.of(query, d, a.folded + first * d, d, rows);
        fold.dot = a.bias + first * P;
        kernels<S>().diagonal_map(fold);
    };
    const auto finish = [&](int64_t first, int64_t rows) {
        Diagonal<S> value = to_value.of(a.aggregate + first * d, d, a.out + first * d, d, rows);
        value.scale = a.total + first * P;
        value.relu = a.relu;
        kernels<S>().diagonal_map(value);
    };

    const History<S> history(a.history);
    Dna<S> dna = attention(a, history);
    dna.out = a.aggregate;
    dna.total = a.total;
    const Plan plan = make_plan(dna.graph.rowptr, dna.graph.rows);
    const Buffer<S> partials = partials_for(dna, plan, d + P);
    const Scratch<S> scratch(a, threads);
    std::fill(a.kept + score_size(dna), a.kept + score_size(dna) + kAlign<S>, S(0));
    for (const LongRow& row : plan.long_rows) ask(row.row, 1, scratch.block(0, 0));
    parallel_for(static_cast<int64_t>(plan.units.size()), threads, [&](int64_t i, int thread) {
        const Unit& unit = plan.units[i];
        if (unit.partial >= 0) return kernels<S>().sparse_forward(dna, unit, scratch.kernel(thread));
        for (int64_t first = unit.row; first < unit.row_end; first += kFewRows) {
            const int64_t rows = std::min(kFewRows, unit.row_end - first);
            ask(first, rows, scratch.block(thread, 0));
            kernels<S>().sparse_forward(dna, {first, first + rows, 0, 0, -1}, scratch.kernel(thread));
            finish(first, rows);
        }
    });
    for (const LongRow& row : plan.long_rows) {
        const S* sum = add_slots(dna.partials, dna.partial_size, row);
        std::copy(sum, sum + d, a.aggregate + row.row * d);
        std::copy(sum + d, sum + d + P, a.total + row.row * P);
        finish(row.row, 1);
    }
}

template <class S>
void run_sparse_layer_backward(const Layer<S>& a, int threads) {
    const Layout& layout = a.dna.layout;
    const int64_t N = a.dna.graph.rows, d = layout.heads * layout.channels, P = layout.padded;
    const Pieces<S> memory{N * d, N * P, score_size(a.dna)};
    S *grad_aggregate = memory[0], *grad_total = memory[1];
    const GradChunks chunks(N, kFewestRows);
    const MapGrad<S> key_grad(a, chunks.count), value_grad(a, chunks.count), query_grad(a, chunks.count);
    const Map<S> from_value(a, a.value, true), to_key(a, a.key), to_query(a, a.query), from_query(a, a.query, true);
    const Matrix<S> from = newest(a), to = a.grad_newest ? a.grad_newest : a.grad_history.back();
    const Scratch<S> scratch(a, threads);
    // The gradient of the output's rows, zero where ReLU has cut.
    const auto grad_rows = [&](int64_t first, int64_t rows, S* cut) {
        const S* grad = a.grad_out + first * d;
        if (!a.relu) return grad;
        relu_gradient(a.result + first * d, grad, cut, rows * d);
        return static_cast<const S*>(cut);
    };
    const auto unfold_value = [&](const S* grad, int64_t first, int64_t rows) {
        Diagonal<S> unfold = from_value.of(grad, d, grad_aggregate + first * d, d, rows);
        unfold.dot = grad_total + first * P;
        kernels<S>().diagonal_map(unfold);
    };

    const History<S> history(a.history), grad_history(a.grad_history);
    Dna<S> dna = attention(a, history);
    dna.grad_out = grad_aggregate;
    dna.grad_total = grad_total;
    dna.grad_score = memory[2];
    dna.grad_key = grad_history.rows.data();
    dna.grad_key_stride = grad_history.strides.data();
    const Plan targets = make_plan(dna.graph.rowptr, N);
    const Buffer<S> target_partials = partials_for(dna, targets, d + P);
    std::vector<Unit> pieces;
    for (const Unit& unit : targets.units)
        if (unit.partial >= 0) pieces.push_back(unit);
    for (const LongRow& row : targets.long_rows) unfold_value(grad_rows(row.row, 1, scratch.block(0, 0)), row.row, 1);
    parallel_for(static_cast<int64_t>(pieces.size()), threads, [&](int64_t i, int thread) {
        kernels<S>().sparse_target(dna, pieces[i], scratch.kernel(thread));
    });
    for (const LongRow& row : targets.long_rows) add_slots(dna.partials, dna.partial_size, row);

    parallel_for(chunks.count, threads, [&](int64_t i, int thread) {
        S *cut = scratch.block(thread, 0), *query = scratch.block(thread, 1), *grad_query = scratch.block(thread, 2);
        Dna<S> tile = dna;
        tile.grad_query = scratch.block(thread, 3);
        tile.grad_bias = scratch.block(thread, 4);
        key_grad.clear(i), value_grad.clear(i), query_grad.clear(i);
        const int64_t end = chunks.first(i + 1);
        for (int64_t first = chunks.first(i); first < end; first += kTileRows) {
            const int64_t rows = std::min(kTileRows, end - first);
            const S* grad = grad_rows(first, rows, cut);
            value_grad.add(i, a.aggregate + first * d, d, grad, d, rows, a.total + first * P);
            unfold_value(grad, first, rows);

            tile.grad_first = first;
            kernels<S>().sparse_target(tile, {first, first + rows, 0, 0, -1}, scratch.kernel(thread));
            for (const LongRow& row : targets.long_rows) {
                if (row.row < first || row.row >= first + rows) continue;
                const S* sum = dna.partials + row.first * dna.partial_size;
                std::copy(sum, sum + d, tile.grad_query + (row.row - first) * d);
                std::copy(sum + d, sum + d + P, tile.grad_bias + (row.row - first) * P);
            }

            kernels<S>().diagonal_map(to_query.of(from.row(first), from.stride, query, d, rows));
            key_grad.add(i, tile.grad_query, d, query, d, rows, tile.grad_bias);
            Diagonal<S> unfold = to_key.of(tile.grad_query, d, grad_query, d, rows);
            unfold.scale = tile.grad_bias;
            kernels<S>().diagonal_map(unfold);
            query_grad.add(i, from.row(first), from.stride, grad_query, d, rows);
            kernels<S>().diagonal_map(from_query.of(grad_query, d, to.row(first), to.stride, rows));
        }
    });
    key_grad.write(a.key);
    value_grad.write(a.value);
    query_grad.write(a.query);

    const Plan sources = make_plan(dna.graph.colptr, dna.graph.cols);
    const Buffer<S> source_partials = partials_for(dna, sources, dna.steps * d);
    dna.accumulate = !a.grad_newest;
    dna.ahead = kRowsAhead;
    dna.ahead_back = kWeightsAhead;
    parallel_for(static_cast<int64_t>(sources.units.size()), threads, [&](int64_t i, int thread) {
        kernels<S>().sparse_source(dna, sources.units[i], scratch.kernel(thread));
    });
    for (const LongRow& row : sources.long_rows) {
        const S* sum = add_slots(dna.partials, dna.partial_size, row);
        for (int64_t t = 0; t < dna.steps; ++t) {
            S* x = a.grad_history[t].row(row.row);
            const bool add = dna.accumulate && t == dna.steps - 1;
            for (int64_t j = 0; j < d; ++j) x[j] = add ? x[j] + sum[t * d + j] : sum[t * d + j];
        }
    }
}

template void run_sparse_layer_forward<float>(const Layer<float>&, int);
template void run_sparse_layer_forward<double>(const Layer<double>&, int);
template void run_sparse_layer_backward<float>(const Layer<float>&, int);
template void run_sparse_layer_backward<double>(const Layer<double>&, int);

}  // namespace jj
