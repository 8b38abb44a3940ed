// The kernels for one instruction set. Compiled once for each, with JJ_ISA, JJ_TABLE and JJ_BYTES set by the build.
#include "diagonal.h"
#include "dna_forward.h"
#include "dna_history.h"
#include "dna_query.h"
#include "elementwise.h"
#include "gat.h"
#include "grouped.h"
#include "sparse_backward.h"
#include "sparse_forward.h"
#include "spmm.h"

#define JJ_STRING2(x) #x
#define JJ_STRING(x) JJ_STRING2(x)

namespace jj {
namespace JJ_ISA {

template <class S>
constexpr Kernels<S> table() {
    return {dna_forward<S>,         dna_backward_query<S>, dna_backward_history<S>, dna_write_history<S>,
            sparse_forward<S>,      sparse_target<S>,      sparse_source<S>,
            gat_forward<S>,         gat_finish<S>,         gat_prepare<S>,          gat_backward<S>,
            spmm<S>,                sddmm<S>,              grouped_workspace<S>,    grouped_pack<S>,
            grouped_forward<S>,     grouped_weight_grad<S>, grouped_unpack<S>,      diagonal_map<S>,
            diagonal_weight_grad<S>, dropout_forward<S>,   dropout_backward<S>,    pack<S>,               unpack<S>};
}

}  // namespace JJ_ISA

extern const Isa JJ_TABLE = {JJ_STRING(JJ_ISA), JJ_ISA::table<float>(), JJ_ISA::table<double>()};

}  // namespace jj
