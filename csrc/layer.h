// A whole DNA layer, forward and backward: projections and attention, in few passes over the rows.
//
// separate: keys and values of all T representations are projected, then gathered along the edges.
// folded: every head sees its own channels only, so the query is projected once more and the aggregate after the
// attention; keys and values are never formed: ops/dna_native.py.
// sparse: folded, with heads of whole cache lines and rows in the standard layout: sparse_tile.h.
#pragma once

#include <vector>

#include "kernels.h"

namespace jj {

// Rows of numbers, any distance apart.
template <class S>
struct Matrix {
    S* data = nullptr;
    int64_t stride = 0;
    S* row(int64_t i) const { return data + i * stride; }
    explicit operator bool() const { return data != nullptr; }
};

// One of the three projections.
template <class S>
struct Weights {
    const S* weight = nullptr;  // [g, d / g, d / g]
    const S* bias = nullptr;    // [d] or null
    S* grad_weight = nullptr;   // like weight
    S* grad_bias = nullptr;     // [d]
};

template <class S>
struct Layer {
    Dna<S> dna;  // graph, layout, dropout, steps, scale, folded, weight; the rest is set by the passes
    int64_t groups = 1;
    bool relu = false;  // of the output
    Weights<S> query, key, value;
    // As given, packed or not, and packed: the same where the caller's rows are packed, else written by forward.
    // The newest is the last of the history where `newest` is null.
    bool packed = false;
    bool sparse = false;  // then history and newest are the caller's, and `given` and `keep_scores` mean nothing
    std::vector<Matrix<const S>> given;  // T of [M]
    Matrix<const S> given_newest;        // [N]
    std::vector<Matrix<S>> history;
    Matrix<S> newest;
    // Saved by forward.
    S* queries = nullptr;    // [N, stride], not in the sparse form
    S* keys = nullptr;       // [M, 2, T, stride], separate only: keys and values
    S* folded = nullptr;     // [N, stride], folded only, as the next three; sparse: [N, d]
    S* bias = nullptr;       // [N, P]
    S* aggregate = nullptr;  // [N, stride]; sparse: [N, d]
    S* total = nullptr;      // [N, P]
    S* kept = nullptr;       // [E, T, P] and a cache line, sparse only: the weights
    // In the layout of the caller.
    S* out = nullptr;  // [N, d or stride], as the next two
    const S* result = nullptr;  // what out has become, for the gradient of ReLU
    const S* grad_out = nullptr;
    std::vector<Matrix<S>> grad_history;  // T
    Matrix<S> grad_newest;                // null: goes to the last of the history
    bool keep_scores = false;             // keep the gradients of the scores between the passes of backward

    // The representation that asks.
    Matrix<S> asking() const { return newest ? newest : history.back(); }
};

template <class S>
void run_layer_forward(const Layer<S>& a, int threads);
template <class S>
void run_layer_backward(const Layer<S>& a, int threads);

// The sparse form: sparse_layer.cpp.
template <class S>
void run_sparse_layer_forward(const Layer<S>& a, int threads);
template <class S>
void run_sparse_layer_backward(const Layer<S>& a, int threads);

}  // namespace jj
