// The Python module justjump._native. Addresses come as integers; ops/native has checked shapes and dtypes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "buffer.h"
#include "isa.h"
#include "layer.h"
#include "order.h"
#include "parallel.h"
#include "projection.h"
#include "run.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace jj {
namespace {

using Address = uintptr_t;
using Addresses = std::vector<Address>;
using Strides = std::vector<int64_t>;

template <class T>
T* at(Address address) {
    return reinterpret_cast<T*>(address);
}

template <class S>
std::vector<S*> pointers(const Addresses& addresses) {
    std::vector<S*> list;
    for (Address address : addresses) list.push_back(at<S>(address));
    return list;
}

int64_t padded_heads(int64_t heads) {
    int64_t p = 1;
    while (p < heads) p *= 2;
    return p;
}

template <class S>
Layout layout(int64_t heads, int64_t channels) {
    const int64_t lanes = 64 / static_cast<int64_t>(sizeof(S)), padded = padded_heads(heads);
    return {heads, channels, padded, (channels * padded + lanes - 1) / lanes * lanes};
}

template <class S>
Dropout<S> dropout(uint32_t threshold, uint64_t seed, double p) {
    const uint32_t key = mix32(mix32(static_cast<uint32_t>(seed)) ^ static_cast<uint32_t>(seed >> 32));
    return {threshold, key, threshold ? static_cast<S>(1 / (1 - p)) : S(1)};
}

void check_pointer(const Index& ptr, int64_t rows, int64_t edges, const char* name) {
    if (ptr && (ptr[0] != 0 || ptr[rows] != edges))
        throw std::invalid_argument(std::string(name) + " runs from " + std::to_string(ptr[0]) + " to " +
                                    std::to_string(ptr[rows]) + ", expected 0 to " + std::to_string(edges));
}

Graph graph(int64_t rows, int64_t cols, int64_t edges, bool wide, Address rowptr, Address col, Address colptr,
            Address row, Address position, Address order) {
    const auto index = [wide](Address a) { return Index{at<void>(a), wide}; };
    Graph g{rows, cols, edges, index(rowptr), index(col), index(colptr), index(row), index(position),
            index(order)};
    check_pointer(g.rowptr, rows, edges, "rowptr");
    check_pointer(g.colptr, cols, edges, "colptr");
    return g;
}

template <class S>
void dna(const Graph& g, int64_t heads, int64_t channels, double scale, uint32_t threshold, uint64_t seed, double p,
         Address weight, Address query, Address bias, const Addresses& keys, const Strides& key_strides,
         const Addresses& values, const Strides& value_strides, Address out, Address total, Address attention,
         Address grad_out, Address grad_total, Address grad_query, Address grad_bias, Address grad_weight,
         const Addresses& grad_keys, const Strides& grad_key_strides, const Addresses& grad_values,
         const Strides& grad_value_strides, bool accumulate, bool keep_scores, int threads) {
    Dna<S> a;
    a.graph = g;
    a.layout = layout<S>(heads, channels);
    a.dropout = dropout<S>(threshold, seed, p);
    a.steps = static_cast<int64_t>(keys.size());
    a.scale = static_cast<S>(scale);
    a.folded = bias != 0;
    a.weight = at<S>(weight);
    a.query = at<S>(query);
    a.bias = at<S>(bias);
    const auto k = pointers<const S>(keys), v = pointers<const S>(values);
    a.key = k.data();
    a.key_stride = key_strides.data();
    a.value = a.folded ? k.data() : v.data();
    a.value_stride = a.folded ? key_strides.data() : value_strides.data();
    a.out = at<S>(out);
    a.total = at<S>(total);
    a.attention = at<S>(attention);
    if (out) return run_dna_forward(a, threads);

    a.grad_out = at<S>(grad_out);
    a.grad_total = at<S>(grad_total);
    a.grad_query = at<S>(grad_query);
    a.grad_bias = at<S>(grad_bias);
    a.grad_weight = at<S>(grad_weight);
    const auto dk = pointers<S>(grad_keys), dv = pointers<S>(grad_values);
    a.grad_key = dk.empty() ? nullptr : dk.data();
    a.grad_key_stride = grad_key_strides.data();
    a.grad_value = dv.data();
    a.grad_value_stride = grad_value_strides.data();
    a.accumulate = accumulate;
    keep_scores = a.grad_query && (keep_scores || !a.folded);  // the separate form cannot do without
    const KeptBuffer<S> scores(keep_scores ? score_size(a) : 0);
    a.grad_score = keep_scores ? scores.get() : nullptr;
    run_dna_backward(a, threads);
}

template <class S>
std::vector<Matrix<S>> matrices(const Addresses& addresses, const Strides& strides) {
    std::vector<Matrix<S>> list;
    for (std::size_t i = 0; i < addresses.size(); ++i) list.push_back({at<S>(addresses[i]), strides[i]});
    return list;
}

// Takes the last matrix out of the list if it is the newest representation.
template <class S>
Matrix<S> take_newest(std::vector<Matrix<S>>& list, bool newest) {
    if (!newest || list.empty()) return {};
    const Matrix<S> last = list.back();
    list.pop_back();
    return last;
}

// projections: weight and bias of query, key and value. saved: queries, keys, folded, bias, aggregate, total,
// kept; the last in the sparse form only.
// given, history and grad_history: T matrices, then the newest if it is apart. Forward without grad_projections.
template <class S>
void layer(const Graph& g, int64_t heads, int64_t channels, int64_t groups, double scale, uint32_t threshold,
           uint64_t seed, double p, Address weight, const Addresses& projections, bool packed, bool relu, bool newest,
           const Addresses& given, const Strides& given_strides, const Addresses& history,
           const Strides& history_strides, const Addresses& saved, Address out, Address result, Address grad_out,
           const Addresses& grad_projections, const Addresses& grad_history,
           const Strides& grad_history_strides, bool keep_scores, int threads) {
    Layer<S> a;
    a.dna.graph = g;
    a.dna.layout = layout<S>(heads, channels);
    a.dna.dropout = dropout<S>(threshold, seed, p);
    a.dna.scale = static_cast<S>(scale);
    a.dna.weight = at<S>(weight);
    a.dna.folded = groups % heads == 0;
    a.groups = groups;
    a.packed = packed;
    a.relu = relu;
    a.given = matrices<const S>(given, given_strides);
    a.given_newest = take_newest(a.given, newest);
    a.history = matrices<S>(history, history_strides);
    a.newest = take_newest(a.history, newest);
    a.dna.steps = static_cast<int64_t>(a.history.size());
    Weights<S>* const weights[] = {&a.query, &a.key, &a.value};
    for (int i = 0; i < 3; ++i) {
        weights[i]->weight = at<S>(projections[2 * i]);
        weights[i]->bias = at<S>(projections[2 * i + 1]);
        if (grad_projections.empty()) continue;
        weights[i]->grad_weight = at<S>(grad_projections[2 * i]);
        weights[i]->grad_bias = at<S>(grad_projections[2 * i + 1]);
    }
    S** const parts[] = {&a.queries, &a.keys, &a.folded, &a.bias, &a.aggregate, &a.total, &a.kept};
    for (int i = 0; i < 7; ++i) *parts[i] = at<S>(saved[i]);
    a.sparse = a.kept != nullptr;
    a.out = at<S>(out);
    if (out) return run_layer_forward(a, threads);
    a.result = at<S>(result);
    a.grad_out = at<S>(grad_out);
    a.grad_history = matrices<S>(grad_history, grad_history_strides);
    a.grad_newest = take_newest(a.grad_history, newest);
    a.keep_scores = keep_scores;
    run_layer_backward(a, threads);
}

template <class S>
void gat(const Graph& g, int64_t heads, int64_t channels, double slope, uint32_t threshold, uint64_t seed, double p,
         Address value, Address source, Address target, Address out, Address sloped, Address state, Address attention,
         Address grad_out, Address grad_value, Address grad_source, Address grad_target, int threads) {
    Gat<S> a;
    a.graph = g;
    a.layout = layout<S>(heads, channels);
    a.dropout = dropout<S>(threshold, seed, p);
    a.slope = static_cast<S>(slope);
    a.value = at<S>(value);
    a.score_source = at<S>(source);
    a.score_target = at<S>(target);
    a.out = at<S>(out);
    a.sloped = at<S>(sloped);
    a.state = at<S>(state);
    a.attention = at<S>(attention);
    if (!grad_out) return run_gat_forward(a, threads);
    a.grad_out = at<S>(grad_out);
    a.grad_value = at<S>(grad_value);
    a.grad_source = at<S>(grad_source);
    a.grad_target = at<S>(grad_target);
    run_gat_backward(a, threads);
}

template <class S>
Spmm<S> sparse(int64_t rows, int64_t edges, int64_t width, bool wide, Address rowptr, Address col, Address x,
               int64_t x_stride) {
    Spmm<S> a;
    a.rows = rows;
    a.edges = edges;
    a.width = width;
    a.rowptr = {at<void>(rowptr), wide};
    a.col = {at<void>(col), wide};
    check_pointer(a.rowptr, rows, edges, "rowptr");
    a.x = at<S>(x);
    a.x_stride = x_stride;
    return a;
}

template <class S>
void spmm(int64_t rows, int64_t edges, int64_t width, bool wide, Address rowptr, Address col, Address position,
          Address weight, bool ordered, uint32_t threshold, uint64_t seed, double p, Address x, int64_t x_stride,
          Address out, int64_t out_stride, Address bias, bool accumulate, bool relu, int threads) {
    Spmm<S> a = sparse<S>(rows, edges, width, wide, rowptr, col, x, x_stride);
    a.position = {at<void>(position), wide};
    a.weight = at<S>(weight);
    a.ordered = ordered;
    a.dropout = dropout<S>(threshold, seed, p);
    a.out = at<S>(out);
    a.out_stride = out_stride;
    a.bias = at<S>(bias);
    a.accumulate = accumulate;
    a.relu = relu;
    run_spmm(a, threads);
}

template <class S>
void sddmm(int64_t rows, int64_t edges, int64_t width, bool wide, Address rowptr, Address col, Address x,
           int64_t x_stride, Address grad_out, int64_t grad_out_stride, Address grad_weight, int threads) {
    Spmm<S> a = sparse<S>(rows, edges, width, wide, rowptr, col, x, x_stride);
    a.grad_out = at<S>(grad_out);
    a.grad_out_stride = grad_out_stride;
    a.grad_weight = at<S>(grad_weight);
    run_sddmm(a, threads);
}

template <class S>
void grouped_forward(int64_t rows, int64_t heads, int64_t channels, int64_t groups, bool transpose, Address x,
                     int64_t x_stride, Address weight, Address bias, Address scale, Address dot_with, Address dot,
                     Address y, int64_t y_stride, bool accumulate, int threads) {
    Grouped<S> a = make_grouped(layout<S>(heads, channels), groups, transpose, at<const S>(weight), at<const S>(bias));
    a.rows = rows;
    a.x = at<S>(x);
    a.x_stride = x_stride;
    a.scale = at<S>(scale);
    a.dot = at<S>(dot);
    a.y = at<S>(y);
    a.y_stride = y_stride;
    a.accumulate = accumulate;
    run_grouped_forward(a, at<const S>(dot_with), threads);
}

template <class S>
void grouped_weight_grad(int64_t rows, int64_t heads, int64_t channels, int64_t groups, bool transpose, Address x,
                         int64_t x_stride, Address grad_y, Address scale, Address grad_weight, Address grad_bias,
                         int threads) {
    Grouped<S> a = make_grouped<S>(layout<S>(heads, channels), groups, transpose, nullptr, nullptr);
    a.rows = rows;
    a.x = at<S>(x);
    a.x_stride = x_stride;
    a.grad_y = at<S>(grad_y);
    a.scale = at<S>(scale);
    run_grouped_weight_grad(a, at<S>(grad_weight), at<S>(grad_bias), threads);
}

template <class S>
void repack(int64_t rows, int64_t heads, int64_t channels, bool pack, Address x, int64_t x_stride, Address y,
            int64_t y_stride, int threads) {
    Rows<S> a;
    a.rows = rows;
    a.layout = layout<S>(heads, channels);
    a.x = at<S>(x);
    a.x_stride = x_stride;
    a.y = at<S>(y);
    a.y_stride = y_stride;
    run_rows(a, pack ? kernels<S>().pack : kernels<S>().unpack, threads);
}

template <class S>
void dropout_rows(int64_t rows, int64_t width, uint32_t threshold, uint64_t seed, double p, bool relu,
                  int64_t first_row, Address x, int64_t x_stride, Address grad_y, int64_t grad_y_stride, Address y,
                  int64_t y_stride, int threads) {
    Rows<S> a;
    a.rows = rows;
    a.width = width;
    a.dropout = dropout<S>(threshold, seed, p);
    a.relu = relu;
    a.first_row = first_row;
    a.x = at<S>(x);
    a.x_stride = x_stride;
    a.grad_y = at<S>(grad_y);
    a.grad_y_stride = grad_y_stride;
    a.y = at<S>(y);
    a.y_stride = y_stride;
    run_rows(a, grad_y ? kernels<S>().dropout_backward : kernels<S>().dropout_forward, threads);
}

template <class S>
void bind(nb::module_& m, const std::string& suffix) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def(("dna" + suffix).c_str(), &dna<S>, Release());
    m.def(("layer" + suffix).c_str(), &layer<S>, Release());
    m.def(("gat" + suffix).c_str(), &gat<S>, Release());
    m.def(("spmm" + suffix).c_str(), &spmm<S>, Release());
    m.def(("sddmm" + suffix).c_str(), &sddmm<S>, Release());
    m.def(("grouped_forward" + suffix).c_str(), &grouped_forward<S>, Release());
    m.def(("grouped_weight_grad" + suffix).c_str(), &grouped_weight_grad<S>, Release());
    m.def(("repack" + suffix).c_str(), &repack<S>, Release());
    m.def(("dropout_rows" + suffix).c_str(), &dropout_rows<S>, Release());
}

}  // namespace
}  // namespace jj

NB_MODULE(_native, m) {
    nb::class_<jj::Graph>(m, "Graph");
    m.def("graph", &jj::graph);
    m.def("community_order", [](const jj::Graph& g, uintptr_t order) {
        jj::community_order(g, reinterpret_cast<void*>(order));
    }, nb::call_guard<nb::gil_scoped_release>());
    m.def("isa", [] { return std::string(jj::active_isa().name); });
    m.def("available_isas", &jj::available_isas);
    m.def("set_isa", &jj::set_isa);
    m.def("thread_backend", [] { return std::string(jj::thread_backend()); });
    m.def("use_openmp", [](uintptr_t parallel, uintptr_t get_thread_num) {
        jj::use_openmp(reinterpret_cast<void*>(parallel), reinterpret_cast<void*>(get_thread_num));
    });
    m.def("advise_huge_pages", &jj::advise_huge_pages);
    m.attr("CHUNK_EDGES") = jj::kChunkEdges;
    jj::bind<float>(m, "_f32");
    jj::bind<double>(m, "_f64");
}
