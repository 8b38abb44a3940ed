// The table of the kernels' entry points, one for each instruction set.
#pragma once

#include "common/types.h"
#include "dna/arguments.h"
#include "dropout/arguments.h"
#include "gat/arguments.h"
#include "grouped/arguments.h"
#include "spmm/arguments.h"

namespace jj {

// `scratch` is memory of the calling thread, 64-byte aligned.
template <class S>
struct Kernels {
    void (*dna_forward)(const Dna<S>&, const Unit&, S* scratch);
    void (*dna_backward_query)(const Dna<S>&, const Unit&, S* scratch);
    void (*dna_backward_history)(const Dna<S>&, const Unit&, S* scratch);
    void (*dna_write_history)(const Dna<S>&, int64_t row, const S* sums);
    void (*unit_length)(const Layout&, S* x, int64_t x_stride, S* factor, int64_t factor_stride, int64_t rows,
                        bool apply);
    void (*unit_gradient)(const Layout&, const S* unit, int64_t unit_stride, const S* factor, int64_t factor_stride,
                          const S* scale, S* grad, S* grad_scale, int64_t rows);
    void (*scale_heads)(const Layout&, const S* x, const S* scale, int64_t scale_stride, S* y, int64_t rows);
    void (*gat_forward)(const Gat<S>&, const Unit&, S* scratch);
    void (*gat_finish)(const Gat<S>&, int64_t row, S* sums);
    void (*gat_prepare)(const Gat<S>&, int64_t first, int64_t last);
    void (*gat_backward)(const Gat<S>&, const Unit&, S* scratch);
    void (*spmm)(const Spmm<S>&, const Unit&);
    void (*sddmm)(const Spmm<S>&, const Unit&);
    int64_t (*grouped_workspace)(const Grouped<S>&);
    void (*grouped_pack)(const Grouped<S>&);
    void (*grouped_forward)(const Grouped<S>&, int64_t first, int64_t last, S* scratch);
    void (*grouped_weight_grad)(const Grouped<S>&, int64_t first, int64_t last, S* scratch, S* sums);
    void (*grouped_unpack)(const Grouped<S>&, const S* sums, S* grad_weight, S* grad_bias);
    void (*dropout_forward)(const DropoutRows<S>&, int64_t first, int64_t last);
    void (*dropout_backward)(const DropoutRows<S>&, int64_t first, int64_t last);
    void (*pack)(const Layout&, const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows);
    void (*unpack)(const Layout&, const S* x, int64_t x_stride, S* y, int64_t y_stride, int64_t rows);
};

struct Isa {
    const char* name;
    Kernels<float> f32;
    Kernels<double> f64;
};

extern const Isa kBaseline;
extern const Isa kAvx2;
extern const Isa kAvx512;

}  // namespace jj
