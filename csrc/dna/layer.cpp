// The sizes of a layer's arguments.
#include "dna/layer.h"

#include <cmath>

#include "dna/passes.h"

namespace jj {

template <class S>
Dna<S> checked_attention(const DnaLayer<S>& a) {
    check(a.graph, true);
    expect_threads(a.threads);
    require(a.heads >= 1 && a.query_weight.rows >= 1 && a.query_weight.rows % a.heads == 0,
            "heads does not divide the number of channels");
    require(!a.history.empty(), "there are no former representations to attend to");
    require(!a.folded || a.groups % a.heads == 0, "the folded form takes groups that are a multiple of heads");
    const int64_t N = a.graph.rows, M = a.graph.cols, d = a.query_weight.rows, T = a.steps();
    require(a.newest || N == M, "fewer targets than sources: the newest representation of the targets must be given");
    Dna<S> dna;
    dna.layout = make_layout<S>(a.heads, a.channels());
    const int64_t stride = dna.layout.stride, P = dna.layout.padded;
    expect(a.edge_weight, "edge_weight", 1, a.graph.edges);
    expect_blocks(a.query_weight, "query_weight", a.groups, d);
    expect_blocks(a.key_weight, "key_weight", a.groups, d);
    expect_blocks(a.value_weight, "value_weight", a.groups, d);
    if (a.query_bias) expect(a.query_bias, "query_bias", 1, d);
    if (a.key_bias) expect(a.key_bias, "key_bias", 1, d);
    if (a.value_bias) expect(a.value_bias, "value_bias", 1, d);
    if (a.step_bias) expect_dense(a.step_bias, "step_bias", T, P);
    if (a.qk_scale) {
        expect(a.qk_scale, "qk_scale", 1, P);
        expect_dense(a.query_factor, "query_factor", N, P);
        expect_dense(a.key_factor, "key_factor", M, T * P);
    }
    for (const Matrix<S>& x : a.history) expect(x, "history", M, stride);
    if (a.newest) expect(a.newest, "newest", N, stride);
    expect_dense(a.queries, "queries", N, stride);
    if (a.folded) {
        expect_dense(a.folded_queries, "folded_queries", N, stride);
        expect_dense(a.score_bias, "score_bias", N, P);
        expect_dense(a.aggregate, "aggregate", N, stride);
        expect_dense(a.total, "total", N, P);
    } else {
        expect_dense(a.keys, "keys", M, 2 * T * stride);
    }
    dna.graph = a.graph;
    dna.dropout = make_dropout<S>(a.dropout, a.seed, a.first);
    dna.steps = T;
    dna.scale = a.qk_scale ? S(1) : static_cast<S>(1 / std::sqrt(static_cast<double>(a.channels())));
    dna.folded = a.folded;
    dna.weight = a.edge_weight.data;
    dna.step_bias = a.step_bias.data;
    dna.key_factor = a.qk_scale && a.folded ? a.key_factor.data : nullptr;
    return dna;
}

template Dna<float> checked_attention(const DnaLayer<float>&);
template Dna<double> checked_attention(const DnaLayer<double>&);

}  // namespace jj
