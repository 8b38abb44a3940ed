"""PyG's ``NeighborLoader`` on the native sampler."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler
from torch_geometric.data import Data, HeteroData

from justjump.data import Graph
from justjump.loader.order import Counted, Numbered, Order
from justjump.loader.select import Selection, induced
from justjump.ops import Adjacency, Sampler
from justjump.ops.edge_index import check_nodes, sorted_edges
from justjump.ops.sample import check_fanout
from justjump.options import unknown_option

LOADER_ARGUMENTS = [name for name in inspect.signature(DataLoader).parameters if name != "self"]


class NeighborLoader(DataLoader[Any]):
    """Mini-batches of a graph with sampled neighbours, with the arguments and batches of PyG's ``NeighborLoader``.

    It needs neither ``pyg-lib`` nor ``torch-sparse``. What a batch holds is a function of (seed, epoch, batch) alone:
    it is the same for any number of workers and threads. One iteration over the loader is one epoch.

    Each batch is a ``Data`` with the nodes in the order of their hops, the ``batch_size`` nodes that were asked for
    first. Everything with one entry per node or edge is cut to the batch. It also has ``n_id`` and ``e_id`` (numbers of
    its nodes and edges in the graph), ``input_id``, ``batch_size``, ``num_sampled_nodes`` and ``num_sampled_edges``.

    Args:
        data: a PyG ``Data`` with ``edge_index``, or a :class:`~justjump.data.Graph`
        num_neighbors: how many neighbours a node of each hop takes at most; -1 takes all
        input_nodes: the nodes to make batches of: numbers ``[n]`` or a mask ``[N]``; all by default
        replace: sample with replacement
        subgraph_type: ``"directional"``: the sampled edges; ``"induced"``: all edges between the sampled nodes
        transform: called with each batch
        transform_sampler_output: called with each :class:`~justjump.ops.Sample`
        filter_per_worker: cut the features in the workers or in this process; by default in the workers, if they are
            dense
        seed: of the neighbours and of ``shuffle``; drawn from torch's generator by default
        kwargs: of torch's ``DataLoader``: ``batch_size``, ``shuffle``, ``drop_last``, ``num_workers``, ...

    Sampling by time or by weight, ``disjoint`` batches and heterogeneous graphs are not there.

    >>> from justjump.data import load
    >>> loader = NeighborLoader(load("cora"), num_neighbors=[5, 5], batch_size=32, seed=0)
    >>> batch = next(iter(loader))
    >>> batch.batch_size, len(batch.num_sampled_nodes), bool((batch.n_id[:32] == torch.arange(32)).all())
    (32, 3, True)
    """

    def __init__(
        self,
        data: Data | Graph,
        num_neighbors: Sequence[int],
        input_nodes: Tensor | Sequence[int] | None = None,
        input_time: None = None,
        replace: bool = False,
        subgraph_type: str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: None = None,
        weight_attr: None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: None = None,
        directed: bool = True,
        *,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        for name, value in {
            "input_time": input_time,
            "time_attr": time_attr,
            "weight_attr": weight_attr,
            "neighbor_sampler": neighbor_sampler,
            "disjoint": disjoint or None,
        }.items():
            if value is not None:
                raise ValueError(f"{name}={value!r} is not supported: neighbours are sampled uniformly, all together")
        for name in kwargs:
            if name not in LOADER_ARGUMENTS:
                own = [one for one in signature(NeighborLoader.__init__).parameters if one not in ("self", "kwargs")]
                known = unknown_option(name, [*own, *LOADER_ARGUMENTS])
                raise TypeError(f"NeighborLoader has no argument {name!r}: {known}")
        kind = str(getattr(subgraph_type, "value", subgraph_type)) if directed else "induced"
        if kind not in ("directional", "induced"):
            raise ValueError(f"subgraph_type={kind!r} is not supported: choose 'directional' or 'induced'")
        data = _as_data(data)
        nodes, self.input_id = _input_nodes(input_nodes, int(data.num_nodes or 0))
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral)):
            raise TypeError(f"seed={seed!r} must be a whole number, or None to draw one")
        self.seed = int(torch.randint(2**62, ())) if seed is None else int(seed)
        self.data, self.input_nodes, self.transform = data, nodes, transform
        self._batch = _MakeBatch(data, nodes, self.input_id, num_neighbors, replace, kind == "induced", self.seed)
        self._batch.transform, self._batch.transform_sample = transform, transform_sampler_output
        # torch warns of every sparse tensor that comes from another process.
        per_worker = not self._batch.selection.sparse if filter_per_worker is None else filter_per_worker
        self._filter = None if per_worker else self._batch.select
        for name in ("dataset", "collate_fn"):
            kwargs.pop(name, None)
        make = self._batch if per_worker else self._batch.sample
        super().__init__(_Positions(len(nodes)), collate_fn=make, **_counted(kwargs, len(nodes), self.seed))  # type: ignore[arg-type]

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration is; without this they are counted from 0."""
        counted: Any = self.batch_sampler if isinstance(self.batch_sampler, Counted) else self.sampler
        counted.set_epoch(epoch)

    def __iter__(self) -> Any:
        batches = super().__iter__()
        return batches if self._filter is None else _Filtered(batches, self._filter)

    def __call__(self, index: Tensor | Sequence[int]) -> Any:
        """The batch of some of the input nodes, by their places among them."""
        return self._batch([(0, 0, int(place)) for place in index])

    def __repr__(self) -> str:
        return f"NeighborLoader({self.data}, num_neighbors={self._batch.sampler.fanout}, nodes={len(self.input_nodes)})"


class _MakeBatch:
    """Makes a batch of the places of its nodes; it can be sent to another process."""

    transform: Callable[[Any], Any] | None = None
    transform_sample: Callable[[Any], Any] | None = None

    def __init__(
        self,
        data: Data,
        nodes: Tensor,
        input_id: Tensor | None,
        fanout: Sequence[int],
        replace: bool,
        is_induced: bool,
        seed: int,
    ) -> None:
        edge_index, count = data.edge_index, int(data.num_nodes or 0)
        edges = sorted_edges(edge_index.cpu(), count, Adjacency._of_sorted)
        self.order, self.is_induced = edges.order, is_induced
        self.sampler = Sampler(edges.graph, check_fanout(fanout, "num_neighbors"), replace, seed)
        self.selection, self.nodes, self.input_id = Selection(data), nodes, input_id

    def __call__(self, items: Sequence[Numbered]) -> Any:
        return self.select(self.sample(items))

    def sample(self, items: Sequence[Numbered]) -> tuple[Any, Tensor]:
        epoch, number, _ = items[0] if items else (0, 0, 0)
        places = torch.tensor([place for _, _, place in items], dtype=torch.int64)
        return self.sampler(self.nodes[places], epoch, number), places

    def select(self, sampled: tuple[Any, Tensor]) -> Any:
        sample, places = sampled
        if self.transform_sample is not None:
            sample = self.transform_sample(sample)
        if self.is_induced:
            adj = self.sampler.adj
            edge_index, edge = induced(adj.rowptr, adj.col, sample)
        else:
            target = torch.arange(len(sample.rowptr) - 1).repeat_interleave(sample.rowptr.diff())
            edge_index, edge = torch.stack([sample.col, target]), sample.edge
        e_id = self.order[edge]
        batch = self.selection(sample.nodes, edge_index, e_id)
        if "n_id" not in batch:
            batch.n_id = sample.nodes
        if "e_id" not in batch:
            batch.e_id = e_id
        batch.input_id = places if self.input_id is None else self.input_id[places]
        batch.batch_size = len(places)
        batch.num_sampled_nodes = sample.num_nodes
        if not self.is_induced:
            batch.num_sampled_edges = sample.num_edges
        return batch if self.transform is None else self.transform(batch)


class _Positions:
    """A dataset whose items are the keys that it is asked for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: Numbered) -> Numbered:
        return item


class _Filtered:
    """What an iterator gives, after one more step."""

    def __init__(self, items: Any, step: Callable[[Any], Any]) -> None:
        self.items, self.step = items, step

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.step(next(self.items))

    def __len__(self) -> int:
        return len(self.items)


def _counted(kwargs: dict[str, Any], n: int, seed: int) -> dict[str, Any]:
    """The arguments of a DataLoader, with a sampler that says epoch and place."""
    if kwargs.get("batch_sampler") is not None:
        return {**kwargs, "batch_sampler": Counted(kwargs["batch_sampler"], batches=True)}
    sampler, shuffle = kwargs.get("sampler"), bool(kwargs.pop("shuffle", False))
    if sampler is not None and shuffle:
        raise ValueError("sampler and shuffle=True exclude each other: the sampler decides the order")
    if sampler is None and shuffle and kwargs.get("generator") is not None:
        sampler = RandomSampler(range(n), generator=kwargs["generator"])
    return {**kwargs, "sampler": Counted(Order(n, shuffle, seed) if sampler is None else sampler)}


def _as_data(data: Any) -> Data:
    if isinstance(data, Graph):
        data = data.to_pyg()
    if not isinstance(data, Data):
        remedy = ": convert it with .to_homogeneous()" if isinstance(data, HeteroData) else ""
        raise TypeError(f"data is {type(data).__name__}, expected a torch_geometric Data or a justjump Graph{remedy}")
    if data.edge_index is None:
        raise ValueError("data has no edge_index: make one of its adj_t, or give it the edges as [2, E]")
    return data


def _input_nodes(nodes: Any, num_nodes: int) -> tuple[Tensor, Tensor | None]:
    """Their numbers, and what ``input_id`` says of them where it is not their place."""
    if nodes is None:
        return torch.arange(num_nodes), None
    try:
        nodes = torch.as_tensor(nodes).cpu()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"input_nodes={nodes!r} must be node numbers [n] or a mask [{num_nodes}]") from None
    if nodes.dtype == torch.bool:
        if nodes.shape != (num_nodes,):
            raise ValueError(f"input_nodes is a mask of shape {list(nodes.shape)}, expected [{num_nodes}]")
        numbers = nodes.nonzero()[:, 0]
        return numbers, numbers
    if nodes.dim() != 1 or (nodes.numel() and nodes.dtype not in (torch.int32, torch.int64)):
        kind = f"{nodes.dtype} of shape {list(nodes.shape)}"
        raise ValueError(f"input_nodes is {kind}, expected node numbers [n] or a mask [{num_nodes}]")
    if nodes.numel():
        check_nodes("input_nodes", nodes, num_nodes)
    return nodes.long(), None
