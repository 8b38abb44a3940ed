"""From the nodes of a graph to the graph."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor

from helpers import assert_same, gradients
from justjump.nn import Readout
from justjump.nn.config import Readout as Kind

KINDS: list[Kind] = ["mean", "max", "sum", "attention"]
BATCH = torch.tensor([0, 0, 0, 2, 3, 3])  # graph 1 has no nodes


def pyg_readout(readout: Readout) -> Any:
    if readout.gate is None:
        return getattr(pyg, {"sum": "global_add_pool"}.get(readout.kind, f"global_{readout.kind}_pool"))
    return pyg.AttentionalAggregation(readout.gate)


@pytest.mark.parametrize("kind", KINDS)
def test_as_pyg_does_it(kind: Kind) -> None:
    readout, x = Readout(kind, 5).double(), torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    inputs: list[Tensor] = [x, *readout.parameters()]
    out, expected = readout(x, BATCH), pyg_readout(readout)(x, BATCH)
    assert_same(out, expected)
    assert out[1].eq(0).all()
    for a, b in zip(gradients(out, inputs), gradients(expected, inputs), strict=True):
        assert_same(a, b)
    assert torch.equal(readout(x, BATCH, num_graphs=6)[:4], out)
    assert readout(x, BATCH, num_graphs=6)[4:].eq(0).all()
    assert torch.equal(readout(x[:0], BATCH[:0], 2), torch.zeros_like(x[:2]))
    assert readout(x[:0], BATCH[:0]).shape == (0, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_for_any_number_of_threads(kind: Kind) -> None:
    torch.manual_seed(0)
    readout, x = Readout(kind, 64), torch.randn(20_000, 64, requires_grad=True)
    batch, found, before = torch.randint(50, (20_000,)).sort().values, [], torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            out = readout(x, batch)
            found.append([out, *torch.autograd.grad(out.square().sum(), x)])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_large_scores_stay_finite() -> None:
    readout = Readout("attention", 2)
    x = 1e4 * torch.randn(6, 2)
    assert readout(x, BATCH).isfinite().all()
    before = [p.clone() for p in readout.parameters()]
    readout.reset_parameters()
    assert not torch.equal(before[0], next(readout.parameters()))
    assert repr(readout) == "Readout('attention')"


@pytest.mark.parametrize(
    ("batch", "graphs", "message"),
    [
        (BATCH[:5], None, r"batch is torch.int64 of shape \[5\], expected torch.int64 of shape \[6\]"),
        (BATCH.float(), None, "batch is torch.float32 of shape"),
        (BATCH - 1, None, "batch holds -1: graphs are counted from 0"),
        (BATCH, 3, "batch holds 3, but there are num_graphs=3"),
    ],
)
def test_wrong_numbers_of_graphs(batch: Tensor, graphs: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Readout("mean", 2)(torch.randn(6, 2), batch, graphs)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind='median' is unknown: choose one of mean, max, sum, attention"):
        Readout("median", 3)  # type: ignore[arg-type]
