// The Python module justjump._native: the arguments of each operator, field by field, and the calls that take them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "common/buffer.h"
#include "common/isa.h"
#include "common/parallel.h"
#include "dna/layer.h"
#include "dropout/dropout.h"
#include "gat/gat.h"
#include "graph/order.h"
#include "grouped/grouped.h"
#include "layout/layout.h"
#include "mix/mix.h"
#include "sample/sample.h"
#include "spmm/spmm.h"

namespace nb = nanobind;

namespace jj {
namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

// A struct of arguments: made empty, its fields set by name. A name that does not exist is an AttributeError.
template <class A>
nb::class_<A> arguments(nb::module_& m, const std::string& name) {
    return nb::class_<A>(m, name.c_str()).def(nb::init<>());
}

template <class A>
nb::class_<A> operation(nb::module_& m, const std::string& name) {
    return arguments<A>(m, name).def("run", [](const A& a) { run(a); }, Release()).def_rw("threads", &A::threads);
}

#define JJ_FIELD(name) .def_rw(#name, &A::name)

template <class S>
void bind_matrix(nb::module_& m, const std::string& suffix) {
    nb::class_<Matrix<S>>(m, ("Matrix" + suffix).c_str())
        .def("__init__", [](Matrix<S>* x, uintptr_t address, int64_t rows, int64_t width, int64_t stride) {
            new (x) Matrix<S>{reinterpret_cast<S*>(address), rows, width, stride};
        });
}

template <class A>
void bind_repack(nb::module_& m, const std::string& name) {
    operation<A>(m, name) JJ_FIELD(heads) JJ_FIELD(channels) JJ_FIELD(standard) JJ_FIELD(packed);
}

template <class S>
void bind_layout(nb::module_& m, const std::string& suffix) {
    bind_repack<Pack<S>>(m, "Pack" + suffix);
    bind_repack<Unpack<S>>(m, "Unpack" + suffix);
}

template <class S>
void bind_dropout(nb::module_& m, const std::string& suffix) {
    {
        using A = DropoutForward<S>;
        operation<A>(m, "DropoutForward" + suffix) JJ_FIELD(dropout) JJ_FIELD(seed) JJ_FIELD(first) JJ_FIELD(relu)
            JJ_FIELD(x) JJ_FIELD(y);
    }
    using A = DropoutBackward<S>;
    operation<A>(m, "DropoutBackward" + suffix) JJ_FIELD(dropout) JJ_FIELD(y) JJ_FIELD(grad_y) JJ_FIELD(grad_x);
}

template <class S>
void bind_mix(nb::module_& m, const std::string& suffix) {
    {
        using A = MixForward<S>;
        operation<A>(m, "MixForward" + suffix) JJ_FIELD(share) JJ_FIELD(x) JJ_FIELD(other) JJ_FIELD(y);
    }
    using A = MixBackward<S>;
    operation<A>(m, "MixBackward" + suffix) JJ_FIELD(share) JJ_FIELD(y) JJ_FIELD(grad_y) JJ_FIELD(grad_x)
        JJ_FIELD(grad_other);
}

template <class S>
void bind_grouped(nb::module_& m, const std::string& suffix) {
    {
        using A = GroupedForward<S>;
        operation<A>(m, "GroupedForward" + suffix) JJ_FIELD(heads) JJ_FIELD(channels) JJ_FIELD(groups)
            JJ_FIELD(transpose) JJ_FIELD(weight) JJ_FIELD(bias) JJ_FIELD(x) JJ_FIELD(y);
    }
    using A = GroupedWeightGrad<S>;
    operation<A>(m, "GroupedWeightGrad" + suffix) JJ_FIELD(heads) JJ_FIELD(channels) JJ_FIELD(groups) JJ_FIELD(x)
        JJ_FIELD(grad_y) JJ_FIELD(grad_weight) JJ_FIELD(grad_bias);
}

template <class S>
void bind_spmm(nb::module_& m, const std::string& suffix) {
    {
        using A = SpmmForward<S>;
        operation<A>(m, "SpmmForward" + suffix) JJ_FIELD(rowptr) JJ_FIELD(col) JJ_FIELD(position) JJ_FIELD(weight)
            JJ_FIELD(ordered) JJ_FIELD(dropout) JJ_FIELD(seed) JJ_FIELD(first) JJ_FIELD(x) JJ_FIELD(out);
    }
    using A = SpmmWeightGrad<S>;
    operation<A>(m, "SpmmWeightGrad" + suffix) JJ_FIELD(rowptr) JJ_FIELD(col) JJ_FIELD(x) JJ_FIELD(grad_out)
        JJ_FIELD(grad_weight);
}

// What both directions of graph attention take.
template <class A>
nb::class_<A> bind_gat_layer(nb::module_& m, const std::string& name) {
    return operation<A>(m, name) JJ_FIELD(graph) JJ_FIELD(heads) JJ_FIELD(channels) JJ_FIELD(slope) JJ_FIELD(dropout)
        JJ_FIELD(seed) JJ_FIELD(first) JJ_FIELD(value) JJ_FIELD(score_source) JJ_FIELD(score_target) JJ_FIELD(out)
            JJ_FIELD(sloped) JJ_FIELD(state);
}

template <class S>
void bind_gat(nb::module_& m, const std::string& suffix) {
    bind_gat_layer<GatForward<S>>(m, "GatForward" + suffix);
    using A = GatBackward<S>;
    bind_gat_layer<A>(m, "GatBackward" + suffix) JJ_FIELD(grad_out) JJ_FIELD(grad_value) JJ_FIELD(grad_source)
        JJ_FIELD(grad_target);
}

// What both directions of a DNA layer take.
template <class A>
nb::class_<A> bind_dna_layer(nb::module_& m, const std::string& name) {
    return operation<A>(m, name) JJ_FIELD(graph) JJ_FIELD(heads) JJ_FIELD(groups) JJ_FIELD(folded) JJ_FIELD(packed)
        JJ_FIELD(relu) JJ_FIELD(dropout) JJ_FIELD(seed) JJ_FIELD(first) JJ_FIELD(edge_weight) JJ_FIELD(query_weight)
            JJ_FIELD(query_bias) JJ_FIELD(key_weight) JJ_FIELD(key_bias) JJ_FIELD(value_weight) JJ_FIELD(value_bias)
                JJ_FIELD(step_bias) JJ_FIELD(qk_scale) JJ_FIELD(history) JJ_FIELD(newest) JJ_FIELD(queries)
                    JJ_FIELD(keys) JJ_FIELD(folded_queries) JJ_FIELD(score_bias) JJ_FIELD(aggregate) JJ_FIELD(total)
                        JJ_FIELD(query_factor) JJ_FIELD(key_factor);
}

template <class S>
void bind_dna(nb::module_& m, const std::string& suffix) {
    {
        using A = DnaForward<S>;
        bind_dna_layer<A>(m, "DnaForward" + suffix) JJ_FIELD(given) JJ_FIELD(given_newest) JJ_FIELD(out);
    }
    using A = DnaBackward<S>;
    bind_dna_layer<A>(m, "DnaBackward" + suffix) JJ_FIELD(out) JJ_FIELD(grad_out) JJ_FIELD(grad_query_weight)
        JJ_FIELD(grad_query_bias) JJ_FIELD(grad_key_weight) JJ_FIELD(grad_key_bias) JJ_FIELD(grad_value_weight)
            JJ_FIELD(grad_value_bias) JJ_FIELD(grad_edge_weight) JJ_FIELD(grad_history) JJ_FIELD(grad_newest)
                JJ_FIELD(grad_step_bias) JJ_FIELD(grad_qk_scale) JJ_FIELD(keep_scores);
}

template <class S>
void bind_operators(nb::module_& m, const std::string& suffix) {
    bind_matrix<S>(m, suffix);
    bind_layout<S>(m, suffix);
    bind_dropout<S>(m, suffix);
    bind_mix<S>(m, suffix);
    bind_grouped<S>(m, suffix);
    bind_spmm<S>(m, suffix);
    bind_gat<S>(m, suffix);
    bind_dna<S>(m, suffix);
}

template <class I>
void bind_sample(nb::module_& m, const std::string& suffix) {
    bind_matrix<I>(m, suffix);
    using A = SampleHop<I>;
    operation<A>(m, "SampleHop" + suffix) JJ_FIELD(rowptr) JJ_FIELD(col) JJ_FIELD(always) JJ_FIELD(fanout)
        JJ_FIELD(replace) JJ_FIELD(key) JJ_FIELD(first) JJ_FIELD(last) JJ_FIELD(nodes) JJ_FIELD(place) JJ_FIELD(ptr)
            JJ_FIELD(edge) JJ_FIELD(local) JJ_FIELD(found);
}

void bind_graph(nb::module_& m) {
    nb::class_<Index>(m, "Index").def("__init__", [](Index* x, uintptr_t address, int64_t size, bool wide) {
        new (x) Index{reinterpret_cast<const void*>(address), size, wide};
    });
    using A = Graph;
    arguments<A>(m, "Graph") JJ_FIELD(rows) JJ_FIELD(cols) JJ_FIELD(edges) JJ_FIELD(rowptr) JJ_FIELD(col)
        JJ_FIELD(colptr) JJ_FIELD(row) JJ_FIELD(position) JJ_FIELD(order);
    m.def(
        "community_order",
        [](const Graph& g, uintptr_t order) {
            check(g, false);
            require(g.rows == g.cols, "communities are those of a square graph");
            community_order(g, reinterpret_cast<void*>(order));
        },
        Release());
    m.attr("CHUNK_EDGES") = kChunkEdges;
}

void bind_machine(nb::module_& m) {
    m.def("isa", [] { return std::string(active_isa().name); });
    m.def("available_isas", &available_isas);
    m.def("set_isa", &set_isa);
    m.def("thread_backend", [] { return std::string(thread_backend()); });
    m.def("use_openmp", [](uintptr_t parallel, uintptr_t get_thread_num) {
        use_openmp(reinterpret_cast<void*>(parallel), reinterpret_cast<void*>(get_thread_num));
    });
    m.def("advise_huge_pages", &advise_huge_pages);
}

}  // namespace
}  // namespace jj

NB_MODULE(_native, m) {
    jj::bind_machine(m);
    jj::bind_graph(m);
    jj::bind_operators<float>(m, "F32");
    jj::bind_operators<double>(m, "F64");
    jj::bind_sample<int32_t>(m, "I32");
    jj::bind_sample<int64_t>(m, "I64");
}
