// Arguments of the DNA attention kernels.
#pragma once

#include "common/types.h"

namespace jj {

// Added to the squared length of queries and keys that are brought to unit length: ops/dna/reference.py.
template <class S>
constexpr S kUnitEpsilon = S(1e-6);

template <class S>
struct Dna {
    Graph graph;
    Layout layout;
    Dropout<S> dropout;
    int64_t steps = 0;  // T
    S scale = 1;
    int64_t ahead = 1, ahead_back = 1;  // edges to prefetch ahead, by target and by source
    bool folded = false;                // keys and values are the same rows, and there is a bias
    const S* weight = nullptr;          // [E]
    const S* query = nullptr;           // [N, stride]
    const S* bias = nullptr;            // [N, P], folded only
    const S* step_bias = nullptr;       // [T, P] or null: a bias of the scores of each step and head
    const S* key_factor = nullptr;      // [M, T, P] or null, folded only: factors of the scores, before step_bias
    const S* const* key = nullptr;      // T pointers to [M, key_stride[t]]
    const int64_t* key_stride = nullptr;
    const S* const* value = nullptr;  // the same array as key when folded
    const int64_t* value_stride = nullptr;
    // forward
    S* out = nullptr;    // [N, stride]
    bool relu = false;   // negative sums become zero
    S* total = nullptr;  // [N, P], folded only: the sum of the weights
    // backward
    const S* grad_out = nullptr;    // [N, stride]
    const S* grad_total = nullptr;  // [N, P], folded only
    S* grad_query = nullptr;        // [N, stride]
    S* grad_bias = nullptr;         // [N, P], folded only
    S* grad_step_bias = nullptr;    // [N, T, P] or null: what each target adds to the gradient
    S* grad_factor = nullptr;       // [M, T, P], with key_factor: the sums of ds * score over the edges of a source
    S* grad_weight = nullptr;       // [E] or null
    S* grad_score = nullptr;        // [E, T, P] workspace or null: scale * ds in CSR order
    S* const* grad_key = nullptr;   // T pointers to [M, grad_key_stride[t]]; of the shared rows when folded
    const int64_t* grad_key_stride = nullptr;
    S* const* grad_value = nullptr;
    const int64_t* grad_value_stride = nullptr;
    bool unpack = false;  // grad_key takes rows in the standard layout
    S* partials = nullptr;
    int64_t partial_size = 0;
};

}  // namespace jj
