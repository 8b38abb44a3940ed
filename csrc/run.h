// Runs a kernel over the whole graph: cuts the work into units, hands them to threads, adds up the pieces of long rows.
#pragma once

#include "kernels.h"

namespace jj {

template <class S>
void run_dna_forward(Dna<S> a, int threads);
template <class S>
void run_dna_backward(Dna<S> a, int threads);
template <class S>
void run_gat_forward(Gat<S> a, int threads);
template <class S>
void run_gat_backward(Gat<S> a, int threads);
template <class S>
void run_spmm(Spmm<S> a, int threads);
template <class S>
void run_sddmm(const Spmm<S>& a, int threads);
template <class S>
void run_grouped_forward(Grouped<S> a, int threads);
template <class S>
void run_grouped_weight_grad(Grouped<S> a, S* grad_weight, S* grad_bias, int threads);
template <class S>
void run_rows(const Rows<S>& a, void (*kernel)(const Rows<S>&, int64_t, int64_t), int threads);

}  // namespace jj
