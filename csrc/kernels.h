// What the kernels of every instruction set share: their arguments and the table of their entry points.
//
// Shapes: N targets (rows), M sources (cols), E edges, T former representations, H heads, C channels a head.
// Packed row: [C, P] with P = the power of two >= H, head fastest, zero padded to `stride`, a multiple of 64 bytes.
// Head row: [P], one number a head, zero in the padding.
//
// This header is compiled once per instruction set. It may hold no function that is emitted out of line: the linker
// would keep one copy of it, perhaps one that needs instructions the machine lacks.
#pragma once

#include <cstdint>

#define JJ_INLINE inline __attribute__((always_inline))

namespace jj {

// An index array of either width.
struct Index {
    const void* data = nullptr;
    bool wide = false;
    JJ_INLINE int64_t operator[](int64_t i) const {
        return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
    }
    JJ_INLINE explicit operator bool() const { return data != nullptr; }
};

// One piece of work: the whole rows [row, row_end) of the order of the pass, or the edges [edge, edge_end) of one
// long row, whose sum goes to slot `partial` and is added up later in the order of the slots.
struct Unit {
    int64_t row, row_end;
    int64_t edge, edge_end;
    int64_t partial;  // -1: whole rows
};

// Rows of more edges than this are cut into pieces of this size, whatever the number of threads. Short pieces also keep
// the rounding errors of long sums small.
constexpr int64_t kChunkEdges = 1024;

JJ_INLINE uint32_t mix32(uint32_t h) {
    h ^= h >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h *= 0x846CA68Bu;
    return h ^ (h >> 16);
}

// Dropout as a pure function of (seed, row number, t, head): ops/reference.py, dropout_mask.
template <class S>
struct Dropout {
    uint32_t threshold = 0;  // 0: off
    uint32_t seed_key = 0;   // mix(mix(seed_low) ^ seed_high)
    S factor = 1;            // 1 / (1 - p)
    JJ_INLINE uint32_t row_key(int64_t row) const {
        return mix32(mix32(seed_key ^ static_cast<uint32_t>(row)) ^ static_cast<uint32_t>(row >> 32));
    }
};

constexpr uint32_t kStepFactor = 0x9E3779B9u;
constexpr uint32_t kHeadFactor = 0x85EBCA77u;

struct Layout {
    int64_t heads = 0, channels = 0;  // H, C
    int64_t padded = 0;               // P
    int64_t stride = 0;               // scalars in a packed row
};

struct Graph {
    int64_t rows = 0, cols = 0, edges = 0;
    Index rowptr, col;            // CSR by target
    Index colptr, row, position;  // CSC by source; position of each edge in CSR order
    Index order;                  // in which the DNA forward takes the targets; null: as they are numbered
    JJ_INLINE int64_t at(int64_t i) const { return order ? order[i] : i; }
};

// In the sparse form all rows are [d] where others have [stride].
template <class S>
struct Dna {
    Graph graph;
    Layout layout;
    Dropout<S> dropout;
    int64_t steps = 0;  // T
    S scale = 1;
    int64_t ahead = 1, ahead_back = 1;  // edges to prefetch ahead by target and by source; sparse: rows and weights
    bool folded = false;          // keys and values are the same rows, and there is a bias
    const S* weight = nullptr;    // [E], null: ones
    const S* query = nullptr;     // [N, stride]
    const S* bias = nullptr;      // [N, P], folded only
    const S* const* key = nullptr;  // T pointers to [M, key_stride[t]]
    const int64_t* key_stride = nullptr;
    const S* const* value = nullptr;  // the same array as key when folded
    const int64_t* value_stride = nullptr;
    // forward
    S* out = nullptr;        // [N, stride]
    bool relu = false;       // negative sums become zero
    S* total = nullptr;      // [N, P], folded only: the sum of the weights
    S* attention = nullptr;  // [E, T, H] or null: the weights before dropout
    S* kept = nullptr;       // [E, T, P] and a cache line, sparse only
    // backward
    const S* grad_out = nullptr;    // [N, stride]
    const S* grad_total = nullptr;  // [N, P], folded only
    S* grad_query = nullptr;        // [N, stride]
    S* grad_bias = nullptr;         // [N, P], folded only
    int64_t grad_first = 0;         // sparse: the row that the last two begin with
    S* grad_weight = nullptr;       // [E] or null
    S* grad_score = nullptr;        // [E, T, P] workspace or null: scale * ds in CSR order
    S* const* grad_key = nullptr;   // T pointers to [M, grad_key_stride[t]]; of the shared rows when folded
    const int64_t* grad_key_stride = nullptr;
    S* const* grad_value = nullptr;
    const int64_t* grad_value_stride = nullptr;
    bool accumulate = false;  // add to grad_key and grad_value instead of overwriting them; sparse: to the last key
    bool unpack = false;      // grad_key takes rows in the standard layout
    S* partials = nullptr;
    int64_t partial_size = 0;
};

template <class S>
struct Gat {
    Graph graph;
    Layout layout;
    Dropout<S> dropout;
    S slope = 0;
    int64_t ahead = 1;
    const S* value = nullptr;         // [M, stride]
    const S* score_source = nullptr;  // [M, P]
    const S* score_target = nullptr;  // [N, P]
    S* out = nullptr;                 // [N, stride]
    S* attention = nullptr;           // [E, H] or null
    // Saved for backward: `sloped` is the sum of the edges' messages times the slope of LeakyReLU there, and `state`
    // holds four head rows a node: score_target, the largest score, 1 / the sum of exponentials, the mean slope.
    // So the gradient of score_target needs no pass over the edges.
    S* sloped = nullptr;  // [N, stride] or null
    S* state = nullptr;   // [N, 4, P] or null
    // backward
    const S* grad_out = nullptr;  // [N, stride]
    S* work = nullptr;            // [N, 4, P]: state, with <grad_out, out> for the mean slope
    S* grad_value = nullptr;      // [M, stride]
    S* grad_source = nullptr;     // [M, P]
    S* grad_target = nullptr;     // [N, P]
    S* partials = nullptr;
    int64_t partial_size = 0;
};

// out[v] (+)= sum_e dropout(weight[number of e]) * x[col[e]], then bias and ReLU.
template <class S>
struct Spmm {
    int64_t rows = 0, edges = 0, width = 0;
    Index rowptr, col;
    Index position;             // the numbers of the edges; null: as they come
    const S* weight = nullptr;  // null: ones
    bool ordered = false;       // the weights come in the order of the edges, whatever their numbers
    Dropout<S> dropout;         // keep(row 0, 0, number of e)
    const S* x = nullptr;
    int64_t x_stride = 0;
    S* out = nullptr;
    int64_t out_stride = 0;
    const S* bias = nullptr;  // [width] or null
    bool accumulate = false;
    bool relu = false;
    S* partials = nullptr;
    // sddmm: grad_weight[e] = <grad_out[row of e], x[col[e]]>
    const S* grad_out = nullptr;
    int64_t grad_out_stride = 0;
    S* grad_weight = nullptr;
};

// Block-diagonal linear map of packed rows. The packed weight holds, for each output vector j, each lane shift s and
// each input channel c in [first[j], last[j]), one vector: what channel c of head (lane ^ s) adds to the lane.
template <class S>
struct Grouped {
    Layout layout;
    int64_t rows = 0;
    int64_t groups = 0, block = 0;  // g, d / g
    bool transpose = false;
    int64_t shifts = 1;           // 1 where every group lies within a head, or there is one group: dense.h
    const S* x = nullptr;         // [R, x_stride]
    int64_t x_stride = 0;
    const S* weight = nullptr;    // [g, block, block]
    const S* bias = nullptr;      // [d] or null
    const S* scale = nullptr;     // [R, P] or null: factor of the bias, and of grad_y in the bias gradient
    const S* dot_row = nullptr;   // [stride] or null: a packed row to multiply x by
    S* dot = nullptr;             // [R, P] or null: x . dot_row, head by head
    S* packed = nullptr;          // workspace of grouped_workspace() scalars: the packed weight and bias
    S* y = nullptr;               // [R, y_stride]
    int64_t y_stride = 0;
    bool accumulate = false;      // add to y
    const S* grad_y = nullptr;    // [R, stride]
};

// Block-diagonal linear map of rows in the standard layout, with blocks of a multiple of 32 bytes within a head.
template <class S>
struct Diagonal {
    Layout layout;
    int64_t rows = 0, block = 0;
    const S* x = nullptr;         // [R, x_stride]
    int64_t x_stride = 0;
    const S* weight = nullptr;    // [d / block, block, block]
    const S* bias = nullptr;      // [d] or null
    const S* scale = nullptr;     // [R, P] or null: factor of the bias, and of grad_y in the bias gradient
    S* y = nullptr;               // [R, y_stride]
    int64_t y_stride = 0;
    bool relu = false;            // of y
    const S* dot_with = nullptr;  // [d] or null
    const S* dot_add = nullptr;   // [P] or null
    S* dot = nullptr;             // [R, P] or null: x . dot_with + dot_add, head by head
    const S* grad_y = nullptr;    // [R, grad_y_stride]
    int64_t grad_y_stride = 0;
    const S* x_scale = nullptr;   // [R, P] or null: factor of x in a third sum
};

template <class S>
struct Rows {
    int64_t rows = 0, width = 0;
    const S* x = nullptr;
    int64_t x_stride = 0;
    S* y = nullptr;
    int64_t y_stride = 0;
    const S* grad_y = nullptr;
    int64_t grad_y_stride = 0;
    bool relu = false;
    int64_t first_row = 0;  // number of row 0 for dropout
    Dropout<S> dropout;
    Layout layout;
};

// Entry points compiled for one instruction set. `scratch` is memory of the calling thread, 64-byte aligned.
template <class S>
struct Kernels {
    void (*dna_forward)(const Dna<S>&, const Unit&, S* scratch);
    void (*dna_backward_query)(const Dna<S>&, const Unit&, S* scratch);
    void (*dna_backward_history)(const Dna<S>&, const Unit&, S* scratch);
    void (*dna_write_history)(const Dna<S>&, int64_t row, const S* sums);
    void (*sparse_forward)(const Dna<S>&, const Unit&, S* scratch);
    void (*sparse_target)(const Dna<S>&, const Unit&, S* scratch);
    void (*sparse_source)(const Dna<S>&, const Unit&, S* scratch);
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
    void (*diagonal_map)(const Diagonal<S>&);
    void (*diagonal_weight_grad)(const Diagonal<S>&, S* sums);
    void (*dropout_forward)(const Rows<S>&, int64_t first, int64_t last);
    void (*dropout_backward)(const Rows<S>&, int64_t first, int64_t last);
    void (*pack)(const Rows<S>&, int64_t first, int64_t last);
    void (*unpack)(const Rows<S>&, int64_t first, int64_t last);
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
