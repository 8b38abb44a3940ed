// What crosses the border between Python and C++: memory with its sizes, and the checks that the kernels rely on.
//
// Python vouches that each address has the rows, the width and the stride that it states. Every call checks here, once,
// that these sizes fit each other. The values of index arrays are trusted: an Adjacency has validated them.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "common/types.h"

namespace jj {

// Rows of numbers, any distance apart. No rows at an address of zero: not given.
template <class S>
struct Matrix {
    S* data = nullptr;
    int64_t rows = 0, width = 0, stride = 0;
    S* row(int64_t i) const { return data + i * stride; }
    explicit operator bool() const { return data != nullptr; }
};

[[noreturn]] inline void reject(const std::string& what) { throw std::invalid_argument(what); }

inline void require(bool holds, const std::string& what) {
    if (!holds) reject(what);
}

inline void expect_threads(int threads) { require(threads >= 1, "threads must be at least 1"); }

// x must be a matrix [rows, width].
template <class S>
void expect(const Matrix<S>& x, const char* name, int64_t rows, int64_t width) {
    if (x.rows != rows || x.width != width)
        reject(std::string(name) + " has shape [" + std::to_string(x.rows) + ", " + std::to_string(x.width) +
               "], expected [" + std::to_string(rows) + ", " + std::to_string(width) + "]");
    if (rows > 0 && width > 0 && !x.data) reject(std::string(name) + " has no memory");
    if (rows > 1 && x.stride < width)
        reject(std::string(name) + " has rows " + std::to_string(x.stride) + " apart that are " +
               std::to_string(width) + " wide");
}

// The same, with no gap between the rows.
template <class S>
void expect_dense(const Matrix<S>& x, const char* name, int64_t rows, int64_t width) {
    expect(x, name, rows, width);
    if (rows > 1 && x.stride != width) reject(std::string(name) + " has gaps between its rows, expected none");
}

inline void expect(const Index& x, const char* name, int64_t size, bool wide) {
    if (x.size != size || x.wide != wide || (size > 0 && !x.data))
        reject(std::string(name) + " holds " + std::to_string(x.size) + " numbers of " + (x.wide ? "64" : "32") +
               " bits, expected " + std::to_string(size) + " of " + (wide ? "64" : "32"));
}

// A list of where each row's edges begin, and one number more: where the last row's end.
inline void expect_pointer(const Index& ptr, const char* name, int64_t rows, int64_t edges, bool wide) {
    if (rows < 0) reject(std::string(name) + " is empty, expected one number per row and one more");
    expect(ptr, name, rows + 1, wide);
    if (ptr[0] != 0 || ptr[rows] != edges)
        reject(std::string(name) + " runs from " + std::to_string(ptr[0]) + " to " + std::to_string(ptr[rows]) +
               ", expected 0 to " + std::to_string(edges));
}

// The edges by target; by source, too, where a backward pass needs them.
inline void check(const Graph& g, bool by_source) {
    require(g.rows >= 0 && g.cols >= 0, "a graph has no negative number of nodes");
    expect(g.col, "col", g.edges, g.col.wide);
    expect_pointer(g.rowptr, "rowptr", g.rows, g.edges, g.col.wide);
    if (g.order) expect(g.order, "order", g.rows, g.col.wide);
    if (!by_source) return;
    expect_pointer(g.colptr, "colptr", g.cols, g.edges, g.col.wide);
    expect(g.row, "row", g.edges, g.col.wide);
    expect(g.position, "position", g.edges, g.col.wide);
}

template <class S>
Layout make_layout(int64_t heads, int64_t channels) {
    constexpr int64_t most = int64_t(1) << 30;  // their product and its padding are far from the largest number
    require(heads >= 1 && channels >= 1, "there must be at least one head and one channel");
    require(heads <= most && channels <= most, "there are more heads or channels than memory has room for");
    int64_t padded = 1;
    while (padded < heads) padded *= 2;
    const int64_t lanes = 64 / static_cast<int64_t>(sizeof(S));
    return {heads, channels, padded, (channels * padded + lanes - 1) / lanes * lanes};
}

// ops/dropout/reference.py: dropout_threshold, dropout_mask.
template <class S>
Dropout<S> make_dropout(double p, uint64_t seed, int64_t first = 0) {
    require(p >= 0 && p < 1, "dropout is not in [0, 1)");
    const double threshold = std::nearbyint(p * 4294967296.0);
    const uint32_t word = threshold < 4294967295.0 ? static_cast<uint32_t>(threshold) : 0xFFFFFFFFu;
    const uint32_t key = mix32(mix32(static_cast<uint32_t>(seed)) ^ static_cast<uint32_t>(seed >> 32));
    return {word, key, word ? static_cast<S>(1 / (1 - p)) : S(1), first};
}

}  // namespace jj
