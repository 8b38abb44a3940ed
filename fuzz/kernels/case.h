// What the operators' cases share: sizes, and the call with one thread and with several.
#pragma once

#include <stdexcept>

#include "common/buffer.h"
#include "kernels/reference.h"

namespace fuzz {

constexpr int64_t kReferenceWork = 100000;  // multiplications of the obvious loop; larger cases go without it

template <class S>
struct Case {
    const Header& header;
    double size;  // of the numbers
    Arrays<S> arrays;
    int64_t rows, cols, heads, channels, groups, steps;
    jj::Layout layout;
    double dropout;
    uint64_t seed;
    bool wide;

    explicit Case(const Header& h)
        : header(h), size(size_of(h.values)), arrays(h, size, size > 1000 || h.values >= 240), rows(nodes_of(h.rows)),
          cols(nodes_of(h.cols)), wide(h.flag(0)) {
        constexpr int64_t head_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32};
        constexpr int64_t channel_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
        heads = choose(head_counts, h.heads);
        channels = choose(channel_counts, h.channels);
        steps = 1 + h.steps % 6;
        // Large in one respect at a time: small cases find more in the same time.
        if (std::max(rows, cols) > 18 || h.graph % 8 >= 6) {
            if (heads * channels > 32) channels = 2;
            steps = 1 + h.steps % 2;
        } else if (heads * channels > 128) {
            channels = 4;
        }
        layout = jj::make_layout<S>(heads, channels);
        groups = divisor(heads * channels, h.groups, 1);
        constexpr double rates[] = {0, 0, 0.1, 0.5, 0.8, 0.999, 0.9999999999, 1e-12};
        dropout = choose(rates, h.dropout);
        seed = (h.number() << 32) ^ h.number() * 0x9E3779B97F4A7C15u;
    }

    int64_t width() const { return heads * channels; }
    jj::Dropout<double> mask() const { return jj::make_dropout<double>(dropout, seed); }
    bool comparable(int64_t work) const { return size <= 1 && arrays.tame() && work <= kReferenceWork; }

    // The byte-th divisor of n that is a multiple of `of`.
    static int64_t divisor(int64_t n, uint8_t byte, int64_t of) {
        std::vector<int64_t> all;
        for (int64_t k = of; k <= n; k += of)
            if (n % k == 0) all.push_back(k);
        return all[byte % all.size()];
    }
    static double size_of(uint8_t byte) {
        if (byte < 180) return 1;
        if (byte < 190) return 0;
        if (byte < 200) return 1e-38;
        return byte < 220 ? 1000 : 1e18;
    }
};

// Calls run(threads). What is stated wrongly must be refused; else the outputs must have the same bits for one thread and
// for several. Returns whether there are outputs to look at.
template <class S, class Run>
bool run_case(const char* name, Case<S>& c, Run run) {
    // Working memory that is kept from call to call would hide steps beyond a smaller piece of it.
    std::unique_ptr<jj::Workspace<S>> busy;
    if (c.header.threads & 128) busy = std::make_unique<jj::Workspace<S>>(1);
    const int threads = c.arrays.threads(2 + c.header.threads % 3);
    c.arrays.reset_outputs();
    try {
        run(threads);
    } catch (const std::invalid_argument& error) {
        if (c.arrays.broken()) return false;
        std::fprintf(stderr, "%s\n", error.what());
        finding(name, "a valid case was refused");
    }
    if (c.arrays.broken()) {
        std::fprintf(stderr, "fault %d (kernels/memory.h) in argument %d\n", 1 + c.header.fault % 8,
                     c.header.fault_at % 40);
        finding(name, "wrong sizes were not refused");
    }
    const auto several = c.arrays.read_outputs();
    c.arrays.reset_outputs();
    run(1);
    if (several != c.arrays.read_outputs()) finding(name, "results depend on the number of threads");
    return true;
}

}  // namespace fuzz
