#include "sample/sample.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/parallel.h"

namespace jj {
namespace {

constexpr int64_t kBlock = 256;      // rows of a unit
constexpr int64_t kThreaded = 8192;  // edges below which one thread is faster
constexpr int64_t kAhead = 16;       // entries to prefetch ahead of the one at work
constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

// The functions of ops/sample/reference.py with the same names.
inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline uint64_t absorb(uint64_t key, uint64_t number) { return mix((key ^ number) + kGolden); }

__extension__ typedef unsigned __int128 Wide;

inline int64_t below(uint64_t key, int64_t draw, int64_t n) {
    const uint64_t word = mix(key + (static_cast<uint64_t>(draw) + 1) * kGolden);
    return static_cast<int64_t>(static_cast<Wide>(word) * static_cast<uint64_t>(n) >> 64);
}

// How many of n edges a row takes.
inline int64_t picks(int64_t n, int64_t fanout, bool replace) {
    if (fanout < 0 || n == 0) return n;
    return replace ? fanout : std::min(n, fanout);
}

// Numbers of the edges that a row takes, ascending, to out[0, k).
template <class I>
void pick(uint64_t key, int64_t n, int64_t k, bool replace, std::vector<bool>& taken, I* out) {
    if (replace) {
        for (int64_t i = 0; i < k; ++i) out[i] = static_cast<I>(below(key, i, n));
    } else {  // Floyd's algorithm: every subset of k is as likely as any other
        if (static_cast<int64_t>(taken.size()) < n) taken.resize(n, false);
        for (int64_t i = 0, j = n - k; j < n; ++i, ++j) {
            const int64_t r = below(key, i, j + 1), chosen = taken[r] ? j : r;
            taken[chosen] = true;
            out[i] = static_cast<I>(chosen);
        }
        for (int64_t i = 0; i < k; ++i) taken[out[i]] = false;
    }
    std::sort(out, out + k);
}

template <class I>
struct Rows {
    const SampleHop<I>& a;
    const I *rowptr, *col;

    int64_t degree(int64_t v) const { return rowptr[v + 1] - rowptr[v]; }

    int64_t count(int64_t v) const {
        const int64_t kept = a.always && degree(v) > 0;
        return picks(degree(v) - kept, a.fanout, a.replace) + kept;
    }

    // Writes the edges of one row, and their sources in the graph to `local`.
    void take(int64_t i, std::vector<bool>& taken) const {
        const I v = a.nodes.data[a.first + i];
        const int64_t begin = rowptr[v], n = degree(v), slot = a.ptr[i], size = a.ptr[i + 1] - slot;
        I *edge = a.edge.data + slot, *local = a.local.data + slot;
        if (size == n && !(a.replace && a.fanout >= 0)) {
            for (int64_t j = 0; j < size; ++j) edge[j] = static_cast<I>(begin + j);
        } else if (size > 0) {
            const uint64_t key = absorb(a.key, static_cast<uint64_t>(v));
            if (a.always) {
                const I kept = a.always.data[v];
                pick(key, n - 1, size - 1, a.replace, taken, edge);
                for (int64_t j = 0; j < size - 1; ++j) edge[j] += static_cast<I>(begin), edge[j] += edge[j] >= kept;
                edge[size - 1] = kept;
                std::inplace_merge(edge, edge + size - 1, edge + size);
            } else {
                pick(key, n, size, a.replace, taken, edge);
                for (int64_t j = 0; j < size; ++j) edge[j] += static_cast<I>(begin);
            }
        }
        for (int64_t j = 0; j < size; ++j) local[j] = col[edge[j]];
    }

    // The sources become numbers in the sample, in the order in which they come.
    int64_t number() const {
        I *place = a.place.data, *local = a.local.data, *nodes = a.nodes.data;
        int64_t size = a.last;
        const int64_t edges = a.edge.width;
        for (int64_t e = 0; e < edges; ++e) {
            if (e + kAhead < edges) __builtin_prefetch(place + local[e + kAhead], 1);
            const I w = local[e];
            if (place[w] < 0) {
                place[w] = static_cast<I>(size);
                nodes[size++] = w;
            }
            local[e] = place[w];
        }
        return size;
    }
};

template <class I>
void check(const SampleHop<I>& a, const Rows<I>& rows, int64_t n) {
    const int64_t edges = a.edge.width;
    require(a.fanout >= -1, "fanout must be at least 0, or -1 for all");
    require(a.fanout < std::numeric_limits<int64_t>::max(), "fanout leaves no room for a self-loop");
    require(0 <= a.first && a.first <= a.last, "first and last are no range of nodes");
    require(a.nodes.width >= a.last, "last is beyond the nodes");
    require(a.nodes.width - a.last >= std::min(edges, n), "nodes has no room for all sources");
    expect(a.nodes, "nodes", 1, a.nodes.width);
    expect(a.place, "place", 1, n);
    if (a.always) expect(a.always, "always", 1, n);
    expect(a.edge, "edge", 1, edges);
    expect(a.local, "local", 1, edges);
    expect(a.found, "found", 1, 1);
    expect_pointer(a.ptr, "ptr", a.last - a.first, edges, true);
    for (int64_t i = 0; i < a.last - a.first; ++i) {
        const int64_t begin = a.ptr[i], end = a.ptr[i + 1];
        require(0 <= begin && begin <= end && end <= edges, "ptr does not ascend to the number of edges");  // no wrap
        require(end - begin == rows.count(a.nodes.data[a.first + i]), "ptr does not fit the fanout");
    }
}

}  // namespace

template <class I>
void run(const SampleHop<I>& a) {
    expect_threads(a.threads);
    const bool wide = sizeof(I) == 8;
    const int64_t n = a.rowptr.size - 1;
    expect(a.col, "col", a.col.size, wide);
    expect_pointer(a.rowptr, "rowptr", n, a.col.size, wide);
    const Rows<I> rows{a, static_cast<const I*>(a.rowptr.data), static_cast<const I*>(a.col.data)};
    check(a, rows, n);
    const int64_t count = a.last - a.first;
    const int threads = a.edge.width < kThreaded ? 1 : a.threads;
    std::vector<std::vector<bool>> taken(threads);
    parallel_for((count + kBlock - 1) / kBlock, threads, [&](int64_t block, int thread) {
        const int64_t end = std::min((block + 1) * kBlock, count);
        for (int64_t i = block * kBlock; i < end; ++i) rows.take(i, taken[thread]);
    });
    a.found.data[0] = static_cast<I>(rows.number());
}

template void run<int32_t>(const SampleHop<int32_t>&);
template void run<int64_t>(const SampleHop<int64_t>&);

}  // namespace jj
