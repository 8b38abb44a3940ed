#include "spmm/spmm.h"

#include <algorithm>

#include "common/run.h"

namespace jj {
namespace {

template <class S>
Spmm<S> product(const Index& rowptr, const Index& col, const Matrix<S>& x) {
    Spmm<S> k;
    k.rows = rowptr.size - 1;
    k.edges = col.size;
    k.width = x.width;
    expect(col, "col", col.size, col.wide);
    expect_pointer(rowptr, "rowptr", k.rows, k.edges, col.wide);
    expect(x, "x", x.rows, x.width);
    k.rowptr = rowptr;
    k.col = col;
    k.x = x.data;
    k.x_stride = x.stride;
    return k;
}

}  // namespace

template <class S>
void run(const SpmmForward<S>& a) {
    expect_threads(a.threads);
    Spmm<S> k = product(a.rowptr, a.col, a.x);
    if (a.position) expect(a.position, "position", k.edges, a.col.wide);
    if (a.weight) expect(a.weight, "weight", 1, k.edges);
    expect(a.out, "out", k.rows, k.width);
    k.position = a.position;
    k.weight = a.weight.data;
    k.ordered = a.ordered;
    k.dropout = make_dropout<S>(a.dropout, a.seed);
    k.first = static_cast<uint32_t>(a.first);
    k.out = a.out.data;
    k.out_stride = a.out.stride;
    Schedule schedule = make_schedule(k.rowptr, k.rows);
    // Pieces of long rows that gather from the same place go together.
    std::stable_sort(schedule.units.begin(), schedule.units.end(), [&k](const Unit& one, const Unit& other) {
        return one.partial >= 0 && (other.partial < 0 || k.col[one.edge] < k.col[other.edge]);
    });
    const Buffer<S> partials(schedule.partials * k.width);
    k.partials = partials.get();
    parallel_for(static_cast<int64_t>(schedule.units.size()), a.threads,
                 [&](int64_t i, int) { kernels<S>().spmm(k, schedule.units[i]); });
    for (const LongRow& row : schedule.long_rows) {
        const S* sum = add_slots(k.partials, k.width, row);
        std::copy(sum, sum + k.width, a.out.row(row.row));
    }
}

template <class S>
void run(const SpmmWeightGrad<S>& a) {
    expect_threads(a.threads);
    Spmm<S> k = product(a.rowptr, a.col, a.x);
    expect(a.grad_out, "grad_out", k.rows, k.width);
    expect(a.grad_weight, "grad_weight", 1, k.edges);
    k.grad_out = a.grad_out.data;
    k.grad_out_stride = a.grad_out.stride;
    k.grad_weight = a.grad_weight.data;
    const Schedule schedule = make_schedule(k.rowptr, k.rows);
    parallel_for(static_cast<int64_t>(schedule.units.size()), a.threads,
                 [&](int64_t i, int) { kernels<S>().sddmm(k, schedule.units[i]); });
}

template void run<float>(const SpmmForward<float>&);
template void run<double>(const SpmmForward<double>&);
template void run<float>(const SpmmWeightGrad<float>&);
template void run<double>(const SpmmWeightGrad<double>&);

}  // namespace jj
