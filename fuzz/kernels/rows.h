// Operators on rows: layouts, dropout, mixed rows, block-diagonal maps, sparse times dense.
#pragma once

#include "dropout/dropout.h"
#include "grouped/grouped.h"
#include "kernels/case.h"
#include "layout/layout.h"
#include "mix/mix.h"
#include "spmm/spmm.h"

namespace fuzz {

template <class S>
void fuzz_layout(const Header& header) {
    Case<S> c(header);
    jj::Pack<S> pack;
    pack.heads = c.arrays.scalar(c.heads), pack.channels = c.arrays.scalar(c.channels);
    pack.standard = c.arrays.input(c.rows, c.width());
    pack.packed = c.arrays.output("packed", c.rows, c.layout.stride);
    jj::Unpack<S> unpack;
    unpack.heads = c.heads, unpack.channels = c.channels;
    unpack.packed = pack.packed;
    unpack.standard = c.arrays.output("standard", c.rows, c.width());
    const auto run = [&](int threads) {
        pack.threads = unpack.threads = threads;
        jj::run(pack);
        jj::run(unpack);
    };
    if (!run_case("layout", c, run) || !c.arrays.tame()) return;
    expect_padding("packed", pack.packed, c.layout);
    expect_close<S>("packed", read_packed(pack.packed, c.layout), read(pack.standard), 0);
    expect_close<S>("unpacked", read(unpack.standard), read(pack.standard), 0);
}

template <class S>
void fuzz_dropout(const Header& header) {
    Case<S> c(header);
    const int64_t width = 1 + (header.channels + 7 * header.heads) % 70;
    jj::DropoutForward<S> forward;
    forward.dropout = c.dropout, forward.seed = c.seed, forward.relu = header.flag(1);
    forward.x = c.arrays.input(c.rows, width);
    forward.y = c.arrays.output("y", c.rows, width);
    jj::DropoutBackward<S> backward;
    backward.dropout = c.dropout;
    backward.y = forward.y;
    backward.grad_y = c.arrays.input(c.rows, width);
    backward.grad_x = c.arrays.output("grad_x", c.rows, width);
    const auto run = [&](int threads) {
        forward.threads = backward.threads = threads;
        jj::run(forward);
        jj::run(backward);
    };
    if (!run_case("dropout", c, run) || !c.comparable(0)) return;
    const jj::Dropout<double> mask = c.mask();
    Table y = read(forward.x), grad = read(backward.grad_y);
    for (int64_t r = 0; r < c.rows; ++r)
        for (int64_t i = 0; i < width; ++i) {
            const bool kept = keeps(mask, r, 0, i) && !(forward.relu && y[r][i] < 0);
            y[r][i] *= kept ? mask.factor : 0;
            grad[r][i] *= static_cast<double>(forward.y.row(r)[i]) > 0 ? mask.factor : 0;
        }
    expect_close<S>("y", read(forward.y), y, mask.factor);
    expect_close<S>("grad_x", read(backward.grad_x), grad, mask.factor);
}

template <class S>
void fuzz_mix(const Header& header) {
    Case<S> c(header);
    const int64_t width = 1 + (header.channels + 7 * header.heads) % 70;
    jj::MixForward<S> forward;
    forward.share = c.dropout;
    forward.x = c.arrays.input(c.rows, width);
    forward.other = c.arrays.input(c.rows, width);
    forward.y = c.arrays.output("y", c.rows, width);
    jj::MixBackward<S> backward;
    backward.share = forward.share;
    backward.y = forward.y;
    backward.grad_y = c.arrays.input(c.rows, width);
    backward.grad_x = c.arrays.output("grad_x", c.rows, width);
    backward.grad_other = c.arrays.output("grad_other", c.rows, width);
    const auto run = [&](int threads) {
        forward.threads = backward.threads = threads;
        jj::run(forward);
        jj::run(backward);
    };
    if (!run_case("mix", c, run) || !c.comparable(0)) return;
    Table y = read(forward.x), other = read(forward.other), grad = read(backward.grad_y);
    Table grad_other = grad;
    for (int64_t r = 0; r < c.rows; ++r)
        for (int64_t i = 0; i < width; ++i) {
            y[r][i] = std::max(0.0, (1 - forward.share) * y[r][i] + forward.share * other[r][i]);
            const bool passed = static_cast<double>(forward.y.row(r)[i]) > 0;
            grad_other[r][i] *= passed ? forward.share : 0;
            grad[r][i] *= passed ? 1 - forward.share : 0;
        }
    expect_close<S>("y", read(forward.y), y, 1);
    expect_close<S>("grad_x", read(backward.grad_x), grad, 1);
    expect_close<S>("grad_other", read(backward.grad_other), grad_other, 1);
}

template <class S>
void fuzz_grouped(const Header& header) {
    Case<S> c(header);
    const int64_t d = c.width(), m = d / c.groups;
    jj::GroupedForward<S> forward;
    forward.heads = c.arrays.scalar(c.heads), forward.channels = c.arrays.scalar(c.channels);
    forward.groups = c.arrays.scalar(c.groups), forward.transpose = header.flag(1);
    forward.weight = c.arrays.input(d, m, Rows::dense);
    if (header.flag(2)) forward.bias = c.arrays.input(1, d, Rows::optional);
    forward.x = c.arrays.packed(c.rows, c.layout);
    forward.y = c.arrays.output("y", c.rows, c.layout.stride);
    jj::GroupedWeightGrad<S> backward;
    backward.heads = c.heads, backward.channels = c.channels, backward.groups = c.groups;
    backward.x = forward.x;
    backward.grad_y = c.arrays.packed(c.rows, c.layout, Rows::dense);
    backward.grad_weight = c.arrays.output("grad_weight", d, m, Rows::dense);
    backward.grad_bias = c.arrays.output("grad_bias", 1, d);
    const auto run = [&](int threads) {
        forward.threads = backward.threads = threads;
        jj::run(forward);
        jj::run(backward);
    };
    if (!run_case("grouped", c, run) || !c.arrays.tame()) return;
    expect_padding("y", forward.y, c.layout);
    if (!c.comparable(c.rows * d * m)) return;
    const Table x = read_packed(forward.x, c.layout), grad_y = read_packed(backward.grad_y, c.layout);
    const Table y = linear(x, forward.weight, forward.bias, forward.transpose);
    expect_close<S>("y", read_packed(forward.y, c.layout), y, static_cast<double>(m));
    Table weight(d, std::vector<double>(m, 0)), bias(1, std::vector<double>(d, 0));
    for (int64_t r = 0; r < c.rows; ++r)
        for (int64_t i = 0; i < d; ++i) {
            bias[0][i] += grad_y[r][i];
            for (int64_t k = 0; k < m; ++k) weight[i][k] += x[r][i] * grad_y[r][i / m * m + k];
        }
    expect_close<S>("grad_weight", read(backward.grad_weight), weight, static_cast<double>(c.rows));
    expect_close<S>("grad_bias", read(backward.grad_bias), bias, static_cast<double>(c.rows));
}

// The product and, where the entries have numbers, the transposed product.
template <class S>
void fuzz_spmm(const Header& header) {
    Case<S> c(header);
    const Edges g = make_edges(header, c.rows, c.cols);
    const bool numbered = header.flag(1);
    const int64_t E = g.count(), width = 1 + (header.channels + 7 * header.heads) % 70;
    const int64_t targets = numbered ? c.cols : c.rows, sources = numbered ? c.rows : c.cols;
    const auto &ptr = numbered ? g.colptr : g.rowptr, &col = numbered ? g.row : g.col;
    jj::SpmmForward<S> forward;
    forward.rowptr = c.arrays.index(ptr, c.wide);
    forward.col = c.arrays.index(col, c.wide);
    if (numbered && E > 0) forward.position = c.arrays.index(g.position, c.wide, false);
    if (header.flag(2)) forward.weight = c.arrays.input(1, E, Rows::optional);
    forward.ordered = header.flag(3);
    forward.dropout = c.dropout, forward.seed = c.seed;
    forward.x = c.arrays.input(sources, width, Rows::free);
    forward.out = c.arrays.output("out", targets, width);
    jj::SpmmWeightGrad<S> backward;
    backward.rowptr = forward.rowptr, backward.col = forward.col, backward.x = forward.x;
    backward.grad_out = c.arrays.input(targets, width);
    backward.grad_weight = c.arrays.output("grad_weight", 1, E);
    const auto run = [&](int threads) {
        forward.threads = backward.threads = threads;
        jj::run(forward);
        jj::run(backward);
    };
    if (!run_case("spmm", c, run) || !c.comparable(E * width)) return;
    const jj::Dropout<double> mask = c.mask();
    const Table x = read(forward.x), grad_out = read(backward.grad_out);
    Table out(targets, std::vector<double>(width, 0)), grad(1, std::vector<double>(E, 0));
    for (int64_t v = 0; v < targets; ++v)
        for (int64_t e = ptr[v]; e < ptr[v + 1]; ++e) {
            const int64_t number = numbered ? g.position[e] : e;
            double weight = forward.weight ? static_cast<double>(forward.weight.data[forward.ordered ? e : number]) : 1;
            weight *= keeps(mask, 0, 0, number) ? mask.factor : 0;
            for (int64_t i = 0; i < width; ++i) {
                out[v][i] += weight * x[col[e]][i];
                grad[0][e] += grad_out[v][i] * x[col[e]][i];
            }
        }
    expect_close<S>("out", read(forward.out), out, mask.factor * static_cast<double>(E));
    expect_close<S>("grad_weight", read(backward.grad_weight), grad, static_cast<double>(width));
}

}  // namespace fuzz
