"""Neighbour sampling by the native kernels."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.sample.reference import absorb


def picked_edges(rowptr: Tensor, nodes: Tensor, fanout: int, replace: bool, always: bool) -> Tensor:
    """Where the edges begin that each of some nodes takes. ``[n] -> [n + 1]`` int64"""
    degree = (rowptr[nodes + 1] - rowptr[nodes]).long()
    count = degree - 1 if always else degree
    if fanout >= 0:
        count = torch.where(count > 0, fanout, 0) if replace else count.clamp(max=fanout)
    if always:
        count = torch.where(degree > 0, count + 1, 0)
    ptr = torch.zeros(len(nodes) + 1, dtype=torch.int64)
    torch.cumsum(count, 0, out=ptr[1:])
    return ptr


def sample(
    rowptr: Tensor,
    col: Tensor,
    always: Tensor | None,
    place: Tensor,
    seeds: Tensor,
    fanout: list[int],
    replace: bool,
    key: int,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, list[int], list[int]]:
    """As :func:`justjump.ops.sample.reference.sample`, by tensors.

    Args:
        place: ``[N]`` filled with -1; it is again when the sample is done
    """
    dtype = col.dtype
    nodes, first = seeds.to(dtype), 0
    # Backwards: of a node that comes twice, the first place counts.
    place[nodes.flip(0).long()] = torch.arange(len(nodes) - 1, -1, -1, dtype=dtype)
    pointers, new_nodes = [torch.zeros(1, dtype=torch.int64)], [len(nodes)]
    locals_, edges = [torch.empty(0, dtype=dtype)], [torch.empty(0, dtype=dtype)]
    new_edges: list[int] = []
    found = torch.empty(1, dtype=dtype)
    for hop, size in enumerate(fanout):
        last = len(nodes)
        ptr = picked_edges(rowptr, nodes[first:], size, replace, always is not None)
        count = int(ptr[-1])
        room = torch.empty(last + min(count, len(place)), dtype=dtype)
        room[:last] = nodes
        edge, local = torch.empty(count, dtype=dtype), torch.empty(count, dtype=dtype)
        native.run(
            "SampleHop", dtype, rowptr=native.index("rowptr", rowptr), col=native.index("col", col), always=always,
            fanout=size, replace=replace, key=absorb(key, hop), first=first, last=last, nodes=room, place=place,
            ptr=native.index("ptr", ptr), edge=edge, local=local, found=found, threads=threads,
        )  # fmt: skip
        nodes, first = room[: int(found)], last
        pointers.append(ptr[1:] + sum(new_edges))
        locals_.append(local)
        edges.append(edge)
        new_nodes.append(len(nodes) - last)
        new_edges.append(count)
    place[nodes.long()] = -1
    return nodes, torch.cat(pointers), torch.cat(locals_), torch.cat(edges), new_nodes, new_edges
