// The obvious loops, in double precision, and the comparison with them.
#pragma once

#include <cmath>
#include <vector>

#include "dna/arguments.h"
#include "kernels/graph.h"

namespace fuzz {

using Table = std::vector<std::vector<double>>;  // [rows][d], standard channels head * C + c

template <class S>
Table read(const Matrix<S>& x) {
    Table table(x.rows);
    for (int64_t r = 0; r < x.rows; ++r) table[r].assign(x.row(r), x.row(r) + x.width);
    return table;
}

template <class S>
Table read_packed(const Matrix<S>& x, const jj::Layout& layout) {
    Table table(x.rows, std::vector<double>(layout.heads * layout.channels));
    for (int64_t r = 0; r < x.rows; ++r)
        for (int64_t h = 0; h < layout.heads; ++h)
            for (int64_t c = 0; c < layout.channels; ++c)
                table[r][h * layout.channels + c] = x.row(r)[c * layout.padded + h];
    return table;
}

// Padding of packed rows must be zero.
template <class S>
void expect_padding(const char* name, const Matrix<S>& x, const jj::Layout& layout) {
    for (int64_t r = 0; r < x.rows; ++r)
        for (int64_t i = 0; i < layout.stride; ++i)
            if ((i % layout.padded >= layout.heads || i >= layout.channels * layout.padded) && x.row(r)[i] != 0)
                finding(name, "padding is not zero");
}

// Equal, but for rounding errors of terms of size `terms`.
template <class S>
void expect_close(const char* name, const Table& got, const Table& expected, double terms) {
    const double bound = 512 * static_cast<double>(std::numeric_limits<S>::epsilon()) * (1e-30 + terms);
    for (size_t r = 0; r < expected.size(); ++r)
        for (size_t i = 0; i < expected[r].size(); ++i)
            if (!(std::abs(got[r][i] - expected[r][i]) <= bound)) {
                std::fprintf(stderr, "%s[%zu, %zu] = %.17g, expected %.17g within %g\n", name, r, i, got[r][i],
                             expected[r][i], bound);
                finding(name, "differs from the obvious loop");
            }
}

inline double largest(const Table& x) {
    double top = 0;
    for (const auto& row : x)
        for (double value : row) top = std::max(top, std::abs(value));
    return top;
}

inline bool keeps(const jj::Dropout<double>& dropout, int64_t row, int64_t t, int64_t head) {
    const uint32_t word = static_cast<uint32_t>(t) * jj::kStepFactor + static_cast<uint32_t>(head) * jj::kHeadFactor;
    return jj::mix32(dropout.row_key(row) ^ word) >= dropout.threshold;
}

// y = x W + b with blocks [g, m, m].
template <class S>
Table linear(const Table& x, const Matrix<S>& weight, const Matrix<S>& bias, bool transpose = false) {
    const int64_t d = weight.rows, m = weight.width;
    Table y(x.size(), std::vector<double>(d, 0));
    for (size_t r = 0; r < x.size(); ++r)
        for (int64_t i = 0; i < d; ++i) {
            const int64_t start = i / m * m;
            double sum = bias ? static_cast<double>(bias.data[i]) : 0;
            for (int64_t k = start; k < start + m; ++k)
                sum += x[r][k] * static_cast<double>(transpose ? weight.row(i)[k - start] : weight.row(k)[i - start]);
            y[r][i] = sum;
        }
    return y;
}

// Rows whose heads have unit length, times the scales [1, P]; none for ones.
template <class S>
Table unit_length(Table x, int64_t heads, const Matrix<S>& scale = {}) {
    for (auto& row : x) {
        const int64_t C = static_cast<int64_t>(row.size()) / heads;
        for (int64_t h = 0; h < heads; ++h) {
            double length = static_cast<double>(jj::kUnitEpsilon<S>);
            for (int64_t i = h * C; i < (h + 1) * C; ++i) length += row[i] * row[i];
            const double factor = (scale ? static_cast<double>(scale.data[h]) : 1) / std::sqrt(length);
            for (int64_t i = h * C; i < (h + 1) * C; ++i) row[i] *= factor;
        }
    }
    return x;
}

// out[v] = sum_e weight_e sum_t dropout(softmax_t(q . k_t / sqrt(C))) value_t, with a fixed extra logit 0.
// `terms` becomes a bound of what rounding errors of the scores and of the terms are relative to.
inline Table dna(const Edges& g, const std::vector<double>& weight, const Table& query, const std::vector<Table>& key,
                 const std::vector<Table>& value, const Table& step_bias, int64_t heads,
                 const jj::Dropout<double>& dropout, double& terms) {
    const size_t T = key.size();
    const int64_t d = query.empty() ? 0 : static_cast<int64_t>(query[0].size()), C = d / heads;
    Table out(query.size(), std::vector<double>(d, 0));
    double steepest = 0, sum_of_weights = 0, values = 0;
    for (const Table& x : value) values = std::max(values, largest(x));
    for (int64_t e = 0; e < g.count(); ++e) {
        const int64_t v = g.target[e], w = g.col[e];
        sum_of_weights += std::abs(weight[e]);
        for (int64_t h = 0; h < heads; ++h) {
            std::vector<double> score(T, 0);
            double top = 0, total = 0;
            for (size_t t = 0; t < T; ++t) {
                double absolute = std::abs(step_bias[t][h]);
                score[t] = step_bias[t][h];
                for (int64_t i = h * C; i < (h + 1) * C; ++i) {
                    score[t] += query[v][i] * key[t][w][i] / std::sqrt(C);
                    absolute += std::abs(query[v][i] * key[t][w][i]) / std::sqrt(C);
                }
                steepest = std::max(steepest, absolute);
                top = std::max(top, score[t]);
            }
            for (size_t t = 0; t < T; ++t) total += std::exp(score[t] - top);
            total += std::exp(-top);
            for (size_t t = 0; t < T; ++t) {
                const double kept = keeps(dropout, e, static_cast<int64_t>(t), h) ? dropout.factor : 0;
                const double a = std::exp(score[t] - top) / total * kept * weight[e];
                for (int64_t i = h * C; i < (h + 1) * C; ++i) out[v][i] += a * value[t][w][i];
            }
        }
    }
    terms = (1 + steepest) * std::max(1.0, sum_of_weights) * dropout.factor * (1 + values);
    return out;
}

// out[v] = sum_e dropout(softmax_e(LeakyReLU(source_w + target_v))) value_w.
inline Table gat(const Edges& g, const Table& value, const Table& source, const Table& target, double slope,
                 int64_t heads, const jj::Dropout<double>& dropout) {
    const int64_t d = value.empty() ? 0 : static_cast<int64_t>(value[0].size()), C = d / heads;
    Table out(g.rows, std::vector<double>(d, 0));
    for (int64_t v = 0; v < g.rows; ++v)
        for (int64_t h = 0; h < heads; ++h) {
            const auto score = [&](int64_t e) {
                const double s = source[g.col[e]][h] + target[v][h];
                return s > 0 ? s : s * slope;
            };
            double top = -INFINITY, total = 0;
            for (int64_t e = g.rowptr[v]; e < g.rowptr[v + 1]; ++e) top = std::max(top, score(e));
            for (int64_t e = g.rowptr[v]; e < g.rowptr[v + 1]; ++e) total += std::exp(score(e) - top);
            for (int64_t e = g.rowptr[v]; e < g.rowptr[v + 1]; ++e) {
                const double kept = keeps(dropout, e, 0, h) ? dropout.factor : 0;
                const double a = std::exp(score(e) - top) / total * kept;
                for (int64_t i = h * C; i < (h + 1) * C; ++i) out[v][i] += a * value[g.col[e]][i];
            }
        }
    return out;
}

}  // namespace fuzz
