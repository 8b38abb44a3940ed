// The DNA attention over a whole graph, in the separate or the folded form: dna/layer.h.
#pragma once

#include "dna/arguments.h"

namespace jj {

// Scalars of grad_score, where backward keeps the gradients of the scores between its two passes.
template <class S>
int64_t score_size(const Dna<S>& a) {
    return a.graph.edges * a.steps * a.layout.padded;
}

template <class S>
void attend_forward(Dna<S> a, int threads);
template <class S>
void attend_backward(Dna<S> a, int threads);

}  // namespace jj
