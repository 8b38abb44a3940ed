// Neighbour sampling: one hop.
#pragma once

#include "kernels/case.h"
#include "sample/sample.h"

namespace fuzz {

// A row of numbers of exactly this size, so that the sanitizer sees every step beyond it.
template <class I>
class Row {
  public:
    explicit Row(int64_t size, I value = 0) : memory_(std::malloc(size * sizeof(I))), size_(size) {
        std::fill_n(data(), size, value);
    }
    I* data() const { return static_cast<I*>(memory_.get()); }
    Matrix<I> matrix() const { return {data(), 1, size_, size_}; }
    std::vector<I> values() const { return {data(), data() + size_}; }

  private:
    Memory memory_;
    int64_t size_;
};

template <class I>
void fuzz_hop(const Header& header) {
    const int64_t n = nodes_of(header.rows);
    const Edges g = make_edges(header, n, n);
    const bool wide = sizeof(I) == 8, replace = header.flag(1);
    const int64_t fanout = header.steps % 9 - 1;
    std::vector<int64_t> loops(n, -1);
    bool looped = header.flag(2) && n > 0;  // each row keeps its first edge
    for (int64_t v = 0; v < n; ++v) {
        loops[v] = g.rowptr[v];
        looped &= g.rowptr[v] < g.rowptr[v + 1];
    }
    Random random(header.number() + 2);
    const int64_t seeds = n == 0 ? 0 : header.cols % (n + 1);
    std::vector<int64_t> ptr(1, 0);
    std::vector<I> chosen;
    for (int64_t i = 0; i < seeds; ++i) {
        const int64_t v = (header.number() + i) % n, degree = g.rowptr[v + 1] - g.rowptr[v] - looped;
        const int64_t some = replace ? (degree > 0 ? fanout : 0) : std::min(degree, fanout);
        ptr.push_back(ptr.back() + (fanout < 0 ? degree : some) + looped);
        chosen.push_back(static_cast<I>(v));
    }
    const int64_t edges = ptr.back();

    Arrays<float> arrays(header, 1, false);  // states index arrays wrongly, where the case says so
    jj::SampleHop<I> a;
    a.rowptr = arrays.index(g.rowptr, wide), a.col = arrays.index(g.col, wide), a.ptr = arrays.index(ptr, true);
    a.fanout = fanout, a.replace = replace, a.key = header.number(), a.last = seeds;
    if (arrays.scalar(1) != 1) a.first = seeds + 1;
    const Row<I> nodes(seeds + std::min(edges, n)), place(n, -1), edge(edges), local(edges), found(1), always(n);
    std::copy(loops.begin(), loops.end(), always.data());
    a.nodes = nodes.matrix(), a.place = place.matrix(), a.found = found.matrix();
    a.edge = edge.matrix(), a.local = local.matrix();
    if (looped) a.always = always.matrix();
    std::vector<I> before;
    for (const int threads : {3, 1}) {
        std::copy(chosen.begin(), chosen.end(), nodes.data());
        std::fill_n(place.data(), n, I(-1));
        for (int64_t i = seeds - 1; i >= 0; --i) place.data()[chosen[i]] = static_cast<I>(i);
        a.threads = threads;
        try {
            jj::run(a);
        } catch (const std::invalid_argument& error) {
            if (arrays.broken()) return;
            std::fprintf(stderr, "%s\n", error.what());
            finding("sample", "a valid case was refused");
        }
        if (arrays.broken()) finding("sample", "wrong sizes were not refused");
        for (int64_t i = 0; i < seeds; ++i)
            for (int64_t e = ptr[i]; e < ptr[i + 1]; ++e) {
                const int64_t at = edge.data()[e], v = chosen[i];
                if (at < g.rowptr[v] || at >= g.rowptr[v + 1]) finding("sample", "an edge of another row");
                if (nodes.data()[local.data()[e]] != g.col[at]) finding("sample", "another source");
                if (!replace && e > ptr[i] && at <= edge.data()[e - 1]) finding("sample", "an edge comes twice");
            }
        std::vector<I> now = edge.values();
        for (const I x : local.values()) now.push_back(x);
        if (threads == 1 && now != before) finding("sample", "results depend on the number of threads");
        before = now;
    }
}

inline void fuzz_sample(const Header& header) {
    if (header.flag(0))
        fuzz_hop<int64_t>(header);
    else
        fuzz_hop<int32_t>(header);
}

}  // namespace fuzz
