// How the rows of a sparse matrix are dealt out to threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/types.h"

namespace jj {

constexpr int64_t kUnitCost = 512;  // edges and rows of a unit: enough to hide the cost of fetching one

// Units in the order of the rows, and the long rows: (row, first slot, last slot).
struct LongRow {
    int64_t row, first, last;
};

struct Schedule {
    std::vector<Unit> units;
    std::vector<LongRow> long_rows;
    int64_t partials = 0;
};

inline Schedule make_schedule(const Index& ptr, int64_t rows, const Index& order = {}) {
    Schedule schedule;
    int64_t first = 0, cost = 0;
    const auto flush = [&](int64_t end) {
        if (end > first) schedule.units.push_back({first, end, 0, 0, -1});
        first = end;
        cost = 0;
    };
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t v = order ? order[i] : i, begin = ptr[v], end = ptr[v + 1];
        if (end - begin > kChunkEdges) {
            flush(i);
            first = i + 1;
            const int64_t slot = schedule.partials;
            for (int64_t e = begin; e < end; e += kChunkEdges)
                schedule.units.push_back({v, v + 1, e, std::min(e + kChunkEdges, end), schedule.partials++});
            schedule.long_rows.push_back({v, slot, schedule.partials});
            continue;
        }
        cost += end - begin + 1;
        if (cost >= kUnitCost) flush(i + 1);
    }
    flush(rows);
    return schedule;
}

// Adds slots [first + 1, last) to slot `first`, in order.
template <class S>
S* add_slots(S* partials, int64_t size, const LongRow& row) {
    S* sum = partials + row.first * size;
    for (int64_t p = row.first + 1; p < row.last; ++p)
        for (int64_t i = 0; i < size; ++i) sum[i] += partials[p * size + i];
    return sum;
}

}  // namespace jj
