"""Explanations of networks by PyTorch Geometric's ``Explainer`` and its algorithms."""

from justjump.explain.explainer import Explainer, explainable
from justjump.explain.influence import Influence

__all__ = ["Explainer", "Influence", "explainable"]
