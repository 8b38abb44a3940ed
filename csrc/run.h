// Runs a kernel over the whole graph: cuts the work into units, hands them to threads, adds up the pieces of long rows.
#pragma once

#include <algorithm>

#include "kernels.h"

namespace jj {

constexpr int64_t kRowBlock = 64;  // rows of a unit in passes without edges

// Edges to prefetch ahead of the one at work: 4 KB. More would push lines out of L1 before their use.
inline int64_t edges_ahead(int64_t bytes_an_edge) {
    return std::clamp<int64_t>(4096 / bytes_an_edge, 1, 8);
}

// Scalars a thread needs for a tile of edges: dna_attention.h.
template <class S>
int64_t tile_scratch(int64_t steps) {
    return (3 + 3 * steps) * 8 * (64 / static_cast<int64_t>(sizeof(S)));
}

// Scalars of grad_score, where backward keeps the gradients of the scores between its two passes.
template <class S>
int64_t score_size(const Dna<S>& a) {
    return a.graph.edges * a.steps * a.layout.padded;
}

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
void run_grouped_forward(const Grouped<S>& a, const S* dot_with, int threads);
template <class S>
void run_grouped_weight_grad(const Grouped<S>& a, S* grad_weight, S* grad_bias, int threads);
template <class S>
void run_rows(const Rows<S>& a, void (*kernel)(const Rows<S>&, int64_t, int64_t), int threads);

}  // namespace jj
