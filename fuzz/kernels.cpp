// The kernels through their argument structs, by libFuzzer: each input of 23 bytes is one case (kernels/header.h).
//
// A case allocates every array with exactly the size that it states and runs forward and backward. The sanitizers watch
// the memory. Beyond that: wrong sizes are refused, all outputs are written and nothing between their rows, results are
// finite for finite input, padding is zero, the bits do not depend on the number of threads, and forward agrees with the
// obvious loop.
#include "common/isa.h"
#include "kernels/layers.h"
#include "kernels/rows.h"
#include "kernels/sample.h"

namespace {

template <class S>
void run_operator(const fuzz::Header& header) {
    switch (header.op % 8) {
        case 0: return fuzz::fuzz_layout<S>(header);
        case 1: return header.flag(2) ? fuzz::fuzz_mix<S>(header) : fuzz::fuzz_dropout<S>(header);
        case 2: return fuzz::fuzz_grouped<S>(header);
        case 3: return fuzz::fuzz_spmm<S>(header);
        case 4: return fuzz::fuzz_gat<S>(header);
        case 5: return fuzz::check_order(header);
        case 7: return fuzz::fuzz_sample(header);
        default: return fuzz::fuzz_dna<S>(header);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::Header header(data, size);
    static const std::vector<std::string> isas = jj::available_isas();
    jj::set_isa(isas[header.isa % isas.size()]);
    if (header.type % 2)
        run_operator<double>(header);
    else
        run_operator<float>(header);
    return 0;
}
