// Runs a kernel over the units of a schedule.
#pragma once

#include <algorithm>

#include "common/buffer.h"
#include "common/isa.h"
#include "common/parallel.h"
#include "common/schedule.h"

namespace jj {

constexpr int64_t kRowBlock = 64;  // rows of a unit in passes without edges

// Edges to prefetch ahead of the one at work: 4 KB. More would push lines out of L1 before their use.
inline int64_t edges_ahead(int64_t bytes_per_edge) { return std::clamp<int64_t>(4096 / bytes_per_edge, 1, 8); }

// Each thread gets `scratch_size` scalars.
template <class S, class A>
void run_units(const Schedule& schedule, const A& a, void (*kernel)(const A&, const Unit&, S*), int64_t scratch_size,
               int threads) {
    const int64_t size = round_up(scratch_size, kAlign<S>) + kAlign<S>;
    const Buffer<S> scratch(size * threads);
    parallel_for(static_cast<int64_t>(schedule.units.size()), threads,
                 [&](int64_t i, int thread) { kernel(a, schedule.units[i], scratch.get() + thread * size); });
}

// Calls f(first row, number of rows, thread) for each block of rows.
template <class F>
void run_rows(int64_t rows, int threads, F f) {
    parallel_for((rows + kRowBlock - 1) / kRowBlock, threads,
                 [&](int64_t i, int thread) { f(i * kRowBlock, std::min(kRowBlock, rows - i * kRowBlock), thread); });
}

}  // namespace jj
