// The sparse form of a DNA layer: rows in the standard layout throughout.
#include <algorithm>
#include <vector>

#include "fold.h"
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
        : kernel_(2 * tile_scratch<S>(a.dna.steps)),  // a tile, and no more for its lists: SparseTile
          block_(kTileRows * a.dna.layout.stride), size_(kernel_ + kBlocks * block_ + kAlign<S>),
          buffer_(size_ * threads) {}
    S* kernel(int thread) const { return buffer_.get() + thread * size_; }
    S* block(int thread, int number) const { return kernel(thread) + kernel_ + number * block_; }

  private:
    static constexpr int kBlocks = 3;
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
    const Size size(a);
    const int64_t d = size.d, P = size.padded;
    const Fold<S> fold(a, size);
    const Matrix<S> last = a.asking();
    const auto ask = [&](int64_t first, int64_t rows) {
        Diagonal<S> map = map_rows(a, fold.map.data(), last.row(first), last.stride, a.folded + first * d, d, rows);
        map.bias = fold.offset.data();
        map.dot_with = fold.direction.data();
        map.dot_add = fold.constant.data();
        map.dot = a.bias + first * P;
        kernels<S>().diagonal_map(map);
    };
    const auto finish = [&](int64_t first, int64_t rows) {
        Diagonal<S> map = map_rows(a, a.value.weight, a.aggregate + first * d, d, a.out + first * d, d, rows);
        map.bias = a.value.bias;
        map.scale = a.total + first * P;
        map.relu = a.relu;
        kernels<S>().diagonal_map(map);
    };

    const History<S> history(a.history);
    Dna<S> dna = attention(a, history);
    dna.out = a.aggregate;
    dna.total = a.total;
    const Plan plan = make_plan(dna.graph.rowptr, dna.graph.rows);
    const Buffer<S> partials = partials_for(dna, plan, d + P);
    const Scratch<S> scratch(a, threads);
    std::fill(a.kept + score_size(dna), a.kept + score_size(dna) + kAlign<S>, S(0));
    for (const LongRow& row : plan.long_rows) ask(row.row, 1);
    parallel_for(static_cast<int64_t>(plan.units.size()), threads, [&](int64_t i, int thread) {
        const Unit& unit = plan.units[i];
        if (unit.partial >= 0) return kernels<S>().sparse_forward(dna, unit, scratch.kernel(thread));
        for (int64_t first = unit.row; first < unit.row_end; first += kFewRows) {
            const int64_t rows = std::min(kFewRows, unit.row_end - first);
            ask(first, rows);
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
    const Size size(a);
    const int64_t N = a.dna.graph.rows, d = size.d, P = size.padded;
    const Pieces<S> memory{N * d, N * P, score_size(a.dna)};
    S *grad_aggregate = memory[0], *grad_total = memory[1];
    const GradChunks chunks(N, kFewestRows);
    const MapGrad<S> value_grad(a, size, chunks.count), fold_grad(a, size, chunks.count);
    const Fold<S> fold(a, size);
    const std::vector<S> from_value = transposed(size, a.value.weight), unfold = transposed(size, fold.map.data());
    const Matrix<S> from = a.asking(), to = a.grad_newest ? a.grad_newest : a.grad_history.back();
    const Scratch<S> scratch(a, threads);
    // The gradient of the output's rows, zero where ReLU has cut.
    const auto grad_rows = [&](int64_t first, int64_t rows, S* cut) {
        const S* grad = a.grad_out + first * d;
        if (!a.relu) return grad;
        relu_gradient(a.result + first * d, grad, cut, rows * d);
        return static_cast<const S*>(cut);
    };
    const auto unfold_value = [&](const S* grad, int64_t first, int64_t rows) {
        Diagonal<S> map = map_rows(a, from_value.data(), grad, d, grad_aggregate + first * d, d, rows);
        map.dot_with = a.value.bias;
        map.dot = grad_total + first * P;
        kernels<S>().diagonal_map(map);
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
    // Long rows in pieces first, which need what the loop below computes for the others, and for them again.
    for (const LongRow& row : targets.long_rows) unfold_value(grad_rows(row.row, 1, scratch.block(0, 0)), row.row, 1);
    parallel_for(static_cast<int64_t>(pieces.size()), threads, [&](int64_t i, int thread) {
        kernels<S>().sparse_target(dna, pieces[i], scratch.kernel(thread));
    });
    for (const LongRow& row : targets.long_rows) add_slots(dna.partials, dna.partial_size, row);

    parallel_for(chunks.count, threads, [&](int64_t i, int thread) {
        S* cut = scratch.block(thread, 0);
        Dna<S> tile = dna;
        tile.grad_query = scratch.block(thread, 1);
        tile.grad_bias = scratch.block(thread, 2);
        value_grad.clear(i), fold_grad.clear(i);
        const int64_t end = chunks.first(i + 1);
        auto long_row = std::lower_bound(targets.long_rows.begin(), targets.long_rows.end(), chunks.first(i),
                                         [](const LongRow& row, int64_t first) { return row.row < first; });
        for (int64_t first = chunks.first(i); first < end; first += kTileRows) {
            const int64_t rows = std::min(kTileRows, end - first);
            const S* grad = grad_rows(first, rows, cut);
            value_grad.add(i, a.aggregate + first * d, d, grad, d, rows, a.total + first * P, nullptr);
            unfold_value(grad, first, rows);

            tile.grad_first = first;
            kernels<S>().sparse_target(tile, {first, first + rows, 0, 0, -1}, scratch.kernel(thread));
            for (; long_row != targets.long_rows.end() && long_row->row < first + rows; ++long_row) {
                const S* sum = dna.partials + long_row->first * dna.partial_size;
                std::copy(sum, sum + d, tile.grad_query + (long_row->row - first) * d);
                std::copy(sum + d, sum + d + P, tile.grad_bias + (long_row->row - first) * P);
            }

            fold_grad.add(i, from.row(first), from.stride, tile.grad_query, d, rows, nullptr, tile.grad_bias);
            Diagonal<S> map = map_rows(a, unfold.data(), tile.grad_query, d, to.row(first), to.stride, rows);
            map.bias = fold.direction.data();
            map.scale = tile.grad_bias;
            kernels<S>().diagonal_map(map);
        }
    });
    const S *value_total = value_grad.total(), *fold_total = fold_grad.total();
    std::copy(value_total, value_total + d * size.block, a.value.grad_weight);
    std::copy(value_total + d * size.block, value_total + d * (size.block + 1), a.value.grad_bias);
    fold.write(a, size, fold_total, fold_total + d * (size.block + 2));

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
