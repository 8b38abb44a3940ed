#include "dropout/dropout.h"

#include "common/run.h"

namespace jj {

template <class S>
void run(const DropoutForward<S>& a) {
    expect_threads(a.threads);
    DropoutRows<S> k;
    k.rows = a.x.rows;
    k.width = a.x.width;
    expect(a.x, "x", k.rows, k.width);
    expect(a.y, "y", k.rows, k.width);
    k.x = a.x.data;
    k.x_stride = a.x.stride;
    k.y = a.y.data;
    k.y_stride = a.y.stride;
    k.relu = a.relu;
    k.dropout = make_dropout<S>(a.dropout, a.seed, a.first);
    run_rows(k.rows, a.threads,
             [&](int64_t first, int64_t rows, int) { kernels<S>().dropout_forward(k, first, first + rows); });
}

template <class S>
void run(const DropoutBackward<S>& a) {
    expect_threads(a.threads);
    DropoutRows<S> k;
    k.rows = a.y.rows;
    k.width = a.y.width;
    expect(a.y, "y", k.rows, k.width);
    expect(a.grad_y, "grad_y", k.rows, k.width);
    expect(a.grad_x, "grad_x", k.rows, k.width);
    k.x = a.y.data;
    k.x_stride = a.y.stride;
    k.grad_y = a.grad_y.data;
    k.grad_y_stride = a.grad_y.stride;
    k.y = a.grad_x.data;
    k.y_stride = a.grad_x.stride;
    k.relu = true;
    k.dropout = make_dropout<S>(a.dropout, 0);
    run_rows(k.rows, a.threads,
             [&](int64_t first, int64_t rows, int) { kernels<S>().dropout_backward(k, first, first + rows); });
}

template void run<float>(const DropoutForward<float>&);
template void run<double>(const DropoutForward<double>&);
template void run<float>(const DropoutBackward<float>&);
template void run<double>(const DropoutBackward<double>&);

}  // namespace jj
