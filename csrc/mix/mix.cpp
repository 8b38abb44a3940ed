// Memory sets the pace here, so one version serves all instruction sets. The build forbids contraction in this file: each
// product is rounded, and the bits are those of PyTorch's operations one by one.
#include "mix/mix.h"

#include "common/run.h"

namespace jj {

static void expect_share(double share) { require(share >= 0 && share <= 1, "share must be between 0 and 1"); }

template <class S>
void run(const MixForward<S>& a) {
    expect_threads(a.threads);
    expect_share(a.share);
    const int64_t rows = a.x.rows, width = a.x.width;
    expect(a.x, "x", rows, width);
    expect(a.other, "other", rows, width);
    expect(a.y, "y", rows, width);
    const S own = static_cast<S>(1 - a.share), share = static_cast<S>(a.share);
    run_rows(rows, a.threads, [&a, width, own, share](int64_t first, int64_t count, int) {
        for (int64_t r = first; r < first + count; ++r) {
            const S *x = a.x.row(r), *other = a.other.row(r);
            S* y = a.y.row(r);
            for (int64_t i = 0; i < width; ++i) {
                const S mixed = own * x[i] + share * other[i];
                y[i] = mixed < 0 ? S(0) : mixed;
            }
        }
    });
}

template <class S>
void run(const MixBackward<S>& a) {
    expect_threads(a.threads);
    expect_share(a.share);
    const int64_t rows = a.y.rows, width = a.y.width;
    expect(a.y, "y", rows, width);
    expect(a.grad_y, "grad_y", rows, width);
    expect(a.grad_x, "grad_x", rows, width);
    expect(a.grad_other, "grad_other", rows, width);
    const S own = static_cast<S>(1 - a.share), share = static_cast<S>(a.share);
    run_rows(rows, a.threads, [&a, width, own, share](int64_t first, int64_t count, int) {
        for (int64_t r = first; r < first + count; ++r) {
            const S *y = a.y.row(r), *grad_y = a.grad_y.row(r);
            S *grad_x = a.grad_x.row(r), *grad_other = a.grad_other.row(r);
            for (int64_t i = 0; i < width; ++i) {
                const S grad = grad_y[i];  // read in any case: a branch would be guessed wrong for half of them
                const S passed = y[i] <= 0 ? S(0) : grad;
                grad_x[i] = passed * own;
                grad_other[i] = passed * share;
            }
        }
    });
}

template void run<float>(const MixForward<float>&);
template void run<double>(const MixForward<double>&);
template void run<float>(const MixBackward<float>&);
template void run<double>(const MixBackward<double>&);

}  // namespace jj
