"""Networks for other programs: exported with the graph as an input, so that one file serves every graph."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from justjump.files import replace_file
from justjump.ops import without_native


def to_program(model: nn.Module, inputs: Sequence[Tensor]) -> ExportedProgram:
    """``torch.export.export`` for any number of nodes and edges, without dropout.

    ``torch.export.save`` writes the program, and ``torch.export.load`` reads it after ``import justjump``. It gives the
    same bits as the network. Inside ``with justjump.ops.without_native()`` it has operations of torch alone, and loads
    where there is no justjump.

    Args:
        model: a layer or a network
        inputs: an example: x (one row per node), ``edge_index`` ``[2, E]`` and, if wanted, ``edge_weight`` ``[E]``

    >>> from justjump.nn import GCNConv
    >>> conv, edge_index = GCNConv(2, 1), torch.tensor([[0, 1], [1, 2]])
    >>> program = to_program(conv, (torch.ones(3, 2), edge_index)).module()
    >>> x = torch.ones(50, 2)
    >>> torch.equal(program(x, edge_index), conv(x, edge_index))
    True
    """
    with _evaluating(model):
        return torch.export.export(model, tuple(inputs), dynamic_shapes=_dynamic(inputs))


def to_onnx(model: nn.Module, inputs: Sequence[Tensor], path: Path | str) -> None:
    """Write an ONNX file of a layer or network for any number of nodes and edges, without dropout.

    Its inputs are ``x``, ``edge_index`` and, where the example has it, ``edge_weight``; its output is ``out``. It has
    operations of ONNX alone, so it runs without justjump. It does not check that the nodes of the edges are there.

    Args:
        model: a layer or a network
        inputs: an example, as in :func:`to_program`
        path: the file
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(f"an ONNX file needs {error.name}: pip install 'justjump[onnx]'") from error
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist: make it, or choose another place")
    names = ["x", "edge_index", "edge_weight"][: len(inputs)]
    with _evaluating(model), without_native(), _quiet("onnx_ir", "torch.onnx"):
        made = torch.onnx.export(
            model, tuple(inputs), dynamo=True, dynamic_shapes=_dynamic(inputs), input_names=names, output_names=["out"],
            verbose=False,
        )  # fmt: skip
    assert made is not None
    replace_file(Path(path), lambda new: made.save(str(new)))


def _dynamic(inputs: Sequence[Tensor]) -> tuple[Any, ...]:
    """Which sizes of the inputs are free: the number of nodes and that of edges."""
    if len(inputs) not in (2, 3):
        raise ValueError(f"{len(inputs)} inputs were given, expected (x, edge_index) or (x, edge_index, edge_weight)")
    nodes, edges = Dim("nodes"), Dim("edges")
    return ({0: nodes}, {1: edges}, {0: edges})[: len(inputs)]


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout, and back to the mode that each part was in."""
    training = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in training:
            module.training = mode


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Without the exporter's remarks about packages and attributes that play no part here."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
