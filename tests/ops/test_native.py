"""The native module: loading, instruction sets, threads, and the border that nothing wrong may cross."""

import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from justjump.ops import Adjacency, native, relu_dropout
from justjump.ops.layout import Layout, pack
from justjump.ops.plan import is_native, saved_shapes
from specification import CHUNK_EDGES, edge_weights, graph, needs_kernels, random


def test_kernels_are_active_here() -> None:
    """A machine with a compiler must not pass these tests on PyTorch's path unnoticed: a failed build is a failure."""
    if not native.available():
        compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
        switched_off = os.environ.get("JUSTJUMP_ISA") == "none"
        assert switched_off or compiler is None, f"{compiler} is here, but {native.why_not()}"
        pytest.skip(f"no compiler, or switched off: {native.why_not()}")
    assert native.isa() in native.available_isas()
    assert native.why_not() == ""
    assert native._native.CHUNK_EDGES == CHUNK_EDGES


def test_only_dense_numbers_on_the_cpu_reach_the_kernels() -> None:
    assert not is_native(torch.empty(3, 4, device="meta"))
    assert not is_native(torch.empty(3, 4, dtype=torch.float16))
    assert not is_native(torch.empty(3, 4), torch.empty(3, 4, dtype=torch.float64))


@pytest.mark.usefixtures("kernels_off")
def test_without_kernels() -> None:
    assert not native.available()
    assert not is_native(torch.empty(3, 4))
    assert graph("small").order is None
    with pytest.raises(RuntimeError, match="switched the native kernels off"):
        native.isa()


@pytest.mark.slow
@needs_kernels
@pytest.mark.parametrize(
    ("name", "expected"), [("baseline", "True baseline"), ("none", "False JUSTJUMP_ISA=none"), ("mmx", "")]
)
def test_environment_forces_the_instruction_set(name: str, expected: str) -> None:
    code = "from justjump.ops import native as n; print(n.available(), n.isa() if n.available() else n.why_not())"
    environment = {**os.environ, "JUSTJUMP_ISA": name}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if expected:
        assert done.stdout.startswith(expected)
    else:
        assert done.returncode
        assert "JUSTJUMP_ISA=mmx" in done.stderr
        assert "baseline" in done.stderr


@needs_kernels
def test_unknown_instruction_set_is_refused() -> None:
    before = native.isa()
    with pytest.raises(ValueError, match="'mmx' is unknown or not supported here: choose from .*baseline"):
        native.set_isa("mmx")
    assert native.isa() == before


@needs_kernels
def test_number_of_threads(threads: Callable[[int | None], None]) -> None:
    assert native.threads() == torch.get_num_threads()
    threads(3)
    assert native.threads() == 3
    for number in (0, -1):
        with pytest.raises(ValueError, match=f"number={number} must be at least 1"):
            threads(number)
    threads(None)
    assert native.threads() == torch.get_num_threads()


@needs_kernels
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork a process")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_after_parallel_use(threads: Callable[[int | None], None]) -> None:
    threads(2)
    x = random(5000, 64, dtype=torch.float32)
    torch.manual_seed(1)
    expected = relu_dropout(x, 0.5)

    def child(queue: Any) -> None:  # torch's own operations would hang here with two threads
        torch.manual_seed(1)
        y = relu_dropout(x, 0.5)
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


@needs_kernels
def test_order_puts_communities_together() -> None:
    group = torch.randperm(40) % 2  # two cliques
    pairs = torch.cartesian_prod(torch.arange(40), torch.arange(40))
    pairs = pairs[(group[pairs[:, 0]] == group[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    order = Adjacency.build(pairs.T, num_nodes=40).order
    assert order is not None
    assert torch.equal(order.long().sort()[0], torch.arange(40))
    assert int((group[order.long()].diff() != 0).sum()) == 1


@needs_kernels
def test_large_tensors_on_huge_pages_are_like_others() -> None:
    like = torch.randn(3, dtype=torch.float64)
    for rows in (0, 5, 2**16 + 1):  # the last one is large and ends within a page
        x = native.empty(like, rows, 9)
        assert (x.shape, x.dtype, x.is_contiguous()) == ((rows, 9), torch.float64, True)
        assert bool((x.fill_(7) == 7).all())


ROWS = torch.zeros(3, 8)
PACK = {"heads": 4, "channels": 2, "standard": ROWS, "packed": torch.zeros(3, 16)}


@needs_kernels
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"standard": torch.zeros(3, 7)}, ValueError, r"standard has shape \[3, 7\], expected \[3, 8\]"),
        ({"packed": torch.zeros(2, 16)}, ValueError, r"packed has shape \[2, 16\], expected \[3, 16\]"),
        ({"standard": ROWS.double()}, TypeError, "standard has dtype torch.float64, expected torch.float32"),
        ({"standard": ROWS.half()}, TypeError, "standard has dtype torch.float16"),
        ({"standard": ROWS.to("meta")}, ValueError, "standard is a torch.strided tensor on meta, expected a dense one"),
        ({"standard": ROWS.to_sparse()}, ValueError, "standard is a torch.sparse_coo tensor"),
        ({"standard": torch.zeros(8, 3).T}, ValueError, r"standard has strides \(1, 3\), expected contiguous rows"),
        ({"standard": torch.zeros(1, 8).expand(3, 8)}, ValueError, r"standard has strides \(0, 1\)"),
        ({"standard": torch.zeros(1, 3, 16)[..., ::2]}, ValueError, "expected a contiguous tensor"),
        ({"heads": 0}, ValueError, "at least one head"),
        ({"channels": -2}, ValueError, "at least one head and one channel"),
        ({"heads": 2.5}, TypeError, "incompatible function arguments"),
        ({"colour": 3}, AttributeError, "colour"),
        ({"standard": 3}, TypeError, "incompatible function arguments"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], error: type[Exception], message: str) -> None:
    native.run("Pack", torch.float32, **PACK)
    with pytest.raises(error, match=message):
        native.run("Pack", torch.float32, **{**PACK, **changed})


@needs_kernels
def test_unknown_operators_and_dtypes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="has no Fold, so it was built from another version: install justjump again"):
        native.run("Fold", torch.float32)
    with pytest.raises(TypeError, match="take torch.float32 or torch.float64, not torch.int64"):
        native.run("Pack", torch.int64)
    with pytest.raises(ValueError, match="packed has shape|standard has shape"):  # nothing was given
        native.run("Pack", torch.float32, heads=4, channels=2)


@needs_kernels
def test_index_arrays_are_checked() -> None:
    adj = graph("small")

    def multiply(given: dict[str, torch.Tensor]) -> None:
        fields = {key: native.index(key, value) for key, value in given.items()}
        native.run("SpmmForward", torch.float32, **fields, x=torch.zeros(21, 3), out=torch.zeros(21, 3))

    for name, bad, error, message in (
        ("rowptr", adj.rowptr[:-3], ValueError, "rowptr runs from 0 to .*, expected 0 to 102"),
        ("rowptr", adj.rowptr.long(), ValueError, "rowptr holds 22 numbers of 64 bits, expected 22 of 32"),
        ("col", adj.col[:-1], ValueError, "rowptr runs from 0 to 102, expected 0 to 101"),
        ("col", adj.col.float(), TypeError, "col is torch.float32 on cpu, expected torch.int32 or torch.int64"),
        ("col", adj.col.repeat_interleave(2)[::2], ValueError, r"col has shape \[102\] and strides \(2,\)"),
        ("position", adj.position[:5], ValueError, "position holds 5 numbers"),
    ):
        given = {"rowptr": adj.rowptr, "col": adj.col, "position": adj.position, name: bad}
        with pytest.raises(error, match=message):
            multiply(given)


def layer_fields(form: str) -> dict[str, Any]:
    """Every argument of a DNA layer in its packed layout, forward."""
    adj, layout, dtype = graph("small"), Layout(4, 4, torch.float32), torch.float32
    unit, folded = "unit" in form, "folded" in form
    groups = 8 if folded else 2
    block = 16 // groups
    weights = {f"{name}_weight": random(groups, block, block, dtype=dtype) for name in ("query", "key", "value")}
    biases = {f"{name}_bias": random(16, dtype=dtype) for name in ("query", "key", "value")}
    saved = {name: torch.zeros(size) for name, size in saved_shapes(folded, unit, layout, 21, 21, 2).items()}
    structure = native.graph(21, adj.rowptr, adj.col, adj.colptr, adj.row, adj.position)
    rows = [pack(random(21, 16, dtype=dtype, seed=t), layout) for t in range(2)]
    return {
        "graph": structure, "heads": 4, "groups": groups, "folded": folded, "packed": True, "dropout": 0.5, "seed": 3,
        "edge_weight": edge_weights(adj.num_edges, dtype), **weights, **biases, "history": rows, **saved,
        "out": torch.zeros(21, layout.stride), **({"qk_scale": torch.ones(4)} if unit else {}),
    }  # fmt: skip


@needs_kernels
@pytest.mark.parametrize("form", ["folded", "separate", "folded unit", "separate unit"])
def test_every_size_of_a_layer_is_checked(form: str) -> None:
    fields = layer_fields(form)
    native.run("DnaForward", torch.float32, **fields)
    for name, value in fields.items():
        if isinstance(value, torch.Tensor):
            cut = value[..., :-1].contiguous()
            with pytest.raises(ValueError, match=f"{name} has shape|heads does not divide"):
                native.run("DnaForward", torch.float32, **{**fields, name: cut})
    for changed, message in (
        ({"heads": 3}, "heads does not divide|folded form"),
        ({"heads": 0}, "heads does not divide"),
        ({"groups": 3}, "groups does not divide|folded form"),
        ({"groups": 0}, "groups does not divide"),
        ({"dropout": 1.0}, r"dropout is not in \[0, 1\)"),
        ({"dropout": -0.5}, r"dropout is not in \[0, 1\)"),
        ({"dropout": float("nan")}, r"dropout is not in \[0, 1\)"),
        ({"history": []}, "there are no former representations"),
        (
            {"history": [fields["history"][0], torch.zeros(20, 16)]},
            r"history has shape \[20, 16\], expected \[21, 16\]",
        ),
        ({"newest": torch.zeros(4, 16)}, r"newest has shape \[4, 16\], expected \[21, 16\]"),
        ({"packed": False}, "out has shape|given and history differ in length"),
    ):
        with pytest.raises(ValueError, match=message):
            native.run("DnaForward", torch.float32, **{**fields, **changed})


@needs_kernels
def test_seeds_of_any_sign() -> None:
    assert native.unsigned(-1) == 2**64 - 1
    assert native.unsigned(torch.tensor(5)) == 5
