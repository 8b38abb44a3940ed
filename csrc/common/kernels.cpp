// The kernels for one instruction set. Compiled once for each, with JJ_ISA, JJ_TABLE and JJ_BYTES set by the build.
#include "common/kernels.h"

#include "dna/kernel_forward.h"
#include "dna/kernel_history.h"
#include "dna/kernel_query.h"
#include "dna/kernel_unit.h"
#include "dropout/kernel.h"
#include "gat/kernel.h"
#include "grouped/kernel.h"
#include "layout/kernel.h"
#include "spmm/kernel.h"

#define JJ_STRING2(x) #x
#define JJ_STRING(x) JJ_STRING2(x)

namespace jj {
namespace JJ_ISA {

// Constant, so that no code of this instruction set runs when the module is loaded.
template <class S>
constexpr Kernels<S> table() {
    Kernels<S> k{};
    k.dna_forward = dna_forward<S>;
    k.dna_backward_query = dna_backward_query<S>;
    k.dna_backward_history = dna_backward_history<S>;
    k.dna_write_history = dna_write_history<S>;
    k.unit_length = unit_length<S>;
    k.unit_gradient = unit_gradient<S>;
    k.scale_heads = scale_heads<S>;
    k.gat_forward = gat_forward<S>;
    k.gat_finish = gat_finish<S>;
    k.gat_prepare = gat_prepare<S>;
    k.gat_backward = gat_backward<S>;
    k.spmm = spmm<S>;
    k.sddmm = sddmm<S>;
    k.grouped_workspace = grouped_workspace<S>;
    k.grouped_pack = grouped_pack<S>;
    k.grouped_forward = grouped_forward<S>;
    k.grouped_weight_grad = grouped_weight_grad<S>;
    k.grouped_unpack = grouped_unpack<S>;
    k.dropout_forward = dropout_forward<S>;
    k.dropout_backward = dropout_backward<S>;
    k.pack = pack<S>;
    k.unpack = unpack<S>;
    return k;
}

}  // namespace JJ_ISA

extern const Isa JJ_TABLE = {JJ_STRING(JJ_ISA), JJ_ISA::table<float>(), JJ_ISA::table<double>()};

}  // namespace jj
