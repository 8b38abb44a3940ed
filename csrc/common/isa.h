// Which instruction set the kernels use.
#pragma once

#include <string>
#include <vector>

#include "common/kernels.h"

namespace jj {

// The best one the machine has, unless set_isa chose another.
const Isa& active_isa();
std::vector<std::string> available_isas();

// Throws std::invalid_argument if the machine or the build lacks it.
void set_isa(const std::string& name);

template <class S>
const Kernels<S>& kernels();

}  // namespace jj
