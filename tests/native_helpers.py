"""What tests of the native kernels share."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.adjacency import Adjacency
from justjump.ops.native import Csc, Csr

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def make_graph(name: str) -> Adjacency:
    generator = torch.Generator().manual_seed(1)
    if name == "one":
        return Adjacency.build(torch.tensor([[0], [0]]), num_nodes=1)
    if name == "empty":
        return Adjacency.build(torch.zeros(2, 0, dtype=torch.long), num_nodes=3)
    if name == "hub":  # node 0 has more edges than a chunk, in and out
        n, edges = 40, 2 * native.module._module().CHUNK_EDGES + 77
        ends = torch.randint(n, (2, edges), generator=generator)
        ends[1, : edges // 2 + 60] = 0
        ends[0, edges // 2 - 60 :] = 0
        return Adjacency.build(ends, num_nodes=n)
    # Isolated nodes (the last two), duplicate edges, self-loops.
    ends = torch.randint(19, (2, 90), generator=generator)
    ends = torch.cat([ends, ends[:, :5], torch.arange(19).repeat(2, 1)[:, :7]], dim=1)
    return Adjacency.build(ends, num_nodes=21)


def views(adj: Adjacency, wide: bool = False) -> tuple[Csr, Csc]:
    dtype = torch.int64 if wide else torch.int32
    csr = Csr(adj.rowptr.to(dtype), adj.col.to(dtype))
    return csr, Csc(adj.colptr.to(dtype), adj.row.to(dtype), adj.position.to(dtype))


def random(*shape: int, dtype: torch.dtype, seed: int = 0, grad: bool = True, size: float = 1.0) -> Tensor:
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * size
    return x.to(dtype).requires_grad_(grad)


def edge_weights(adj: Adjacency, dtype: torch.dtype) -> Tensor:
    weight = random(adj.num_edges, dtype=dtype, seed=9, grad=False).abs()
    weight[::5] = 0
    return weight.requires_grad_()


def assert_close(actual: Tensor, expected: Tensor, dtype: torch.dtype, size: float = 1.0) -> None:
    """Relative to the largest value, or to the size of the terms where they cancel."""
    expected = expected.detach()
    assert actual.shape == expected.shape
    assert torch.isfinite(actual).all()
    if actual.numel():
        error = (actual.double() - expected.double()).abs().max().item()
        assert error <= TOLERANCE[dtype] * max(expected.double().abs().max().item(), size)
