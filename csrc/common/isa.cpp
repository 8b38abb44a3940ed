#include "common/isa.h"

#include <stdexcept>

namespace jj {
namespace {

std::vector<const Isa*> supported() {
    std::vector<const Isa*> list;
#if defined(JJ_X86)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        list.push_back(&kAvx512);
    if (avx2) list.push_back(&kAvx2);
#endif
    list.push_back(&kBaseline);
    return list;
}

const Isa* active = supported().front();

}  // namespace

const Isa& active_isa() { return *active; }

std::vector<std::string> available_isas() {
    std::vector<std::string> names;
    for (const Isa* isa : supported()) names.push_back(isa->name);
    return names;
}

void set_isa(const std::string& name) {
    std::string all;
    for (const Isa* isa : supported()) {
        if (name == isa->name) {
            active = isa;
            return;
        }
        all += all.empty() ? isa->name : std::string(", ") + isa->name;
    }
    throw std::invalid_argument("instruction set '" + name + "' is unknown or not supported here: choose from " + all);
}

template <>
const Kernels<float>& kernels<float>() {
    return active->f32;
}
template <>
const Kernels<double>& kernels<double>() {
    return active->f64;
}

}  // namespace jj
