// An order of the nodes in which neighbours of neighbours come soon after each other.
#pragma once

#include "common/types.h"

namespace jj {

// Writes a permutation of the graph's nodes to `order` (int32 or int64 as the graph's indices).
void community_order(const Graph& graph, void* order);

}  // namespace jj
