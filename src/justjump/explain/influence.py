"""Explanations from exact derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.explain.config import MaskType

_SUMMED = {MaskType.object: 1, MaskType.common_attributes: 0}


class Influence(ExplainerAlgorithm):  # type: ignore[misc]
    r"""Which features and which edges influence the outputs that are explained.

    .. math::
        node\_mask_{w,f} \propto \sum_o \left| \frac{\partial \, out_o}{\partial m_{w,f}} \right|, \quad
        edge\_mask_e \propto \sum_o \left| \frac{\partial \, out_o}{\partial m_e} \right|

    over all outputs o of the rows in ``index``, where :math:`m_{w,f} = 1` multiplies feature f of node w, and
    :math:`m_e = 1` the messages along edge e in all layers. A feature that is 0 has no influence.

    The derivatives are exact, so the same network gives the same explanation, and nothing is learned. Each mask holds
    shares: it sums to 1, or is 0 where nothing has any influence. It takes one pass backwards per output.

    >>> from justjump.explain import Explainer
    >>> from justjump.nn import GCNConv
    >>> explainer = Explainer(GCNConv(2, 1), Influence(), explanation_type="model", model_config=dict(
    ...     mode="regression", task_level="node", return_type="raw"), node_mask_type="object", edge_mask_type="object")
    >>> explanation = explainer(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]), index=1)
    >>> explanation.edge_mask
    tensor([1., 0.])
    """

    def forward(
        self,
        model: nn.Module,
        x: Any,
        edge_index: Any,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **kwargs: Any,
    ) -> Explanation:
        if not isinstance(x, Tensor) or not isinstance(edge_index, Tensor):
            raise TypeError("Influence explains graphs with one type of nodes and edges: x and edge_index are tensors")
        node_type, edge_type = self.explainer_config.node_mask_type, self.explainer_config.edge_mask_type
        of_features = torch.ones_like(x).requires_grad_()
        mask = x.new_ones(edge_index.size(1)).requires_grad_()
        try:
            if edge_type is not None:
                set_masks(model, mask, edge_index, apply_sigmoid=False)
            out = model(x * of_features, edge_index, **kwargs)
        finally:
            clear_masks(model)
        outputs = (out if index is None else out[index]).flatten()
        of_nodes, *of_edges = _influence(outputs, of_features, *([] if edge_type is None else [mask]))
        if node_type in _SUMMED:
            of_nodes = of_nodes.sum(_SUMMED[node_type], keepdim=True)
        node_mask = None if node_type is None else _share(of_nodes)
        return Explanation(node_mask=node_mask, edge_mask=_share(of_edges[0]) if of_edges else None)

    def supports(self) -> bool:
        return self.explainer_config.edge_mask_type in (None, MaskType.object)


def _influence(outputs: Tensor, *inputs: Tensor) -> list[Tensor]:
    """For each input the sum, over all outputs, of the sizes of the derivatives. ``[O], [...] -> [...]``"""
    totals = [torch.zeros_like(x) for x in inputs]
    for output in outputs:
        found = torch.autograd.grad(output, inputs, retain_graph=True, allow_unused=True)
        for total, grad in zip(totals, found, strict=True):
            if grad is None:
                raise ValueError(
                    "the output does not depend on the features or on the edge mask: explain layers of justjump with "
                    "justjump.explain.Explainer and those of PyG with torch_geometric.explain.Explainer, or leave out "
                    "the mask that plays no part (edge_mask_type=None)"
                )
            total += grad.abs()
    return totals


def _share(influence: Tensor) -> Tensor:
    total = influence.sum()
    return influence / total if total > 0 else influence
