// One hop of the neighbour sampler.
#pragma once

#include <set>
#include <stdexcept>

#include "kernels/graph.h"
#include "sample/sample.h"

namespace fuzz {

// Memory of exactly n numbers, as a matrix of one row.
template <class I>
struct Row {
    std::vector<Memory>& memory;
    Matrix<I> operator()(const std::vector<int64_t>& values) const {
        const int64_t n = static_cast<int64_t>(values.size());
        memory.emplace_back(std::malloc(values.size() * sizeof(I)));
        I* data = static_cast<I*>(memory.back().get());
        for (int64_t i = 0; i < n; ++i) data[i] = static_cast<I>(values[i]);
        return {data, 1, n, n};
    }
};

// States one argument wrongly. Returns false where that cannot be done.
template <class I>
bool break_hop(jj::SampleHop<I>& a, uint8_t fault, uint8_t at) {
    Matrix<I>* const matrices[] = {&a.place, &a.edge, &a.local, &a.found, &a.nodes};
    Matrix<I>& x = *matrices[at % 5];
    switch (fault % 8) {
        case 0: return a.fanout = -2 - at, true;
        case 1: return a.first = a.last + 1, true;
        case 2: return a.first = -1, true;
        case 3: return a.last = a.nodes.width + 1 + at, true;
        case 4: return a.threads = -at, true;
        case 5: return x.rows = at % 3 * 2, true;
        case 6:
            if (x.width == 0) return false;
            return x.data = nullptr, true;
        default:
            if (at % 5 == 4) return false;  // the sample may have more room than it needs
            return x.width += at % 2 ? 1 : -1, true;
    }
}

template <class I>
void fuzz_sample_hop(const Header& header) {
    const int64_t n = nodes_of(header.rows);
    const Edges g = make_edges(header, n, n);
    Random random(header.number() + 2);
    std::vector<Memory> memory;
    const Row<I> row{memory};
    Arrays<float> arrays(header, 1, false);  // the first three arguments that may be stated wrongly

    jj::SampleHop<I> a;
    a.rowptr = arrays.index(g.rowptr, sizeof(I) == 8);
    a.col = arrays.index(g.col, sizeof(I) == 8);
    a.fanout = header.heads == 255 ? 600 : header.heads % 12 - 1;  // several threads take many edges only
    a.replace = header.flag(1);
    a.key = header.number() * 0x9E3779B97F4A7C15u;

    // Some nodes are in the sample already; the later ones of them take their edges.
    std::vector<int64_t> sample(n), place(n, -1), always(n, 0), ptr{0};
    std::iota(sample.begin(), sample.end(), 0);
    for (int64_t i = n - 1; i > 0; --i) std::swap(sample[i], sample[random.below(i + 1)]);
    a.last = header.groups == 255 ? n : header.groups % (n + 1);
    a.first = header.steps % (a.last + 1);
    sample.resize(a.last);
    for (int64_t i = 0; i < a.last; ++i) place[sample[i]] = i;
    const bool with_always = header.flag(2);
    for (int64_t v = 0; v < n; ++v) {
        const int64_t degree = g.rowptr[v + 1] - g.rowptr[v];
        always[v] = g.rowptr[v] + (degree ? random.below(degree) : 0);
    }
    for (int64_t i = a.first; i < a.last; ++i) {
        const int64_t degree = g.rowptr[sample[i] + 1] - g.rowptr[sample[i]], kept = with_always && degree > 0;
        const int64_t others = degree - kept;
        const int64_t taken = a.fanout < 0 || others == 0 ? others : a.replace ? a.fanout : std::min(others, a.fanout);
        ptr.push_back(ptr.back() + taken + kept);
    }
    const int64_t edges = ptr.back(), given = a.last;
    sample.resize(a.last + std::min(edges, n) + header.gaps % 2, -7);
    a.ptr = arrays.index(ptr, true);
    if (with_always) a.always = row(always);

    const auto run = [&](int threads) {
        a.nodes = row(sample), a.place = row(place), a.found = row({-7});
        a.edge = row(std::vector<int64_t>(edges, -7)), a.local = row(std::vector<int64_t>(edges, -7));
        a.threads = threads;
        bool broken = arrays.broken();
        if (header.fault >= 192 && header.fault_at % 40 > 2) broken = break_hop(a, header.fault, header.fault_at);
        try {
            jj::run(a);
        } catch (const std::invalid_argument&) {
            if (broken) return false;
            finding("sample", "a valid case was refused");
        }
        if (broken) finding("sample", "wrong sizes were not refused");
        return true;
    };
    if (!run(1)) return;
    const std::vector<I> edge(a.edge.data, a.edge.data + edges), local(a.local.data, a.local.data + edges);

    const int64_t size = a.found.data[0];
    if (size < given || size > a.nodes.width) finding("sample", "the size of the sample is impossible");
    std::set<I> nodes(a.nodes.data, a.nodes.data + size);
    if (static_cast<int64_t>(nodes.size()) != size) finding("sample", "a node is in the sample twice");
    for (int64_t i = 0; i < given; ++i)
        if (a.nodes.data[i] != sample[i]) finding("sample", "a node that was given has changed");
    for (int64_t i = 0; i < size; ++i)
        if (a.place.data[a.nodes.data[i]] != i) finding("sample", "a node is not in its place");
    for (int64_t i = a.first; i < a.last; ++i) {
        bool is_kept = !with_always || ptr[i - a.first] == ptr[i - a.first + 1];
        for (int64_t e = ptr[i - a.first]; e < ptr[i - a.first + 1]; ++e) {
            const int64_t v = sample[i];
            if (edge[e] < g.rowptr[v] || edge[e] >= g.rowptr[v + 1]) finding("sample", "an edge of another row");
            if (a.nodes.data[local[e]] != g.col[edge[e]]) finding("sample", "another source than that of the edge");
            if (e > ptr[i - a.first] && edge[e] < edge[e - 1] + !a.replace) finding("sample", "edges are not in order");
            is_kept |= edge[e] == always[v];
        }
        if (!is_kept) finding("sample", "the edge that is always taken was not");
    }
    run(2 + header.threads % 3);
    if (!std::equal(edge.begin(), edge.end(), a.edge.data) || !std::equal(local.begin(), local.end(), a.local.data))
        finding("sample", "results depend on the number of threads");
}

inline void fuzz_sample(const Header& header) {
    if (header.flag(0))
        fuzz_sample_hop<int64_t>(header);
    else
        fuzz_sample_hop<int32_t>(header);
}

}  // namespace fuzz
