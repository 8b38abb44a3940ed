// What the fuzzer's bytes say: one byte for each property of a case. fuzz/seeds.py writes the same bytes by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fuzz {

struct Header {
    uint8_t op, type, isa, threads;
    uint8_t fault, fault_at;  // what is stated wrongly, and in which argument
    uint8_t values;           // how large the numbers are
    uint8_t seed[4];          // of the numbers and of the graph
    uint8_t graph, rows, cols, edges;
    uint8_t heads, channels, groups, steps;
    uint8_t flags[2];
    uint8_t dropout, gaps;

    Header(const uint8_t* data, size_t size) {
        static_assert(sizeof(Header) == 23, "bytes only");
        std::memset(static_cast<void*>(this), 0, sizeof(Header));
        std::memcpy(static_cast<void*>(this), data, size < sizeof(Header) ? size : sizeof(Header));
    }
    bool flag(int i) const { return flags[i / 8] >> (i % 8) & 1; }
    uint64_t number() const {
        uint32_t low;
        std::memcpy(&low, seed, sizeof low);
        return low;
    }
};

template <class T, size_t N>
T choose(const T (&list)[N], uint8_t byte) {
    return list[byte % N];
}

// A truth that does not hold: the fuzzer takes the abort for a crash and keeps the input.
[[noreturn]] inline void finding(const char* name, const char* what) {
    std::fprintf(stderr, "FINDING: %s: %s\n", name, what);
    std::abort();
}

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
    // In [-1, 1).
    double uniform() { return static_cast<double>(next() >> 11) / 4503599627370496.0 - 1; }

  private:
    uint64_t state_;
};

}  // namespace fuzz
