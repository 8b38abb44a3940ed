"""The native kernels against the reference: outputs and every gradient."""

import math
import multiprocessing
import os
import subprocess
import sys
from unittest import mock

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.adjacency import Adjacency
from justjump.ops.native import Csr
from native_helpers import assert_close, edge_weights, make_graph, random, views

if not native.available():
    pytest.skip(native.why_not(), allow_module_level=True)


def packed(x: Tensor) -> Tensor:
    """``[R, H, C] -> [R, stride]``"""
    return native.pack(x.detach().reshape(x.size(0), -1), x.size(1))


def unpacked(x: Tensor, heads: int, channels: int) -> Tensor:
    return native.unpack(x, heads, channels).view(-1, heads, channels)


def pad_heads(x: Tensor) -> Tensor:
    """``[R, H] -> [R, P]``"""
    out = x.new_zeros(x.size(0), native.padded_heads(x.size(1)))
    out[:, : x.size(1)] = x.detach()
    return out


def assert_zero_padding(x: Tensor, heads: int, channels: int) -> None:
    assert torch.equal(native.pack(native.unpack(x, heads, channels), heads), x)


def check_separate(adj, heads, channels, steps, dtype, p, size=1.0, wide=False, seed=5):
    """float64 reference for both dtypes: the float32 one has errors of its own."""
    nodes, scale = adj.num_nodes, 1 / math.sqrt(channels)
    query = random(nodes, heads, channels, dtype=dtype, seed=1, size=size)
    key = random(nodes, steps, heads, channels, dtype=dtype, seed=2)
    value = random(nodes, steps, heads, channels, dtype=dtype, seed=3)
    weight = edge_weights(adj, dtype)
    exact = [x.detach().double().requires_grad_() for x in (query, key, value, weight)]
    out, attention = reference.dna_attention(*exact[:3], adj.rowptr, adj.col, exact[3], p, seed)
    grad_out = random(nodes, heads, channels, dtype=dtype, seed=4, grad=False)
    expected = torch.autograd.grad(out, exact, grad_out.double())

    csr, csc = views(adj, wide)
    keys = [packed(key[:, t]) for t in range(steps)]
    values = [packed(value[:, t]) for t in range(steps)]
    options = {"heads": heads, "channels": channels, "scale": scale, "dropout_p": p, "seed": seed}
    inputs = (packed(query), keys, values, None)
    got, total, weights = native.dna_forward(csr, weight.detach(), *inputs, **options, return_attention=True)
    assert total is None
    assert_close(unpacked(got, heads, channels), out, dtype)
    assert_close(weights, attention, dtype)
    assert_zero_padding(got, heads, channels)
    dq, dbias, dk, dv, dw = native.dna_backward(
        csr, csc, weight.detach(), *inputs, packed(grad_out), None, **options, need_weight=True
    )
    assert dbias is None
    assert_close(unpacked(dq, heads, channels), expected[0], dtype)
    assert_close(torch.stack([unpacked(x, heads, channels) for x in dk], 1), expected[1], dtype)
    assert_close(torch.stack([unpacked(x, heads, channels) for x in dv], 1), expected[2], dtype)
    assert_close(dw, expected[3], dtype)
    for x in (dq, *dk, *dv):
        assert_zero_padding(x, heads, channels)


def folded_reference(query, history, bias, adj, weight, scale, p, seed):
    """Scores ``scale * (query . history + bias)``; returns the sums of messages and of weights."""
    target = reference.edge_targets(adj.rowptr)
    score = scale * ((query[target][:, None] * history[adj.col]).sum(-1) + bias[target][:, None])
    attention = reference.restricted_softmax(score, dim=1)
    dropped = reference.dropout(attention, p, seed) * weight[:, None, None]
    out = reference.segment_sum((dropped[..., None] * history[adj.col]).sum(1), adj.rowptr)
    return out, reference.segment_sum(dropped.sum(1), adj.rowptr), attention


def check_folded(adj, heads, channels, steps, dtype, p, accumulate=False, seed=2**40 + 3):
    nodes, scale = adj.num_nodes, 0.7
    query = random(nodes, heads, channels, dtype=dtype, seed=1)
    history = random(nodes, steps, heads, channels, dtype=dtype, seed=2)
    bias = random(nodes, heads, dtype=dtype, seed=3)
    weight = edge_weights(adj, dtype)
    exact = [x.detach().double().requires_grad_() for x in (query, history, bias, weight)]
    out, total, attention = folded_reference(*exact[:3], adj, exact[3], scale, p, seed)
    grads = (
        random(nodes, heads, channels, dtype=dtype, seed=4, grad=False),
        random(nodes, heads, dtype=dtype, seed=5, grad=False),
    )
    expected = torch.autograd.grad((out, total), exact, [x.double() for x in grads])

    csr, csc = views(adj)
    stride = native.row_stride(heads, channels, dtype)
    buffer = torch.full((nodes, steps + 1, stride), math.nan, dtype=dtype)  # rows of a larger buffer
    for t in range(steps):
        buffer[:, t] = packed(history[:, t])
    inputs = (packed(query), [buffer[:, t] for t in range(steps)], None, pad_heads(bias))
    options = {"heads": heads, "channels": channels, "scale": scale, "dropout_p": p, "seed": seed}
    got, sums, weights = native.dna_forward(csr, weight.detach(), *inputs, **options, return_attention=True)
    assert_close(unpacked(got, heads, channels), out, dtype)
    assert_close(sums[:, :heads], total, dtype)
    assert not sums[:, heads:].any()
    assert_close(weights, attention, dtype)
    for kept in (0, native.layer.KEPT_BYTES):  # gradients of the scores twice, or kept
        start = torch.full((nodes, steps, stride), float(accumulate), dtype=dtype)
        grad_keys = [start[:, t] for t in range(steps)]
        with mock.patch.object(native.layer, "KEPT_BYTES", kept):
            dq, dbias, dx, dv, dw = native.dna_backward(
                csr, csc, weight.detach(), *inputs, packed(grads[0]), pad_heads(grads[1]), **options,
                grad_keys=grad_keys, accumulate=accumulate, need_weight=True,
            )  # fmt: skip
        assert dv is None
        assert_close(unpacked(dq, heads, channels), expected[0], dtype)
        dx = torch.stack([unpacked(x.contiguous() - float(accumulate), heads, channels) for x in dx], 1)
        assert_close(dx, expected[1], dtype)
        assert_close(dbias[:, :heads], expected[2], dtype)
        assert not dbias[:, heads:].any()
        assert_close(dw, expected[3], dtype)


def check_gat(adj, heads, channels, dtype, p, size=1.0, wide=False, seed=-7):
    nodes = adj.num_nodes
    value = random(nodes, heads, channels, dtype=dtype, seed=1)
    source = random(nodes, heads, dtype=dtype, seed=2, size=size)
    target = random(nodes, heads, dtype=dtype, seed=3, size=size)
    exact = [x.detach().double().requires_grad_() for x in (value, source, target)]
    out, attention = reference.gat_attention(*exact, adj.rowptr, adj.col, 0.2, p, seed)
    grad_out = random(nodes, heads, channels, dtype=dtype, seed=4, grad=False)
    expected = torch.autograd.grad(out, exact, grad_out.double())
    csr, csc = views(adj, wide)
    inputs = (packed(value), pad_heads(source), pad_heads(target))
    options = {"heads": heads, "channels": channels, "negative_slope": 0.2, "dropout_p": p, "seed": seed}
    got, saved, weights = native.gat_forward(csr, *inputs, **options, return_attention=True)
    assert_close(unpacked(got, heads, channels), out, dtype)
    assert_close(weights, attention, dtype)
    lean, nothing, _ = native.gat_forward(csr, *inputs, **options, need_grad=False)
    assert nothing is None
    assert torch.equal(lean, got)
    dvalue, dsource, dtarget = native.gat_backward(csr, csc, *inputs, saved, packed(grad_out), **options)
    assert_close(unpacked(dvalue, heads, channels), expected[0], dtype)
    size = channels**0.5 / (1 - p)  # a softmax over one edge has gradient 0, as a difference of such dot products
    assert_close(dsource[:, :heads], expected[1], dtype, size)
    assert_close(dtarget[:, :heads], expected[2], dtype, size)
    assert not dsource[:, heads:].any()
    assert not dtarget[:, heads:].any()


def check_grouped(rows, heads, channels, groups, dtype):
    width = heads * channels
    x = random(rows, width, dtype=dtype, seed=1)
    weight = random(groups, width // groups, width // groups, dtype=dtype, seed=2)
    bias = random(width, dtype=dtype, seed=3)
    grad = random(rows, width, dtype=dtype, seed=4, grad=False)
    size = {"heads": heads, "channels": channels}
    for transpose in (False, True):
        exact = [y.detach().double().requires_grad_() for y in (x, weight, bias)]
        out = reference.grouped_linear(exact[0], exact[1].mT if transpose else exact[1], exact[2])
        expected = torch.autograd.grad(out, exact, grad.double())
        px, pgrad, pweight = native.pack(x.detach(), heads), native.pack(grad, heads), weight.detach()
        got = native.grouped_linear(px, pweight, bias.detach(), **size, transpose=transpose)
        assert_close(native.unpack(got, heads, channels), out, dtype)
        assert_zero_padding(got, heads, channels)
        dx = px.clone()
        native.grouped_linear(pgrad, pweight, **size, transpose=not transpose, out=dx, accumulate=True)
        assert_close(native.unpack(dx - px, heads, channels), expected[0], dtype)
        dweight, dbias = native.grouped_linear_weight_grad(px, pgrad, groups, **size, transpose=transpose)
        assert_close(dweight, expected[1], dtype)
        assert_close(dbias, expected[2], dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("channels", [1, 2, 5, 8, 16])
@pytest.mark.parametrize("heads", [1, 3, 8, 16, 32])
def test_sizes(isa, heads, channels, dtype):
    adj = make_graph("small")
    check_separate(adj, heads, channels, 1 + (heads + channels) % 4, dtype, p=0.4)
    check_folded(adj, heads, channels, 1 + (heads * channels) % 3, dtype, p=0.4)
    check_gat(adj, heads, channels, dtype, p=0.4)
    for groups in {1, heads, heads * channels, 2} | ({8} if heads == 16 else set()):
        if heads * channels % groups == 0:
            check_grouped(37, heads, channels, groups, dtype)


@pytest.mark.parametrize("steps", range(1, 9))
def test_steps(isa, steps):
    for dtype in (torch.float32, torch.float64):
        check_separate(make_graph("small"), 4, 3, steps, dtype, p=0.0, wide=True)
        check_folded(make_graph("small"), 16, 8, steps, dtype, p=0.8, accumulate=True)


@pytest.mark.parametrize("name", ["one", "empty", "hub"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_graphs(isa, name, dtype):
    adj = make_graph(name)
    check_separate(adj, 8, 2, 2, dtype, p=0.8)
    check_folded(adj, 3, 3, 2, dtype, p=0.0)
    check_gat(adj, 8, 2, dtype, p=0.3, wide=True)
    check_gat(adj, 3, 5, dtype, p=0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_scores(isa, dtype):
    adj = make_graph("small")
    csr, csc = views(adj)
    heads, channels, steps = 4, 4, 3
    shape = (adj.num_nodes, heads, channels)
    sign = random(*shape, dtype=dtype, seed=1, grad=False).sign()
    query = packed(sign * 1e4)  # scores up to +-2e4
    keys = [packed(random(*shape, dtype=dtype, seed=t, grad=False).sign()) for t in range(steps)]
    exact_key = torch.stack([unpacked(k, heads, channels) for k in keys], 1).double()
    exact_query = unpacked(query, heads, channels).double()
    ones = torch.ones(adj.num_edges, dtype=torch.float64)
    out, attention = reference.dna_attention(exact_query, exact_key, exact_key, adj.rowptr, adj.col, ones)
    options = {"heads": heads, "channels": channels, "scale": 0.5}
    got, _, weights = native.dna_forward(csr, None, query, keys, keys, None, **options, return_attention=True)
    assert_close(unpacked(got, heads, channels), out, dtype)
    assert_close(weights, attention, dtype)
    gradients = native.dna_backward(csr, csc, None, query, keys, keys, None, query, None, **options)
    assert all(torch.isfinite(x).all() for x in (gradients[0], *gradients[2], *gradients[3]))
    check_gat(adj, 4, 4, dtype, p=0.0, size=1e4)


def test_nan_is_not_hidden(isa):
    adj = make_graph("small")
    csr, _ = views(adj)
    key = packed(random(adj.num_nodes, 4, 4, dtype=torch.float32, grad=False))
    source = int(adj.col[0])
    key[source] = math.nan
    out, _, _ = native.dna_forward(csr, None, torch.ones_like(key), [key], [key], None, heads=4, channels=4, scale=1.0)
    touched = torch.zeros(adj.num_nodes, dtype=torch.bool)
    touched[adj.target[adj.col == source].long()] = True
    assert torch.equal(out.isnan().any(1), touched)


@pytest.mark.parametrize("width", [1, 3, 7, 16, 17, 31, 33, 64, 100, 128, 130, 200, 300])
def test_spmm(isa, width):
    for dtype in (torch.float32, torch.float64):
        for name in ("small", "hub", "empty"):
            adj = make_graph(name)
            csr, csc = views(adj, wide=width % 2 == 0)
            weight = edge_weights(adj, dtype)
            x = random(adj.num_nodes, width, dtype=dtype)
            bias = random(width, dtype=dtype, grad=False, seed=3)
            exact_x, exact_weight = (y.detach().double().requires_grad_() for y in (x, weight))
            out = reference.spmm(adj.rowptr, adj.col, exact_weight, exact_x)
            grad = random(adj.num_nodes, width, dtype=dtype, seed=5, grad=False)
            dx, dw = torch.autograd.grad(out, (exact_x, exact_weight), grad.double())
            x, weight = x.detach(), weight.detach()
            assert_close(native.spmm(*csr, weight, x), out, dtype)
            strided = torch.full((adj.num_nodes, width + 3), math.nan, dtype=dtype)[:, 1:-2]
            strided.copy_(x)
            target = torch.ones(adj.num_nodes, width + 2, dtype=dtype)[:, 1:-1]
            native.spmm(*csr, weight, strided, bias=bias, relu=True, out=target, accumulate=True)
            assert_close(target.contiguous(), (out + 1 + bias).relu(), dtype)
            assert_close(native.spmm(csc.colptr, csc.row, weight, grad, position=csc.position), dx, dtype)
            assert_close(native.sddmm(*csr, grad, x), dw, dtype)
            ones = torch.ones_like(exact_weight)
            assert_close(native.spmm(*csr, None, x), reference.spmm(adj.rowptr, adj.col, ones, exact_x), dtype)


@pytest.mark.parametrize("width", [1, 7, 16, 33, 64, 128, 300])
def test_spmm_skips_what_dropout_takes(isa, width):
    for dtype in (torch.float32, torch.float64):
        for name in ("small", "hub", "empty"):
            adj = make_graph(name)
            csr, csc = views(adj, wide=width % 2 == 0)
            weight = edge_weights(adj, dtype).detach()
            x = random(adj.num_nodes, width, dtype=dtype, grad=False)
            options = {"dropout_p": 0.4, "seed": 2**40 + 3}
            dropped = reference.dropout(weight[None, None], 0.4, 2**40 + 3)[0, 0].to(dtype)
            assert_close(native.spmm(*csr, weight, x, **options), native.spmm(*csr, dropped, x).double(), dtype)
            expected = native.spmm(csc.colptr, csc.row, dropped, x, position=csc.position)
            by_number = native.spmm(csc.colptr, csc.row, weight, x, position=csc.position, **options)
            assert_close(by_number, expected.double(), dtype)
            weight = weight[csc.position]
            ordered = native.spmm(csc.colptr, csc.row, weight, x, position=csc.position, ordered=True, **options)
            assert torch.equal(ordered, by_number)


def test_spmm_rectangular(isa):
    rowptr, col = torch.tensor([0, 2, 2, 3]), torch.tensor([4, 0, 3])
    x = random(5, 20, dtype=torch.float64, grad=False)
    expected = torch.stack([x[4] + x[0], torch.zeros(20, dtype=torch.float64), x[3]])
    assert_close(native.spmm(rowptr, col, None, x), expected, torch.float64)


@pytest.mark.parametrize("width", [1, 7, 16, 50])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dropout(isa, width, dtype):
    x = random(130, width, dtype=dtype)
    grad = random(130, width, dtype=dtype, seed=2, grad=False)
    for p in (0.0, 0.5):
        for relu in (True, False):
            y = reference.dropout((x.relu() if relu else x)[:, None], p, 11, first_row=4)[:, 0]
            (dx,) = torch.autograd.grad(y, x, grad)
            got = native.dropout_relu(x.detach(), p, 11, relu=relu, first_row=4)
            assert_close(got, y, dtype)
            assert torch.equal(got == 0, y == 0)
            if relu:
                assert_close(native.dropout_relu_backward(got, grad, p), dx, dtype)
            else:
                assert_close(native.dropout_relu(grad, p, 11, relu=False, first_row=4), dx, dtype)


# Rows of 32, 64 and 128 powers of two in each direction are transposed in the registers of one of the instruction sets.
@pytest.mark.parametrize("channels", [1, 2, 4, 5, 8, 12, 16])
@pytest.mark.parametrize("heads", [1, 3, 4, 8, 16])
def test_pack(isa, heads, channels):
    for dtype in (torch.float32, torch.float64):
        x = random(70, heads * channels, dtype=dtype, grad=False)
        y = native.pack(x, heads)
        padded = native.padded_heads(heads)
        inner = y[:, : channels * padded].view(70, channels, padded)[:, :, :heads]
        assert torch.equal(inner, x.view(70, heads, channels).mT)
        assert torch.equal(native.unpack(y, heads, channels), x)
        assert y.count_nonzero() == x.count_nonzero()


def everything(adj: Adjacency, dtype: torch.dtype) -> list[Tensor]:
    csr, csc = views(adj)
    heads, channels, nodes = 8, 4, adj.num_nodes
    size = {"heads": heads, "channels": channels}
    x = [packed(random(nodes, heads, channels, dtype=dtype, seed=i, grad=False)) for i in range(4)]
    bias = random(nodes, heads, dtype=dtype, grad=False)
    weight = random(4, 8, 8, dtype=dtype, grad=False)
    dna = dict(size, scale=0.5, dropout_p=0.5, seed=3)
    separate = (x[0], x[1:3], x[2:4], None)
    folded = (x[0], x[1:3], None, bias)
    results = [native.dna_forward(csr, None, *separate, **dna)[0], *native.dna_forward(csr, None, *folded, **dna)[:2]]
    for inputs, grad_total in ((separate, None), (folded, bias)):
        dq, _, dk, _, dw = native.dna_backward(csr, csc, None, *inputs, x[3], grad_total, **dna, need_weight=True)
        results += [dq, *dk, dw]
    out, saved, _ = native.gat_forward(csr, x[0], bias, bias, **size, dropout_p=0.5)
    results += [out, *native.gat_backward(csr, csc, x[0], bias, bias, saved, x[1], **size, dropout_p=0.5)]
    results += [native.spmm(*csr, None, x[0]), native.sddmm(*csr, x[0], x[1])]
    rows = torch.cat(x * 20)
    results += [native.grouped_linear(rows, weight, **size)]
    results += native.grouped_linear_weight_grad(rows, rows.flip(0), 4, **size)
    results += [native.dropout_relu(rows, 0.5, 1)]
    return results


def test_threads_give_the_same_bits(isa, threads):
    adj = make_graph("hub")
    for dtype in (torch.float32, torch.float64):
        threads(1)
        expected = everything(adj, dtype)
        for n in (2, 3):
            threads(n)
            for x, y in zip(everything(adj, dtype), expected, strict=True):
                assert torch.equal(x, y)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_graph(isa, data):
    nodes = data.draw(st.integers(1, 12))
    edges = data.draw(st.lists(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=40))
    ends = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    adj = Adjacency.build(ends, num_nodes=nodes)
    heads, channels = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    steps = data.draw(st.integers(1, 5))
    p = data.draw(st.sampled_from([0.0, 0.3, 0.9]))
    seed = data.draw(st.integers(-(2**63), 2**63 - 1))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    check_separate(adj, heads, channels, steps, dtype, p, seed=seed)
    check_folded(adj, heads, channels, steps, dtype, p, seed=seed)
    check_gat(adj, heads, channels, dtype, p, seed=seed)
    divisors = [g for g in range(1, heads * channels + 1) if heads * channels % g == 0]
    check_grouped(data.draw(st.integers(0, 40)), heads, channels, data.draw(st.sampled_from(divisors)), dtype)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_after_parallel_use(threads):
    threads(2)
    x = random(5000, 64, dtype=torch.float32, grad=False)
    expected = native.dropout_relu(x, 0.5, 1)

    def child(queue):  # torch's own operations would hang here with two threads
        y = native.dropout_relu(x, 0.5, 1)
        torch.set_num_threads(1)
        queue.put((native.thread_backend(), torch.equal(y, expected)))

    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        pytest.fail("the child hangs")
    assert queue.get() == ("pool", True)


def test_environment_forces_isa():
    code = "from justjump.ops import native; print(native.isa())"

    def run(name):
        environment = {**os.environ, "JUSTJUMP_ISA": name}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert run("baseline").stdout.strip() == "baseline"
    unknown = run("mmx")
    assert unknown.returncode
    assert "JUSTJUMP_ISA=mmx" in unknown.stderr
    assert "baseline" in unknown.stderr


def test_bad_input():
    adj = make_graph("small")
    csr, _ = views(adj)
    x = packed(random(adj.num_nodes, 4, 4, dtype=torch.float32, grad=False))
    size = {"heads": 4, "channels": 4}
    with pytest.raises(ValueError, match="query has shape"):
        native.dna_forward(csr, None, x[:-1], [x], [x], None, **size, scale=1.0)
    with pytest.raises(ValueError, match=r"values\[0\] has shape"):
        native.dna_forward(csr, None, x, [x], [x[:-1]], None, **size, scale=1.0)
    with pytest.raises(TypeError, match=r"keys\[0\] has dtype torch.float64"):
        native.dna_forward(csr, None, x, [x.double()], [x], None, **size, scale=1.0)
    with pytest.raises(ValueError, match="contiguous"):
        native.dna_forward(csr, None, x, [x.T.contiguous().T], [x], None, **size, scale=1.0)
    with pytest.raises(ValueError, match="either values or bias"):
        native.dna_forward(csr, None, x, [x], None, None, **size, scale=1.0)
    with pytest.raises(ValueError, match="dropout=1.5"):
        native.dna_forward(csr, None, x, [x], [x], None, **size, scale=1.0, dropout_p=1.5)
    with pytest.raises(TypeError, match="float16"):
        native.spmm(*csr, None, x.half())
    with pytest.raises(ValueError, match="rowptr runs from"):
        native.spmm(csr.rowptr[:-3], csr.col, None, x)
    with pytest.raises(ValueError, match="weight has shape"):
        native.grouped_linear(x, torch.ones(3, 5, 5), **size)
    with pytest.raises(ValueError, match="heads=3 does not divide"):
        native.pack(x, 3)
    with pytest.raises(ValueError, match="meta"):
        native.pack(x.to("meta"), 4)
    with pytest.raises(ValueError, match="accumulate=True"):
        native.spmm(*csr, None, x, accumulate=True)
    with pytest.raises(ValueError, match="unknown or not supported"):
        native.set_isa("mmx")


def test_order_changes_no_bit(isa):
    adj = make_graph("hub")
    order = adj.order
    assert order is not None
    assert torch.equal(order.sort()[0].long(), torch.arange(adj.num_nodes))
    query, key, value = torch.randn(3, adj.num_nodes, native.row_stride(4, 3, torch.float32))
    options = {"heads": 4, "channels": 3, "scale": 0.5, "dropout_p": 0.4, "seed": 3}
    arguments = (Csr(adj.rowptr, adj.col), None, query, [key], [value], None)
    plain = native.dna_forward(*arguments, **options)[0]
    ordered = native.dna_forward(*arguments, **options, order=order)[0]
    assert torch.equal(plain, ordered)


def test_order_puts_communities_together() -> None:
    group = torch.randperm(40) % 2  # two cliques
    pairs = torch.cartesian_prod(torch.arange(40), torch.arange(40))
    pairs = pairs[(group[pairs[:, 0]] == group[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    order = Adjacency.build(pairs.T, num_nodes=40).order
    assert order is not None
    assert int((group[order.long()].diff() != 0).sum()) == 1


def test_large_tensors_on_huge_pages_are_like_others() -> None:
    like = torch.randn(3, dtype=torch.float64)
    for rows in (0, 5, 2**16 + 1):  # the last one is large and ends within a page
        x = native.empty(like, rows, 9)
        assert (x.shape, x.dtype, x.is_contiguous()) == ((rows, 9), torch.float64, True)
        assert bool((x.fill_(7) == 7).all())
