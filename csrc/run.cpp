#include "run.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "buffer.h"
#include "isa.h"
#include "parallel.h"
#include "plan.h"
#include "projection.h"

namespace jj {
namespace {

template <class S, class A>
void run_units(const Plan& plan, const A& a, void (*kernel)(const A&, const Unit&, S*), int64_t scratch_size,
               int threads) {
    const int64_t size = round_up(scratch_size, kAlign<S>) + kAlign<S>;
    const Buffer<S> scratch(size * threads);
    parallel_for(static_cast<int64_t>(plan.units.size()), threads,
                 [&](int64_t i, int thread) { kernel(a, plan.units[i], scratch.get() + thread * size); });
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
            // The first slot's own maximum was overwritten: it is kept behind the sums.
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
void run_dna_forward(Dna<S> a, int threads) {
    const Plan plan = make_plan(a.graph.rowptr, a.graph.rows, a.graph.order);
    const int64_t stride = a.layout.stride, P = a.layout.padded;
    a.partial_size = round_up(stride + P, kAlign<S>);
    const Buffer<S> partials(plan.partials * a.partial_size);
    a.partials = partials.get();
    a.ahead = edges_ahead((a.folded ? 1 : 2) * a.steps * stride * sizeof(S));
    run_units<S>(plan, a, kernels<S>().dna_forward, tile_scratch<S>(a.steps), threads);
    for (const LongRow& row : plan.long_rows) {
        const S* sum = add_slots(a.partials, a.partial_size, row);
        S* out = a.out + row.row * stride;
        for (int64_t i = 0; i < stride; ++i) out[i] = a.relu && sum[i] < 0 ? S(0) : sum[i];
        if (a.folded) std::copy(sum + stride, sum + stride + P, a.total + row.row * P);
    }
}

template <class S>
void run_dna_backward(Dna<S> a, int threads) {
    const int64_t stride = a.layout.stride, P = a.layout.padded, rows = (a.folded ? 1 : 2) * a.steps;
    const bool by_source = a.grad_score || a.grad_key || a.grad_weight;
    if (by_source) {
        const Plan plan = make_plan(a.graph.colptr, a.graph.cols);
        a.partial_size = rows * stride;
        const Buffer<S> partials(plan.partials * a.partial_size);
        a.partials = partials.get();
        a.ahead_back = edges_ahead(2 * stride * sizeof(S));
        run_units<S>(plan, a, kernels<S>().dna_backward_history, tile_scratch<S>(a.steps) + 2 * rows * stride, threads);
        for (const LongRow& row : plan.long_rows) {
            if (!a.grad_key) break;
            kernels<S>().dna_write_history(a, row.row, add_slots(a.partials, a.partial_size, row));
        }
    }
    if (a.grad_query) {
        const Plan plan = make_plan(a.graph.rowptr, a.graph.rows);
        a.partial_size = round_up(stride + P, kAlign<S>);
        const Buffer<S> partials(plan.partials * a.partial_size);
        a.partials = partials.get();
        a.ahead = edges_ahead(a.steps * stride * sizeof(S));
        run_units<S>(plan, a, kernels<S>().dna_backward_query, tile_scratch<S>(a.steps), threads);
        for (const LongRow& row : plan.long_rows) {
            const S* sum = add_slots(a.partials, a.partial_size, row);
            std::copy(sum, sum + stride, a.grad_query + row.row * stride);
            if (a.folded) std::copy(sum + stride, sum + stride + P, a.grad_bias + row.row * P);
        }
    }
}

template <class S>
void run_gat_forward(Gat<S> a, int threads) {
    const Plan plan = make_plan(a.graph.rowptr, a.graph.rows);
    const int64_t stride = a.layout.stride, P = a.layout.padded;
    a.partial_size = round_up(2 * stride + 4 * P, kAlign<S>);
    const Buffer<S> partials(plan.partials * a.partial_size);
    a.partials = partials.get();
    a.ahead = edges_ahead(stride * sizeof(S));
    run_units<S>(plan, a, kernels<S>().gat_forward, a.partial_size, threads);
    for (int64_t p = 0; p < plan.partials; ++p) {
        const S* top = a.partials + p * a.partial_size + 2 * stride;
        std::copy(top, top + P, a.partials + p * a.partial_size + 2 * stride + 3 * P);
    }
    for (const LongRow& row : plan.long_rows) kernels<S>().gat_finish(a, row.row, add_softmax_slots(a, row));
}

template <class S>
void run_gat_backward(Gat<S> a, int threads) {
    const int64_t stride = a.layout.stride, P = a.layout.padded, N = a.graph.rows;
    const Buffer<S> work(N * 4 * P);
    a.work = work.get();
    parallel_for((N + kRowBlock - 1) / kRowBlock, threads, [&](int64_t i, int) {
        kernels<S>().gat_prepare(a, i * kRowBlock, std::min((i + 1) * kRowBlock, N));
    });
    const Plan plan = make_plan(a.graph.colptr, a.graph.cols);
    a.partial_size = round_up(stride + P, kAlign<S>);
    const Buffer<S> partials(plan.partials * a.partial_size);
    a.partials = partials.get();
    a.ahead = edges_ahead(stride * sizeof(S));
    run_units<S>(plan, a, kernels<S>().gat_backward, 0, threads);
    for (const LongRow& row : plan.long_rows) {
        const S* sum = add_slots(a.partials, a.partial_size, row);
        std::copy(sum, sum + stride, a.grad_value + row.row * stride);
        std::copy(sum + stride, sum + stride + P, a.grad_source + row.row * P);
    }
}

template <class S>
void run_spmm(Spmm<S> a, int threads) {
    Plan plan = make_plan(a.rowptr, a.rows);
    // Pieces of long rows that gather from the same place go together.
    std::stable_sort(plan.units.begin(), plan.units.end(), [&a](const Unit& one, const Unit& other) {
        return one.partial >= 0 && (other.partial < 0 || a.col[one.edge] < a.col[other.edge]);
    });
    const Buffer<S> partials(plan.partials * a.width);
    a.partials = partials.get();
    parallel_for(static_cast<int64_t>(plan.units.size()), threads,
                 [&](int64_t i, int) { kernels<S>().spmm(a, plan.units[i]); });
    for (const LongRow& row : plan.long_rows) {
        const S* sum = add_slots(a.partials, a.width, row);
        S* out = a.out + row.row * a.out_stride;
        for (int64_t i = 0; i < a.width; ++i) {
            const S x = (a.accumulate ? out[i] : S(0)) + sum[i] + (a.bias ? a.bias[i] : S(0));
            out[i] = a.relu && x < 0 ? S(0) : x;
        }
    }
}

template <class S>
void run_sddmm(const Spmm<S>& a, int threads) {
    const Plan plan = make_plan(a.rowptr, a.rows);
    parallel_for(static_cast<int64_t>(plan.units.size()), threads,
                 [&](int64_t i, int) { kernels<S>().sddmm(a, plan.units[i]); });
}

template <class S>
void run_grouped_forward(const Grouped<S>& a, const S* dot_with, int threads) {
    const Projection<S> projection(a, dot_with);
    const int64_t size = grouped_scratch(a);
    const Buffer<S> scratch(size * threads);
    parallel_for((a.rows + kRowBlock - 1) / kRowBlock, threads, [&](int64_t i, int thread) {
        const int64_t first = i * kRowBlock, rows = std::min(kRowBlock, a.rows - first), P = a.layout.padded;
        const S* x = a.x + first * a.x_stride;
        S *y = a.y + first * a.y_stride, *own = scratch.get() + thread * size;
        if (a.dot)
            projection.apply_dot(x, a.x_stride, y, a.y_stride, a.dot + first * P, rows, own);
        else
            projection.apply(x, a.x_stride, y, a.y_stride, rows, own, a.scale ? a.scale + first * P : nullptr,
                             a.accumulate);
    });
}

template <class S>
void run_grouped_weight_grad(const Grouped<S>& a, S* grad_weight, S* grad_bias, int threads) {
    const GradChunks chunks(a.rows);
    const WeightGrad<S> grad(a, chunks.count);
    const int64_t size = grouped_scratch(a);
    const Buffer<S> scratch(size * threads);
    parallel_for(chunks.count, threads, [&](int64_t i, int thread) {
        const int64_t first = chunks.first(i), rows = chunks.first(i + 1) - first;
        grad.clear(i);
        grad.add(i, a.x + first * a.x_stride, a.x_stride, a.grad_y + first * a.layout.stride, rows,
                 scratch.get() + thread * size, a.scale ? a.scale + first * a.layout.padded : nullptr);
    });
    grad.collect();
    grad.write(grad_weight, grad_bias);
}

template <class S>
void run_rows(const Rows<S>& a, void (*kernel)(const Rows<S>&, int64_t, int64_t), int threads) {
    parallel_for((a.rows + kRowBlock - 1) / kRowBlock, threads, [&](int64_t i, int) {
        kernel(a, i * kRowBlock, std::min((i + 1) * kRowBlock, a.rows));
    });
}

#define JJ_INSTANTIATE(S)                                                    \
    template void run_dna_forward<S>(Dna<S>, int);                           \
    template void run_dna_backward<S>(Dna<S>, int);                          \
    template void run_gat_forward<S>(Gat<S>, int);                           \
    template void run_gat_backward<S>(Gat<S>, int);                          \
    template void run_spmm<S>(Spmm<S>, int);                                 \
    template void run_sddmm<S>(const Spmm<S>&, int);                         \
    template void run_grouped_forward<S>(const Grouped<S>&, const S*, int);  \
    template void run_grouped_weight_grad<S>(const Grouped<S>&, S*, S*, int); \
    template void run_rows<S>(const Rows<S>&, void (*)(const Rows<S>&, int64_t, int64_t), int);
JJ_INSTANTIATE(float)
JJ_INSTANTIATE(double)

}  // namespace jj
