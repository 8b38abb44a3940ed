// Types that every kernel shares.
//
// Shapes: N targets (rows), M sources (cols), E edges, T former representations, H heads, C channels per head.
// Packed row: [C, P] with P = the power of two >= H, head fastest, zero padded to `stride`, a multiple of 64 bytes.
// Head row: [P], one number per head, zero in the padding.
//
// This header is compiled once per instruction set. It may hold no function that is emitted out of line: the linker
// would keep one copy of it, perhaps one that needs instructions the machine lacks.
#pragma once

#include <cstdint>

#define JJ_INLINE inline __attribute__((always_inline))

namespace jj {

// An index array of 32 or 64 bits.
struct Index {
    const void* data = nullptr;
    int64_t size = 0;
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

// Dropout as a pure function of (seed, row number, t, head): ops/dropout/reference.py, dropout_mask.
template <class S>
struct Dropout {
    uint32_t threshold = 0;  // 0: off
    uint32_t seed_key = 0;   // mix(mix(seed_low) ^ seed_high)
    S factor = 1;            // 1 / (1 - p)
    int64_t first = 0;       // number of row 0 in the whole of which these rows are a part
    JJ_INLINE uint32_t row_key(int64_t row) const {
        row += first;
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
    Index order;                  // in which DNA's forward pass takes the targets; null: as they are numbered
    JJ_INLINE int64_t at(int64_t i) const { return order ? order[i] : i; }
};

}  // namespace jj
