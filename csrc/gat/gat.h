// Graph attention, forward and backward.
#pragma once

#include "common/matrix.h"

namespace jj {

template <class S>
struct GatLayer {
    Graph graph;
    int64_t heads = 0, channels = 0;
    double slope = 0;
    double dropout = 0;
    uint64_t seed = 0;
    int64_t first = 0;       // number of the first edge, for dropout
    Matrix<S> value;         // [M, stride] packed
    Matrix<S> score_source;  // [M, P]
    Matrix<S> score_target;  // [N, P]
    Matrix<S> out;           // [N, stride]
    Matrix<S> sloped;        // [N, stride], written by forward for backward, as the next
    Matrix<S> state;         // [N, 4 P]
    int threads = 1;
};

template <class S>
struct GatForward : GatLayer<S> {};

// Without grad_source and grad_target, the gradient of value alone: it needs no value, out or sloped.
template <class S>
struct GatBackward : GatLayer<S> {
    Matrix<S> grad_out;     // [N, stride]
    Matrix<S> grad_value;   // [M, stride]
    Matrix<S> grad_source;  // [M, P]
    Matrix<S> grad_target;  // [N, P]
};

template <class S>
void run(const GatForward<S>& a);
template <class S>
void run(const GatBackward<S>& a);

}  // namespace jj
