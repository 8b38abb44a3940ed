#include "dna/attention.h"

#include <algorithm>

#include "common/run.h"

namespace jj {
namespace {

// Scalars a thread needs for a tile of edges, for any instruction set: kTileScratch of dna/kernel_tile.h.
template <class S>
int64_t tile_scratch(int64_t steps) {
    return (3 + 4 * steps) * 8 * (64 / static_cast<int64_t>(sizeof(S)));
}

// By source: the gradients of the history, of its factors and of the edge weights, and those of the scores for the pass
// by target.
template <class S>
void backward_history(Dna<S>& a, int threads) {
    const int64_t stride = a.layout.stride, rows = (a.folded ? 1 : 2) * a.steps;
    const int64_t factors = a.key_factor ? a.steps * a.layout.padded : 0;
    const Schedule schedule = make_schedule(a.graph.colptr, a.graph.cols);
    a.partial_size = rows * stride + round_up(factors, kAlign<S>);
    const Buffer<S> partials(schedule.partials * a.partial_size);
    a.partials = partials.get();
    a.ahead_back = edges_ahead(2 * stride * sizeof(S));
    const int64_t scratch = tile_scratch<S>(a.steps) + 2 * rows * stride + factors;
    run_units<S>(schedule, a, kernels<S>().dna_backward_history, scratch, threads);
    for (const LongRow& row : schedule.long_rows)
        kernels<S>().dna_write_history(a, row.row, add_slots(a.partials, a.partial_size, row));
}

// By target: the gradient of the queries, folded that of the scores' bias, and that of the biases of the steps.
template <class S>
void backward_query(Dna<S>& a, int threads) {
    const int64_t stride = a.layout.stride, P = a.layout.padded, steps = a.grad_step_bias ? a.steps * P : 0;
    const Schedule schedule = make_schedule(a.graph.rowptr, a.graph.rows);
    a.partial_size = round_up(stride + P + steps, kAlign<S>);
    const Buffer<S> partials(schedule.partials * a.partial_size);
    a.partials = partials.get();
    a.ahead = edges_ahead(a.steps * stride * sizeof(S));
    run_units<S>(schedule, a, kernels<S>().dna_backward_query, tile_scratch<S>(a.steps), threads);
    for (const LongRow& row : schedule.long_rows) {
        const S* sum = add_slots(a.partials, a.partial_size, row);
        std::copy(sum, sum + stride, a.grad_query + row.row * stride);
        if (a.folded) std::copy(sum + stride, sum + stride + P, a.grad_bias + row.row * P);
        std::copy(sum + stride + P, sum + stride + P + steps, a.grad_step_bias + row.row * steps);
    }
}

}  // namespace

template <class S>
void attend_forward(Dna<S> a, int threads) {
    const Schedule schedule = make_schedule(a.graph.rowptr, a.graph.rows, a.graph.order);
    const int64_t stride = a.layout.stride, P = a.layout.padded;
    a.partial_size = round_up(stride + P, kAlign<S>);
    const Buffer<S> partials(schedule.partials * a.partial_size);
    a.partials = partials.get();
    a.ahead = edges_ahead((a.folded ? 1 : 2) * a.steps * stride * sizeof(S));
    run_units<S>(schedule, a, kernels<S>().dna_forward, tile_scratch<S>(a.steps), threads);
    for (const LongRow& row : schedule.long_rows) {
        const S* sum = add_slots(a.partials, a.partial_size, row);
        S* out = a.out + row.row * stride;
        for (int64_t i = 0; i < stride; ++i) out[i] = a.relu && sum[i] < 0 ? S(0) : sum[i];
        if (a.folded) std::copy(sum + stride, sum + stride + P, a.total + row.row * P);
    }
}

template <class S>
void attend_backward(Dna<S> a, int threads) {
    backward_history(a, threads);
    backward_query(a, threads);
}

template void attend_forward<float>(Dna<float>, int);
template void attend_forward<double>(Dna<double>, int);
template void attend_backward<float>(Dna<float>, int);
template void attend_backward<double>(Dna<double>, int);

}  // namespace jj
