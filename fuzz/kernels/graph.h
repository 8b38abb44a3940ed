// Random graphs: isolated nodes, hubs whose edges are cut into pieces, repeated edges, self-loops, no edges or nodes.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/order.h"
#include "kernels/memory.h"

namespace fuzz {

// By target: edge e of row v comes from col[e]. By source: edge i of column w goes to row[i] and is edge position[i].
struct Edges {
    int64_t rows = 0, cols = 0;
    std::vector<int64_t> rowptr, col, target, colptr, row, position;

    int64_t count() const { return static_cast<int64_t>(col.size()); }
};

inline int64_t nodes_of(uint8_t byte) {
    if (byte < 240) return byte % 18;
    return byte < 252 ? byte - 180 : 300;  // more than one block of rows; more than one chunk of weight gradients
}

inline Edges make_edges(const Header& header, int64_t rows, int64_t cols) {
    Edges g;
    g.rows = rows;
    g.cols = cols;
    Random random(header.number());
    int64_t count = header.edges % 100;
    const int kind = header.graph % 8;
    if (kind >= 6) count = jj::kChunkEdges - 40 + header.edges * 6;  // a hub may need more than one piece
    if (kind == 0 || rows == 0 || cols == 0) count = 0;
    std::vector<std::pair<int64_t, int64_t>> ends;
    for (int64_t e = 0; e < count; ++e) {
        int64_t v = random.below(rows), w = random.below(cols);
        if (kind == 2) v /= 2, w /= 2;                      // half of the nodes are isolated
        if (kind == 3 && e > 0) std::tie(v, w) = ends[0];   // repeated
        if (kind == 4) w = std::min(v, cols - 1);           // self-loops
        if (kind == 6 && random.below(8)) v = rows / 2;     // many edges into one node
        if (kind == 7 && random.below(8)) w = cols / 2;     // many edges out of one node
        ends.emplace_back(v, w);
    }
    std::sort(ends.begin(), ends.end());
    g.rowptr.assign(rows + 1, 0);
    g.colptr.assign(cols + 1, 0);
    for (const auto& [v, w] : ends) {
        ++g.rowptr[v + 1], ++g.colptr[w + 1];
        g.col.push_back(w), g.target.push_back(v);
    }
    std::partial_sum(g.rowptr.begin(), g.rowptr.end(), g.rowptr.begin());
    std::partial_sum(g.colptr.begin(), g.colptr.end(), g.colptr.begin());
    g.position.resize(count);
    std::iota(g.position.begin(), g.position.end(), 0);
    std::stable_sort(g.position.begin(), g.position.end(),
                     [&g](int64_t one, int64_t other) { return g.col[one] < g.col[other]; });
    for (int64_t e : g.position) g.row.push_back(g.target[e]);
    return g;
}

template <class S>
jj::Graph make_graph(Arrays<S>& arrays, const Header& header, const Edges& edges, bool wide) {
    jj::Graph g;
    g.rows = edges.rows, g.cols = edges.cols, g.edges = edges.count();
    g.rowptr = arrays.index(edges.rowptr, wide);
    g.col = arrays.index(edges.col, wide);
    g.colptr = arrays.index(edges.colptr, wide);
    g.row = arrays.index(edges.row, wide);
    g.position = arrays.index(edges.position, wide);
    if (!(header.graph / 8 % 2)) return g;
    std::vector<int64_t> order(edges.rows);
    std::iota(order.begin(), order.end(), 0);
    Random random(header.number() + 1);
    for (int64_t i = edges.rows - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    if (edges.rows > 0) g.order = arrays.index(order, wide, false);
    return g;
}

// The order of communities must be a permutation.
inline void check_order(const Header& header) {
    const int64_t n = nodes_of(header.rows);
    const Edges edges = make_edges(header, n, n);
    Arrays<float> arrays(header, 1, false);
    const bool wide = header.flag(0);
    const jj::Graph g = make_graph(arrays, header, edges, wide);
    if (arrays.broken()) {
        try {
            check(g, true);
        } catch (const std::invalid_argument&) {
            return;
        }
        finding("graph", "wrong sizes were not refused");
    }
    const Memory memory(std::malloc(n * (wide ? 8 : 4)));
    jj::community_order(g, memory.get());
    const Index order{memory.get(), n, wide};
    std::vector<bool> seen(n, false);
    for (int64_t i = 0; i < n; ++i) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]]) finding("community_order", "not a permutation");
        seen[order[i]] = true;
    }
}

}  // namespace fuzz
