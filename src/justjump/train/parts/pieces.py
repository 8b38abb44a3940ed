"""The pieces that a network is computed in: the input map, each layer, and the output map."""

from __future__ import annotations

from torch import Tensor, nn

from justjump.nn import DNAConv, GATConv, ModelConfig, NodeClassifier
from justjump.ops.history import attended_steps
from justjump.train.protocol import Protocol


def check_supported(config: ModelConfig, protocol: Protocol) -> None:
    """Raise ValueError if a network or a protocol is not for graphs in parts."""
    if config.norm == "batch":
        raise ValueError("norm='batch' takes the mean over all nodes, which parts do not have: use norm='layer'")
    if config.drop_edge:
        raise ValueError(f"drop_edge={config.drop_edge} is not for graphs in parts: leave it out")
    check_inference(config)
    if protocol.batch_size is not None:
        raise ValueError(f"batch_size={protocol.batch_size} is not for graphs in parts: a step takes all nodes")
    if config.linear_share:
        raise ValueError(f"linear_share={config.linear_share:g} is not for graphs in parts: leave it out")
    if protocol.self_training:
        raise ValueError(f"self_training={protocol.self_training:g} is not for graphs in parts: leave it out")
    if protocol.scale != "auto":
        raise ValueError(f"scale={protocol.scale!r} is chosen when the graph is partitioned: leave it out here")


def check_inference(config: ModelConfig) -> None:
    """Raise ValueError if a trained network cannot be applied to graphs in parts."""
    if config.model == "gat" and config.softmax == "outgoing":
        raise ValueError("softmax='outgoing' needs all edges of the graph, which parts do not have: leave it out")


def takes_weights(model: NodeClassifier) -> bool:
    """Whether the layers take the normalised weights of the edges."""
    return not isinstance(model.convs[0], GATConv)


def read_by(model: NodeClassifier, t: int) -> list[int]:
    """Which representations piece t reads, in ascending order: layers are 1 .. T, the output map is T + 1.

    A history of these alone is as good for the layer as one of all.
    """
    if t == len(model.convs) + 1:
        return [t - 1] if model.jump is None else list(range(t))
    conv = model.convs[t - 1]
    read = {t - 1} | ({0} if model.reads_first else set())
    if isinstance(conv, DNAConv):
        read |= set(attended_steps(t, conv.window, conv.keep_first))
    return sorted(read)


def parameters_of(model: NodeClassifier, t: int) -> list[nn.Parameter]:
    """What piece t learns; piece 0 is the input map."""
    layers = len(model.convs)
    modules: list[nn.Module] = []
    if t == 0:
        modules.append(model.lin_in)
    elif t <= layers:
        modules += [model.convs[t - 1], *model.updates[t - 1 : t]]
    else:
        modules += [model.lin_out, *([] if model.jump is None else [model.jump])]
    if model.norms and t <= layers:
        number = t - 1 if model.config.norm_after == "sum" else t
        modules += [model.norms[number]] if number >= 0 else []
    return [one for module in modules for one in module.parameters() if one.requires_grad]


def take_gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    """The gradients as vectors, zeros where there are none, and none from now on."""
    found = []
    for one in parameters:
        found.append(one.new_zeros(one.numel()) if one.grad is None else one.grad.reshape(-1))
        one.grad = None
    return found
