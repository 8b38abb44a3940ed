#include "graph/order.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace jj {
namespace {

constexpr int kSweeps = 5;
constexpr int64_t kLargest = 256;  // nodes of a community: their rows of a few representations fit in L2

// Label propagation: each node in turn joins the community of most of its neighbours that has room.
template <class I>
void label_propagation(const Graph& graph, I* order) {
    const int64_t n = graph.rows;
    const auto *rowptr = static_cast<const I*>(graph.rowptr.data), *col = static_cast<const I*>(graph.col.data);
    std::vector<I> label(n), size(n, 1), votes(n, 0), seen;
    std::iota(label.begin(), label.end(), I(0));
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        int64_t moved = 0;
        for (int64_t v = 0; v < n; ++v) {
            seen.clear();
            for (I e = rowptr[v]; e < rowptr[v + 1]; ++e) {
                if (col[e] == v) continue;
                const I l = label[col[e]];
                if (votes[l]++ == 0) seen.push_back(l);
            }
            const I own = label[v];
            I best = own;
            for (const I l : seen) {
                const bool better = votes[l] > votes[best] || (votes[l] == votes[best] && best != own && l < best);
                if (better && size[l] < kLargest) best = l;
            }
            for (const I l : seen) votes[l] = 0;
            if (best == own) continue;
            --size[own];
            ++size[best];
            label[v] = best;
            ++moved;
        }
        if (moved < n / 50) break;
    }
    std::iota(order, order + n, I(0));
    std::stable_sort(order, order + n, [&label](I a, I b) { return label[a] < label[b]; });
}

}  // namespace

void community_order(const Graph& graph, void* order) {
    if (graph.rowptr.wide)
        label_propagation(graph, static_cast<int64_t*>(order));
    else
        label_propagation(graph, static_cast<int32_t*>(order));
}

}  // namespace jj
