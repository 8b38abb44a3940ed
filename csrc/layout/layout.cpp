#include "layout/layout.h"

#include "common/run.h"

namespace jj {
namespace {

template <class S>
Layout checked(const Repack<S>& a) {
    expect_threads(a.threads);
    const Layout layout = make_layout<S>(a.heads, a.channels);
    expect(a.standard, "standard", a.standard.rows, a.heads * a.channels);
    expect(a.packed, "packed", a.standard.rows, layout.stride);
    return layout;
}

}  // namespace

template <class S>
void run(const Pack<S>& a) {
    const Layout layout = checked(a);
    run_rows(a.standard.rows, a.threads, [&](int64_t first, int64_t rows, int) {
        kernels<S>().pack(layout, a.standard.row(first), a.standard.stride, a.packed.row(first), a.packed.stride, rows);
    });
}

template <class S>
void run(const Unpack<S>& a) {
    const Layout layout = checked(a);
    run_rows(a.standard.rows, a.threads, [&](int64_t first, int64_t rows, int) {
        kernels<S>().unpack(layout, a.packed.row(first), a.packed.stride, a.standard.row(first), a.standard.stride,
                            rows);
    });
}

template void run<float>(const Pack<float>&);
template void run<double>(const Pack<double>&);
template void run<float>(const Unpack<float>&);
template void run<double>(const Unpack<double>&);

}  // namespace jj
