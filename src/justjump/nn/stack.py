"""What the networks to build on share, in the manner of PyG's ``BasicGNN``."""

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from justjump import ops
from justjump.nn.arguments import check_features, refuse_unknown, renamed
from justjump.nn.feature_linear import FeatureLinear
from justjump.nn.layers import Layers
from justjump.nn.lazy_linear import UNKNOWN, LazyFeatureLinear
from justjump.nn.sizes import check_count
from justjump.ops import Adjacency, History, SparseMatrix
from justjump.ops.dropout import dropout_threshold

Activation = Callable[[Tensor], Tensor]
JUMPS = (None, "last", "cat", "max", "lstm")


class Dropout(nn.Dropout):
    """Dropout that gives the same bits for any number of threads."""

    def forward(self, x: Tensor) -> Tensor:
        return ops.dropout(x, self.p, self.training)


class Stack(Layers):
    """What :class:`~justjump.nn.DNA`, :class:`~justjump.nn.GCN` and :class:`~justjump.nn.GAT` share.

    The arguments are those of PyG's ``BasicGNN``.

    Args:
        in_channels: number of features per node, or -1 to take it from the first call
        hidden_channels: size of every hidden representation
        num_layers: number of graph layers
        out_channels: size of the output; ``hidden_channels`` by default
        dropout: probability of dropping a number of a representation
        act: activation: a name that PyG's resolver knows, a module, or None
        act_first: apply the activation before the norm
        act_kwargs: arguments of the activation
        norm: a name that PyG's resolver knows (``"batch_norm"``, ``"layer_norm"``, ``"graph_norm"``, ...), or a module
            of which each layer gets a copy
        norm_kwargs: arguments of the norm
        jk: jumping knowledge over the outputs of the layers (``"last"``, ``"cat"``, ``"max"`` or ``"lstm"``), which a
            linear map to the output follows
        layer_options: the arguments of the network's own, see there
    """

    supports_edge_weight = True
    supports_edge_attr = False
    projects_features = False  # features go through a linear map to the hidden size first

    def __init_subclass__(cls, **options: Any) -> None:
        """Errors about missing arguments name the network, not this class.

        Other bases, such as ``PyTorchModelHubMixin``, take their options, and look at the arguments of ``__init__``.
        """
        for name in ("__init__", "forward"):
            if name not in vars(cls):
                setattr(cls, name, renamed(getattr(cls, name), f"{cls.__name__}.{name}"))
        super().__init_subclass__(**options)

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        act: str | Activation | None = "relu",
        act_first: bool = False,
        act_kwargs: dict[str, Any] | None = None,
        norm: str | nn.Module | None = None,
        norm_kwargs: dict[str, Any] | None = None,
        jk: str | None = None,
        **layer_options: Any,
    ) -> None:
        super().__init__()
        hidden = hidden_channels
        self.in_channels = in_channels if in_channels == UNKNOWN else check_count("in_channels", in_channels)
        self.hidden_channels = check_count("hidden_channels", hidden)
        self.num_layers = check_count("num_layers", num_layers)
        self.out_channels = hidden if out_channels is None else check_count("out_channels", out_channels)
        if jk not in JUMPS:
            raise ValueError(f"jk={jk!r} is unknown: choose one of {', '.join(map(repr, JUMPS))}")
        refuse_unknown(type(self).__name__, layer_options, Stack.__init__, self.init_conv)
        dropout_threshold(dropout)
        self.dropout = Dropout(dropout)
        self.act = _activation(act, act_kwargs or {})
        self.act_first = act_first
        self.norm = norm if isinstance(norm, str) else None
        self.norm_kwargs = norm_kwargs
        self.jk_mode = jk

        if self.projects_features:
            lazy = in_channels == UNKNOWN
            self.lin_in = LazyFeatureLinear(hidden) if lazy else FeatureLinear(in_channels, hidden)
        ends_in_linear = jk is not None or (self.projects_features and out_channels is not None)
        self.is_open = not ends_in_linear  # the output of the last layer is the output, as it is
        widths = [hidden if self.projects_features else in_channels] + [hidden] * num_layers
        if self.is_open:
            widths[-1] = self.out_channels
        self._maps_to_output = False
        self.convs = nn.ModuleList()
        for t, (before, after) in enumerate(pairwise(widths), 1):
            self._maps_to_output = t == num_layers and self.is_open and out_channels is not None
            # Neither the number of features nor that of outputs need be a multiple of the groups.
            dense = {"groups": 1} if self._maps_to_output or (t == 1 and not self.projects_features) else {}
            self.convs.append(self.init_conv(before, after, **layer_options | dense))

        one = _normalization(norm, hidden, norm_kwargs or {})
        normalised = num_layers - self.is_open
        self.norms = nn.ModuleList(copy.deepcopy(one) for _ in range(normalised))
        self.norms.extend(nn.Identity() for _ in range(num_layers - normalised))
        self.supports_norm_batch = "batch" in inspect.signature(one.forward).parameters
        if jk is not None and jk != "last":
            from torch_geometric.nn import JumpingKnowledge  # its import takes two seconds

            self.jk = JumpingKnowledge(jk, hidden, num_layers)
        if ends_in_linear:
            self.lin = nn.Linear(num_layers * hidden if jk == "cat" else hidden, self.out_channels)

    def init_conv(self, in_channels: int, out_channels: int, *args: Any, **layer_options: Any) -> nn.Module:
        """One layer of the network."""
        raise NotImplementedError

    def forward(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Any,
        edge_weight: Tensor | None = None,
        edge_attr: None = None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The representations of all nodes, or of those that the graph is taken toward.

        Args:
            x: features ``[N, in_channels]``; :class:`~justjump.nn.DNA` takes a :class:`~justjump.ops.SparseMatrix`, too
            edge_index: ``[2, E]``, a sparse ``adj_t``, a scipy matrix or an :class:`~justjump.ops.Adjacency`
            edge_weight: ``[E]`` weights of the edges of ``edge_index``, where ``supports_edge_weight``
            edge_attr: stands in the place that it has in PyG; no layer here takes it
            batch: ``[N]`` the number of each node's graph, for norms that need it
            batch_size: the number of graphs

        Returns:
            ``[N, out_channels]``
        """
        if edge_attr is not None:
            raise ValueError(f"{type(self).__name__} does not take edge_attr: give one weight per edge as edge_weight")
        check_features(x, next(self.parameters()))
        # Compared one by one: of a size that is a symbol of torch.compile, "in" asks whether it is the same object.
        if len(x.shape) != 2 or (self.in_channels != UNKNOWN and self.in_channels != x.shape[1]):
            raise ValueError(f"x has shape {list(x.shape)}, expected [num_nodes, {self.in_channels}]")
        adj = Adjacency.build(edge_index, edge_weight if self.supports_edge_weight else None, x.shape[0])
        outputs = self.outputs(x, adj, batch=batch, batch_size=batch_size)
        h: Tensor = self.jk(outputs) if hasattr(self, "jk") else outputs[-1]
        if hasattr(self, "lin"):
            h = self.lin(self.dropout(h) if self.projects_features else h)
        return h

    def outputs(self, x: Tensor | SparseMatrix, adj: Adjacency, **context: Any) -> list[Tensor]:
        """The output of each layer, or of the last layers alone, of the nodes that are asked for."""
        if not isinstance(x, Tensor):
            raise TypeError(f"x is a {type(x).__name__}, but {type(self).__name__} takes a dense tensor of features")
        adj, h, outputs = self.prepared(adj, x.dtype), x, []
        for t, conv in enumerate(self.convs, 1):
            h = conv(h, self.part(t, adj))
            if t < self.num_layers or not self.is_open:
                h = self.dropout(self.after(t, h, None, **context))
            outputs.append(h)
        return outputs if adj.nodes is None else [h[adj.nodes] for h in outputs]

    def part(self, t: int, adj: Adjacency) -> Adjacency:
        """The last layer may leave out nodes that nobody asks for, unless a norm looks at all of them."""
        return adj if t == self.num_layers and isinstance(self.norms[-1], nn.Identity) else adj.whole

    def is_relu(self, t: int) -> bool:
        return type(self.act) is nn.ReLU and isinstance(self.norms[t - 1], nn.Identity)

    def after(self, t: int, h: Tensor, history: History | None, **context: Any) -> Tensor:
        """Norm and activation."""
        norm, act = self.norms[t - 1], nn.Identity() if self.act is None else self.act
        h = act(h) if self.act_first else h
        h = norm(h, context.get("batch"), context.get("batch_size")) if self.supports_norm_batch else norm(h)
        return h if self.act_first else act(h)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_layers={self.num_layers})"


def _activation(act: str | Activation | None, options: dict[str, Any]) -> Activation | None:
    if act in ("relu", None) and not options:
        return nn.ReLU() if act else None
    from torch_geometric.nn.resolver import activation_resolver  # its import takes two seconds

    with _named("act", act, options, "'relu', 'elu' or 'leaky_relu'"):
        found: Activation = activation_resolver(act, **options)
    return found


def _normalization(norm: str | nn.Module | None, channels: int, options: dict[str, Any]) -> nn.Module:
    if norm is None:
        return nn.Identity()
    from torch_geometric.nn.resolver import normalization_resolver

    with _named("norm", norm, options, "'batch_norm', 'layer_norm' or 'graph_norm'"):
        found: nn.Module = normalization_resolver(norm, channels, **options)
    return found


@contextmanager
def _named(argument: str, value: Any, options: dict[str, Any], examples: str) -> Iterator[None]:
    """PyG's resolvers do not know which argument they resolve."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("Could not resolve"):
            raise
        raise ValueError(f"{argument}={value!r} is unknown: give a name, such as {examples}, or a module") from error
    except TypeError as error:
        raise TypeError(f"{argument}_kwargs={options!r} does not go with {argument}={value!r}: {error}") from error
