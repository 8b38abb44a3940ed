#include "grouped/grouped.h"

#include "common/run.h"
#include "grouped/projection.h"

namespace jj {

template <class S>
void run(const GroupedForward<S>& a) {
    expect_threads(a.threads);
    const Layout layout = make_layout<S>(a.heads, a.channels);
    const int64_t rows = a.x.rows, d = a.heads * a.channels;
    expect_blocks(a.weight, "weight", a.groups, d);
    if (a.bias) expect(a.bias, "bias", 1, d);
    expect(a.x, "x", rows, layout.stride);
    expect(a.y, "y", rows, layout.stride);
    const Grouped<S> map = make_grouped<S>(layout, a.groups, a.transpose, a.weight.data, a.bias.data);
    const Projection<S> projection(map);
    const int64_t size = grouped_scratch(map);
    const Buffer<S> scratch(size * a.threads);
    run_rows(rows, a.threads, [&](int64_t first, int64_t count, int thread) {
        projection.apply(a.x.row(first), a.x.stride, a.y.row(first), a.y.stride, count, scratch.get() + thread * size);
    });
}

template <class S>
void run(const GroupedWeightGrad<S>& a) {
    expect_threads(a.threads);
    const Layout layout = make_layout<S>(a.heads, a.channels);
    const int64_t rows = a.x.rows, d = a.heads * a.channels;
    expect_blocks(a.grad_weight, "grad_weight", a.groups, d);
    expect(a.grad_bias, "grad_bias", 1, d);
    expect(a.x, "x", rows, layout.stride);
    expect_dense(a.grad_y, "grad_y", rows, layout.stride);
    const Grouped<S> map = make_grouped<S>(layout, a.groups, false, nullptr, nullptr);
    const GradChunks chunks(rows);
    const WeightGrad<S> grad(map, chunks.count);
    const int64_t size = grouped_scratch(map);
    const Buffer<S> scratch(size * a.threads);
    parallel_for(chunks.count, a.threads, [&](int64_t i, int thread) {
        const int64_t first = chunks.first(i), count = chunks.first(i + 1) - first;
        grad.clear(i);
        grad.add(i, a.x.row(first), a.x.stride, a.grad_y.row(first), count, scratch.get() + thread * size);
    });
    grad.collect();
    grad.write(a.grad_weight.data, a.grad_bias.data);
}

template void run<float>(const GroupedForward<float>&);
template void run<double>(const GroupedForward<double>&);
template void run<float>(const GroupedWeightGrad<float>&);
template void run<double>(const GroupedWeightGrad<double>&);

}  // namespace jj
