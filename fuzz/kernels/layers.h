// The two attention layers.
#pragma once

#include <utility>

#include "dna/layer.h"
#include "gat/gat.h"
#include "kernels/case.h"

namespace fuzz {

// T arrays [rows, width]: each of its own, or one behind the other in the rows of one array.
template <class S, class Make>
std::vector<Matrix<S>> series(Case<S>& c, int64_t width, Make make) {
    std::vector<Matrix<S>> list;
    if (c.header.flag(4)) {
        for (int64_t t = 0; t < c.steps; ++t) list.push_back(make(width));
    } else {
        c.arrays.allow_faults(false);  // rows of the whole that overlap would be none of the parts' business
        const Matrix<S> all = make(c.steps * width);
        for (int64_t t = 0; t < c.steps; ++t) list.push_back(c.arrays.columns(all, t * width, width));
        c.arrays.allow_faults(true);
    }
    if (c.arrays.too_short()) list.pop_back();
    return list;
}

template <class S>
void fuzz_dna(const Header& header) {
    Case<S> c(header);
    Arrays<S>& arrays = c.arrays;
    const bool folded = header.flag(1), packed = header.flag(2), newest = header.flag(3) || c.rows != c.cols;
    const bool learns = header.flag(5), learns_edges = header.flag(6), relu = header.flag(7);
    if (folded) c.groups = c.divisor(c.width(), header.groups, c.heads);
    const int64_t d = c.width(), m = d / c.groups, N = c.rows, M = c.cols, T = c.steps;
    const int64_t stride = c.layout.stride, P = c.layout.padded, size = packed ? stride : d;
    const Edges g = make_edges(header, N, M);
    const double small = 1 / std::sqrt(static_cast<double>(m));

    jj::DnaForward<S> forward;
    forward.graph = make_graph(arrays, header, g, c.wide);
    forward.heads = arrays.scalar(c.heads), forward.groups = arrays.scalar(c.groups);
    forward.folded = folded, forward.packed = packed, forward.relu = relu;
    forward.dropout = c.dropout, forward.seed = c.seed;
    forward.edge_weight = arrays.input(1, g.count());
    forward.query_weight = arrays.input(d, m, Rows::dense, small);
    forward.key_weight = arrays.input(d, m, Rows::dense, small);
    forward.value_weight = arrays.input(d, m, Rows::dense, small);
    if (header.flag(8)) forward.query_bias = arrays.input(1, d, Rows::optional);
    if (header.flag(9)) forward.key_bias = arrays.input(1, d, Rows::optional);
    if (header.flag(10)) forward.value_bias = arrays.input(1, d, Rows::optional);
    const bool unit = header.flag(13);
    if (unit) forward.qk_scale = arrays.input(1, P, Rows::optional);
    if (header.flag(12)) forward.step_bias = arrays.input(T, P, Rows::dense_optional);
    if (packed) {
        forward.history = series(c, stride, [&](int64_t width) { return arrays.input(M, width); });
        for (const Matrix<S>& x : forward.history) arrays.clear_padding(x, c.layout);
        if (newest) forward.newest = arrays.packed(N, c.layout, N == M ? Rows::optional : Rows::spaced);
    } else {
        forward.given = series(c, d, [&](int64_t width) { return arrays.input(M, width); });
        if (newest) forward.given_newest = arrays.input(N, d);
        forward.history = series(c, stride, [&](int64_t width) { return arrays.output("history", M, width); });
        if (newest) forward.newest = arrays.output("newest", N, stride, N == M ? Rows::optional : Rows::spaced);
    }
    forward.queries = arrays.output("queries", N, stride, Rows::dense);
    if (folded) {
        forward.folded_queries = arrays.output("folded_queries", N, stride, Rows::dense);
        forward.score_bias = arrays.output("score_bias", N, P, Rows::dense);
        forward.aggregate = arrays.output("aggregate", N, stride, Rows::dense);
        forward.total = arrays.output("total", N, P, Rows::dense);
    } else {
        forward.keys = arrays.output("keys", M, 2 * T * stride, Rows::dense);
    }
    if (unit) {
        forward.query_factor = arrays.output("query_factor", N, P, Rows::dense);
        forward.key_factor = arrays.output("key_factor", M, T * P, Rows::dense);
    }
    forward.out = arrays.output("out", N, size, Rows::dense);

    jj::DnaBackward<S> backward;
    static_cast<jj::DnaLayer<S>&>(backward) = forward;
    backward.keep_scores = header.flag(11);
    if (relu) backward.out = forward.out;
    backward.grad_out = packed ? arrays.packed(N, c.layout, Rows::dense) : arrays.input(N, d, Rows::dense);
    if (learns) {
        backward.grad_query_weight = arrays.output("grad_query_weight", d, m, Rows::dense_optional);
        backward.grad_key_weight = arrays.output("grad_key_weight", d, m, Rows::dense);
        backward.grad_value_weight = arrays.output("grad_value_weight", d, m, Rows::dense);
        backward.grad_query_bias = arrays.output("grad_query_bias", 1, d);
        backward.grad_key_bias = arrays.output("grad_key_bias", 1, d);
        backward.grad_value_bias = arrays.output("grad_value_bias", 1, d);
    }
    if (forward.step_bias) backward.grad_step_bias = arrays.output("grad_step_bias", N, T * P, Rows::dense_optional);
    if (forward.qk_scale) backward.grad_qk_scale = arrays.output("grad_qk_scale", N, P, Rows::dense_optional);
    if (learns_edges) backward.grad_edge_weight = arrays.output("grad_edge_weight", 1, g.count(), Rows::optional);
    backward.grad_history = series(c, size, [&](int64_t width) { return arrays.output("grad_history", M, width); });
    if (newest) backward.grad_newest = arrays.output("grad_newest", N, size);

    const auto run = [&](int threads) {
        forward.threads = backward.threads = threads;
        jj::run(forward);
        jj::run(backward);
    };
    if (!run_case("dna", c, run) || !arrays.tame()) return;
    if (packed) {
        expect_padding("out", forward.out, c.layout);
        for (const Matrix<S>& x : backward.grad_history) expect_padding("grad_history", x, c.layout);
        if (newest) expect_padding("grad_newest", backward.grad_newest, c.layout);
    }
    if (!c.comparable((N + 2 * M * T) * d * m + g.count() * T * d)) return;
    std::vector<Table> keys, values;
    for (const Matrix<S>& x : forward.history) {
        expect_padding("history", x, c.layout);
        keys.push_back(linear(read_packed(x, c.layout), forward.key_weight, forward.key_bias));
        values.push_back(linear(read_packed(x, c.layout), forward.value_weight, forward.value_bias));
    }
    Table query = linear(read_packed(forward.asking(), c.layout), forward.query_weight, forward.query_bias);
    if (forward.qk_scale) {
        // The scores are over the square root of the channels.
        query = unit_length(std::move(query), c.heads, forward.qk_scale);
        for (auto& row : query)
            for (double& x : row) x *= std::sqrt(static_cast<double>(c.channels));
        for (Table& key : keys) key = unit_length<S>(std::move(key), c.heads);
    }
    const std::vector<double> weight(forward.edge_weight.data, forward.edge_weight.data + g.count());
    double terms;
    const Table bias = forward.step_bias ? read(forward.step_bias) : Table(T, std::vector<double>(P, 0));
    Table out = dna(g, weight, query, keys, values, bias, c.heads, c.mask(), terms);
    for (auto& row : out)
        for (double& x : row) x = relu && x < 0 ? 0 : x;
    // The folded form sums before it projects: errors are relative to the terms of both.
    terms *= std::sqrt(static_cast<double>(m));
    expect_close<S>("out", packed ? read_packed(forward.out, c.layout) : read(forward.out), out, terms);
}

template <class S>
void fuzz_gat(const Header& header) {
    Case<S> c(header);
    Arrays<S>& arrays = c.arrays;
    const int64_t N = c.rows, M = c.cols, P = c.layout.padded;
    const Edges g = make_edges(header, N, M);
    constexpr double slopes[] = {0.2, 0, 1, 0.01};
    jj::Layout heads = c.layout;  // of head rows
    heads.channels = 1, heads.stride = P;

    jj::GatForward<S> forward;
    forward.graph = make_graph(arrays, header, g, c.wide);
    forward.heads = arrays.scalar(c.heads), forward.channels = arrays.scalar(c.channels);
    forward.slope = choose(slopes, header.steps);
    forward.dropout = c.dropout, forward.seed = c.seed;
    forward.value = arrays.packed(M, c.layout, Rows::dense);
    forward.score_source = arrays.packed(M, heads, Rows::dense);
    forward.score_target = arrays.packed(N, heads, Rows::dense);
    forward.out = arrays.output("out", N, c.layout.stride, Rows::dense);
    forward.sloped = arrays.output("sloped", N, c.layout.stride, Rows::dense);
    forward.state = arrays.output("state", N, 4 * P, Rows::dense);
    jj::GatBackward<S> backward;
    static_cast<jj::GatLayer<S>&>(backward) = forward;
    backward.grad_out = arrays.packed(N, c.layout, Rows::dense);
    backward.grad_value = arrays.output("grad_value", M, c.layout.stride, Rows::dense);
    backward.grad_source = arrays.output("grad_source", M, P, Rows::dense);
    backward.grad_target = arrays.output("grad_target", N, P, Rows::dense);
    const auto run = [&](int threads) {
        forward.threads = backward.threads = threads;
        jj::run(forward);
        jj::run(backward);
    };
    if (!run_case("gat", c, run) || !arrays.tame()) return;
    expect_padding("out", forward.out, c.layout);
    expect_padding("grad_value", backward.grad_value, c.layout);
    expect_padding("grad_source", backward.grad_source, heads);
    if (!c.comparable(g.count() * c.width())) return;
    const Table out = gat(g, read_packed(forward.value, c.layout), read_packed(forward.score_source, heads),
                          read_packed(forward.score_target, heads), forward.slope, c.heads, c.mask());
    expect_close<S>("out", read_packed(forward.out, c.layout), out, c.mask().factor);
}

}  // namespace fuzz
