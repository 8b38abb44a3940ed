"""PyTorch Geometric's ``Explainer`` for networks with our layers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import explain
from torch_geometric.nn import MessagePassing

from justjump.nn import DNAConv, GATConv, GCNConv
from justjump.ops import Adjacency


class Explainer(explain.Explainer):  # type: ignore[misc]
    """PyG's ``Explainer``, with the same arguments, for networks with layers of justjump.

    Its algorithms and metrics that work with node and edge masks do so here. An edge mask multiplies the messages along
    an edge in all layers, after normalisation or softmax. The self-loops that a layer adds are not masked, as in PyG.
    A network is the same after an explanation as before it, also after an error: its weights, their gradients, and
    whether each part is in training mode.

    >>> from justjump.nn import ModelConfig, NodeClassifier
    >>> from torch_geometric.explain import GNNExplainer
    >>> model = NodeClassifier(ModelConfig(layers=2, hidden=16), num_features=5, num_classes=3)
    >>> task = dict(mode="multiclass_classification", task_level="node", return_type="raw")
    >>> explainer = Explainer(model, GNNExplainer(epochs=3), explanation_type="model", model_config=task,
    ...                       node_mask_type="attributes", edge_mask_type="object")
    >>> explanation = explainer(torch.randn(4, 5), torch.tensor([[0, 1, 2], [1, 2, 3]]), index=2)
    >>> explanation.node_mask.shape, explanation.edge_mask.shape
    (torch.Size([4, 5]), torch.Size([3]))
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with explainable(self.model), _unchanged(self.model):
            return super().__call__(*args, **kwargs)

    def get_prediction(self, *args: Any, **kwargs: Any) -> Tensor:
        with _unchanged(self.model):
            out: Tensor = super().get_prediction(*args, **kwargs)
            return out

    def get_masked_prediction(self, *args: Any, **kwargs: Any) -> Tensor:
        with explainable(self.model), _unchanged(self.model):
            out: Tensor = super().get_masked_prediction(*args, **kwargs)
            return out


class EdgeMask(MessagePassing):  # type: ignore[misc]
    """What PyG takes for the message passing of one layer: it sets its masks here, and the layer asks for them."""

    explain: bool | None = None  # PyG would generate code for messages that there are none of

    def forward(self, adj: Adjacency) -> Tensor | None:
        """The factor of each edge ``[E]``; None where there is no mask."""
        mask: Tensor | None = self._edge_mask
        if mask is None or not self.explain:
            return None
        mask = mask.sigmoid() if self._apply_sigmoid else mask
        return torch.cat([mask, mask.new_ones(1)])[adj.edge_id]  # -1 is the last: a self-loop


@contextmanager
def explainable(model: nn.Module) -> Iterator[None]:
    """Let PyG's tools find the layers of a network in this block, where they look for ``MessagePassing`` modules.

    :class:`Explainer` does it by itself. Edge masks are given in the order of the ``edge_index`` that the network gets.
    """
    layers = [m for m in model.modules() if isinstance(m, DNAConv | GATConv | GCNConv) and m.edge_mask is None]
    for layer in layers:
        layer.edge_mask = EdgeMask()
    try:
        yield
    finally:
        for layer in layers:
            layer.edge_mask = None


@contextmanager
def _unchanged(model: nn.Module) -> Iterator[None]:
    """Keep weights free of gradients, and restore the training mode of every part."""
    training = [(module, module.training) for module in model.modules()]
    learned = [p for p in model.parameters() if p.requires_grad]
    for p in learned:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learned:
            p.requires_grad_()
        for module, mode in training:
            module.training = mode
