#include "gat/gat.h"

#include <cmath>
#include <vector>

#include "common/run.h"

namespace jj {
namespace {

// Checks what both directions share, and makes the kernels' arguments of it.
template <class S>
Gat<S> attention(const GatLayer<S>& a, bool by_source, bool scores = true) {
    check(a.graph, by_source);
    expect_threads(a.threads);
    Gat<S> k;
    k.graph = a.graph;
    k.layout = make_layout<S>(a.heads, a.channels);
    const int64_t N = a.graph.rows, M = a.graph.cols, stride = k.layout.stride, P = k.layout.padded;
    if (scores) {
        expect_dense(a.value, "value", M, stride);
        expect_dense(a.out, "out", N, stride);
        expect_dense(a.sloped, "sloped", N, stride);
    }
    expect_dense(a.score_source, "score_source", M, P);
    expect_dense(a.score_target, "score_target", N, P);
    expect_dense(a.state, "state", N, 4 * P);
    k.dropout = make_dropout<S>(a.dropout, a.seed, a.first);
    k.slope = static_cast<S>(a.slope);
    k.value = a.value.data;
    k.score_source = a.score_source.data;
    k.score_target = a.score_target.data;
    k.out = a.out.data;
    k.sloped = a.sloped.data;
    k.state = a.state.data;
    k.ahead = edges_ahead(stride * sizeof(S));
    return k;
}

// Pieces of a softmax over a long row have maxima of their own: rescale each to the largest, then add.
template <class S>
S* add_softmax_slots(const Gat<S>& a, const LongRow& row) {
    const int64_t stride = a.layout.stride, P = a.layout.padded, size = a.partial_size;
    S *sum = a.partials + row.first * size, *top = sum + 2 * stride;
    for (int64_t p = row.first + 1; p < row.last; ++p)
        for (int64_t h = 0; h < P; ++h) top[h] = std::max(top[h], a.partials[p * size + 2 * stride + h]);
    std::vector<S> total(size, S(0));
    for (int64_t p = row.first; p < row.last; ++p) {
        const S* part = a.partials + p * size;
        for (int64_t h = 0; h < P; ++h) {
            // The first slot's own maximum was overwritten: a copy stands behind the sums.
            const S own = part[2 * stride + 3 * P + h], factor = std::exp(own - top[h]);
            for (int64_t i = h; i < 2 * stride; i += P) total[i] += part[i] * factor;
            total[2 * stride + P + h] += part[2 * stride + P + h] * factor;
            total[2 * stride + 2 * P + h] += part[2 * stride + 2 * P + h] * factor;
        }
    }
    std::copy(top, top + P, total.begin() + 2 * stride);
    std::copy(total.begin(), total.end(), sum);
    return sum;
}

}  // namespace

template <class S>
void run(const GatForward<S>& a) {
    Gat<S> k = attention(a, false);
    const Schedule schedule = make_schedule(k.graph.rowptr, k.graph.rows);
    const int64_t stride = k.layout.stride, P = k.layout.padded;
    k.partial_size = round_up(2 * stride + 4 * P, kAlign<S>);
    const Buffer<S> partials(schedule.partials * k.partial_size);
    k.partials = partials.get();
    run_units<S>(schedule, k, kernels<S>().gat_forward, k.partial_size, a.threads);
    for (int64_t p = 0; p < schedule.partials; ++p) {
        const S* top = k.partials + p * k.partial_size + 2 * stride;
        std::copy(top, top + P, k.partials + p * k.partial_size + 2 * stride + 3 * P);
    }
    for (const LongRow& row : schedule.long_rows) kernels<S>().gat_finish(k, row.row, add_softmax_slots(k, row));
}

template <class S>
void run(const GatBackward<S>& a) {
    const bool scores = a.grad_source || a.grad_target;
    Gat<S> k = attention(a, true, scores);
    const int64_t stride = k.layout.stride, P = k.layout.padded, N = k.graph.rows, M = k.graph.cols;
    expect_dense(a.grad_out, "grad_out", N, stride);
    expect_dense(a.grad_value, "grad_value", M, stride);
    if (scores) {
        expect_dense(a.grad_source, "grad_source", M, P);
        expect_dense(a.grad_target, "grad_target", N, P);
    }
    k.grad_out = a.grad_out.data;
    k.grad_value = a.grad_value.data;
    k.grad_source = a.grad_source.data;
    k.grad_target = a.grad_target.data;
    const Buffer<S> work(scores ? N * 4 * P : 0);
    k.work = scores ? work.get() : k.state;
    if (scores)
        run_rows(N, a.threads,
                 [&](int64_t first, int64_t rows, int) { kernels<S>().gat_prepare(k, first, first + rows); });
    const Schedule schedule = make_schedule(k.graph.colptr, M);
    k.partial_size = round_up(stride + P, kAlign<S>);
    const Buffer<S> partials(schedule.partials * k.partial_size);
    k.partials = partials.get();
    run_units<S>(schedule, k, kernels<S>().gat_backward, 0, a.threads);
    for (const LongRow& row : schedule.long_rows) {
        const S* sum = add_slots(k.partials, k.partial_size, row);
        std::copy(sum, sum + stride, a.grad_value.row(row.row));
        if (scores) std::copy(sum + stride, sum + stride + P, a.grad_source.row(row.row));
    }
}

template void run<float>(const GatForward<float>&);
template void run<double>(const GatForward<double>&);
template void run<float>(const GatBackward<float>&);
template void run<double>(const GatBackward<double>&);

}  // namespace jj
