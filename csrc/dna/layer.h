// A whole DNA layer, forward and backward: projections and attention, in few passes over the rows.
//
// separate: keys and values of all T representations are projected, then gathered along the edges.
// folded: where every head sees its own channels only (groups a multiple of heads), the projections commute with the
// attention: q . (K x + b) = (K^T q) . x + q . b and sum a (V x + b) = V (sum a x) + (sum a) b. The query is projected
// once more and the aggregate after the attention; keys and values are never formed.
//
// ops/plan.py chooses the form.
#pragma once

#include <vector>

#include "common/matrix.h"

namespace jj {

// What both directions take.
template <class S>
struct DnaLayer {
    Graph graph;
    int64_t heads = 0, groups = 0;
    bool folded = false;
    bool packed = false;  // rows come and go in the packed layout
    bool relu = false;    // of the output
    double dropout = 0;   // of the attention weights
    uint64_t seed = 0;
    int64_t first = 0;                                 // number of the first edge, for dropout
    Matrix<S> edge_weight;                             // [1, E]
    Matrix<S> query_weight, key_weight, value_weight;  // [g * d / g, d / g]
    Matrix<S> query_bias, key_bias, value_bias;        // [1, d] or none
    Matrix<S> step_bias;                               // [T, P] or none: of the scores, by step and head
    Matrix<S> qk_scale;                                // [1, P] or none: factors of products of unit queries and keys
    std::vector<Matrix<S>> history;                    // T of [M, stride], packed
    Matrix<S> newest;                                  // [N, stride]; none: the last of the history asks
    // Written by forward for backward. Folded: all but keys. Separate: queries and keys. With qk_scale, these
    // are of unit length, and there are the factors that made them so.
    Matrix<S> queries;         // [N, stride]
    Matrix<S> keys;            // [M, 2 T stride]: keys, then values
    Matrix<S> folded_queries;  // [N, stride]
    Matrix<S> score_bias;      // [N, P]
    Matrix<S> aggregate;       // [N, stride]
    Matrix<S> total;           // [N, P]: the sum of the attention weights
    Matrix<S> query_factor;    // [N, P], with qk_scale: one over the lengths of the projected queries
    Matrix<S> key_factor;      // [M, T P], with qk_scale: of the keys
    int threads = 1;

    int64_t channels() const { return query_weight.rows / (heads ? heads : 1); }
    int64_t steps() const { return static_cast<int64_t>(history.size()); }
    // The representation that asks.
    const Matrix<S>& asking() const { return newest ? newest : history.back(); }
};

template <class S>
struct DnaForward : DnaLayer<S> {
    // As the caller has them. Where they are not packed, forward writes them to history and newest.
    std::vector<Matrix<S>> given;  // T of [M, d]
    Matrix<S> given_newest;        // [N, d]
    Matrix<S> out;                 // [N, d]; packed: [N, stride]
};

// The gradients of weights and biases are either all given or all missing.
template <class S>
struct DnaBackward : DnaLayer<S> {
    Matrix<S> out;       // with ReLU only, as forward gave it
    Matrix<S> grad_out;  // like out
    Matrix<S> grad_query_weight, grad_key_weight, grad_value_weight;
    Matrix<S> grad_query_bias, grad_key_bias, grad_value_bias;  // [1, d]
    Matrix<S> grad_edge_weight;                                 // [1, E] or none
    Matrix<S> grad_step_bias;                                   // [N, T P] or none: its rows add up to the gradient
    Matrix<S> grad_qk_scale;                                    // [N, P] or none: its rows add up to the gradient
    std::vector<Matrix<S>> grad_history;                        // T of [M, d or stride]
    Matrix<S> grad_newest;     // [N, d or stride]; none: goes to the last of the history
    bool keep_scores = false;  // folded only; the separate form always keeps its scores
};

template <class S>
void run(const DnaForward<S>& a);
template <class S>
void run(const DnaBackward<S>& a);

}  // namespace jj
