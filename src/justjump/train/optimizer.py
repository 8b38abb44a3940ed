"""Steps of training: the optimizer, its rates over the epochs, and the average of the weights."""

import math

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from justjump.nn import DNAConv, GATConv, NodeClassifier
from justjump.train.protocol import Protocol


def make_optimizer(model: nn.Module, protocol: Protocol, training_nodes: int = 1) -> torch.optim.Optimizer:
    """Adam or AdamW with the L2 penalty on all parameters, or on those that are not biases.

    Each of the steps of an epoch takes its share of the penalty. The whole of it in each of 20 mini-batches would
    outweigh what the network learns. AdamW shrinks the weights by the learning rate times the penalty.
    """
    own = protocol.input_weight_decay
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        penalty = own if own is not None and name.startswith("lin_in.") else protocol.weight_decay
        is_plain = protocol.decay == "weights" and name.split(".")[-1].startswith("bias")
        groups.setdefault(0.0 if is_plain else protocol.step_penalty(penalty, training_nodes), []).append(parameter)
    kind = torch.optim.AdamW if protocol.optimizer == "adamw" else torch.optim.Adam
    # The penalised ones first: the state on disk numbers the parameters in this order.
    ordered = sorted(groups.items(), key=lambda group: -group[0])
    listed = [{"params": parameters, "weight_decay": penalty} for penalty, parameters in ordered]
    return kind(listed, lr=protocol.learning_rate, fused=True)


def learning_rate(protocol: Protocol, epoch: int) -> float:
    """The rate in an epoch, counted from 0: a function of the epoch, so that a stopped run goes on with it.

    >>> [learning_rate(Protocol(learning_rate=1.0, warmup=2), epoch) for epoch in range(3)]
    [0.5, 1.0, 1.0]
    """
    rate = protocol.learning_rate * min(1.0, (epoch + 1) / max(1, protocol.warmup))
    if protocol.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * epoch / protocol.max_epochs))
    return rate


def set_rates(model: NodeClassifier, optimizer: torch.optim.Optimizer, protocol: Protocol, epoch: int) -> None:
    """Bring the learning rate and the dropout of attention weights to an epoch, counted from 0."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(protocol, epoch)
    if not protocol.attention_warmup:
        return
    rate = model.config.attention_dropout * min(1.0, epoch / protocol.attention_warmup)
    for conv in model.convs:
        if isinstance(conv, DNAConv):
            conv.multi_head.dropout = rate
        elif isinstance(conv, GATConv):
            conv.dropout = rate


def make_average(model: nn.Module, protocol: Protocol) -> AveragedModel | None:
    """The moving average of the weights, if the protocol asks for one."""
    if not protocol.average:
        return None
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(protocol.average))  # type: ignore[no-untyped-call]
