#include <algorithm>

#include "dna/unit_length.h"

namespace jj {
namespace {

constexpr int64_t kPackRows = 4;

template <class S>
void check_rows(const DnaForward<S>& a, const Layout& layout) {
    const int64_t size = a.packed ? layout.stride : layout.heads * layout.channels;
    expect_dense(a.out, "out", a.graph.rows, size);
    if (a.packed) return;
    require(a.given.size() == a.history.size(), "given and history differ in length");
    for (const Matrix<S>& x : a.given) expect(x, "given", a.graph.cols, size);
    if (a.newest) expect(a.given_newest, "given_newest", a.graph.rows, size);
}

}  // namespace

template <class S>
void run(const DnaForward<S>& a) {
    Dna<S> dna = checked_attention(a);
    check_rows(a, dna.layout);
    const int64_t N = dna.graph.rows, M = dna.graph.cols, T = dna.steps, stride = dna.layout.stride;
    const Passes<S> passes(dna.layout, a.groups, a.packed, a.threads);
    const Projection<S> to_query(map_of(a, a.query_weight, a.query_bias));
    const Projection<S> to_value(map_of(a, a.value_weight, a.value_bias));
    const Projection<S> to_key =
        dna.folded ? transposed(a, a.key_weight, a.key_bias) : Projection<S>(map_of(a, a.key_weight, a.key_bias));
    const UnitLength<S> unit(a);
    // Folded, the keys have no other use than their lengths.
    const Projection<S> to_length(map_of(a, a.key_weight, a.key_bias), nullptr, unit && dna.folded);
    const Matrix<S>& last = a.asking();
    const Pieces<S> memory{dna.folded || a.packed ? 0 : N * stride, dna.folded || !unit ? 0 : N * stride};

    passes.each_block(std::max(N, M), [&](int64_t first, int64_t, int thread) {
        S* scratch = passes.scratch(thread);
        const int64_t sources = std::min(kRowBlock, M - first), targets = std::min(kRowBlock, N - first);
        // A few rows of all steps at a time: those of one node mostly lie side by side.
        for (int64_t row = first; row < first + sources && !a.packed; row += kPackRows) {
            const int64_t rows = std::min(kPackRows, first + sources - row);
            for (int64_t t = 0; t < T; ++t)
                passes.pack(a.given[t].row(row), a.given[t].stride, a.history[t].row(row), a.history[t].stride, rows);
        }
        for (int64_t t = 0; t < T && sources > 0 && !dna.folded; ++t) {
            const Matrix<S>& x = a.history[t];
            S *key = a.keys.row(first) + t * stride, *value = key + T * stride;
            to_key.apply(x.row(first), x.stride, key, 2 * T * stride, sources, scratch);
            to_value.apply(x.row(first), x.stride, value, 2 * T * stride, sources, scratch);
            if (unit) unit.keys(first, sources, t, key, 2 * T * stride);
        }
        for (int64_t t = 0; t < T && sources > 0 && dna.folded && unit; ++t) {
            S* key = passes.block(thread, 0);
            to_length.apply(a.history[t].row(first), a.history[t].stride, key, stride, sources, scratch);
            unit.keys(first, sources, t, key, stride);
        }
        if (targets <= 0) return;
        if (a.newest && !a.packed)
            passes.pack(a.given_newest.row(first), a.given_newest.stride, last.row(first), last.stride, targets);
        to_query.apply(last.row(first), last.stride, a.queries.row(first), stride, targets, scratch);
        const S* query = a.queries.row(first);
        if (unit) {
            unit.queries(first, targets);
            query = unit.scaled(first, targets, dna.folded ? passes.block(thread, 0) : memory[1] + first * stride);
        }
        if (dna.folded)
            to_key.apply_dot(query, stride, a.folded_queries.row(first), stride, a.score_bias.row(first), targets,
                             scratch);
    });

    const Gathered<S> gathered(a, dna);
    if (unit && !dna.folded) dna.query = memory[1];
    dna.out = dna.folded ? a.aggregate.data : a.packed ? a.out.data : memory[0];
    dna.total = a.total.data;
    dna.relu = a.relu && !dna.folded;
    attend_forward(dna, a.threads);

    if (!dna.folded && a.packed) return;
    passes.each_block(N, [&](int64_t first, int64_t rows, int thread) {
        S *x = dna.out + first * stride, *out = a.out.row(first);
        if (dna.folded) {
            S* y = a.packed ? out : passes.block(thread, 0);
            to_value.apply(x, stride, y, stride, rows, passes.scratch(thread), a.total.row(first));
            for (int64_t i = 0; i < rows * stride && a.relu; ++i) y[i] = y[i] < 0 ? S(0) : y[i];
            x = y;
        }
        if (!a.packed) passes.unpack(x, stride, out, passes.row_size(), rows);
    });
}

template void run<float>(const DnaForward<float>&);
template void run<double>(const DnaForward<double>&);

}  // namespace jj
