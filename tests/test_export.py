"""Networks for other programs."""

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers import assert_same, random_graph
from justjump.export import to_onnx, to_program
from justjump.nn import GCNConv, ModelConfig, NodeClassifier
from justjump.nn.config import Model
from justjump.ops import without_native

SIZES = [(9, 30), (50, 333), (7, 20), (300, 2000)]  # with self-loops and edges that come twice


def classifier(model: Model) -> NodeClassifier:
    return NodeClassifier(ModelConfig(model, layers=2, hidden=16, heads=4, groups=4), 8, 3)


def inputs(nodes: int, edges: int, weighted: bool = False) -> tuple[Tensor, ...]:
    return (torch.randn(nodes, 8), random_graph(nodes, edges, nodes), *([torch.rand(edges)] if weighted else []))


@pytest.mark.slow
@pytest.mark.parametrize(("model", "weighted"), [("dna", True), ("gcn", False), ("gat", False)])
def test_onnxruntime_takes_every_graph(model: Model, weighted: bool, tmp_path: Path) -> None:
    import onnxruntime  # takes a second, which the quick tests do not wait for

    network = classifier(model)
    to_onnx(network, inputs(*SIZES[0], weighted), tmp_path / "network.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["network.onnx"]
    assert network.training
    network.eval()
    session = onnxruntime.InferenceSession(str(tmp_path / "network.onnx"), providers=["CPUExecutionProvider"])
    names = ["x", "edge_index", "edge_weight"][: 2 + weighted]
    assert [given.name for given in session.get_inputs()] == names
    for size in SIZES:
        example = inputs(*size, weighted)
        (out,) = session.run(["out"], dict(zip(names, (x.numpy() for x in example), strict=True)))
        with torch.no_grad():
            assert_same(torch.from_numpy(np.asarray(out)), network(*example))


def test_onnx_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    load = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "onnxscript":
            raise ImportError("no", name=name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    network = GCNConv(8, 8)
    with pytest.raises(ImportError, match=r"needs onnx(script)?: pip install 'justjump\[onnx\]'"):
        to_onnx(network, inputs(9, 30), tmp_path / "network.onnx")
    assert not list(tmp_path.iterdir())


def test_two_or_three_inputs() -> None:
    with pytest.raises(ValueError, match="1 inputs were given, expected"):
        to_program(GCNConv(8, 8), (torch.randn(3, 8),))


RUN = """
import sys, torch
{import_}
program = torch.export.load(sys.argv[1]).module()
x, edge_index = torch.load(sys.argv[2], weights_only=True)
torch.save(program(x, edge_index), sys.argv[3])
print("justjump" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [True, False])
def test_a_saved_program_runs_in_another_process(kernels: bool, tmp_path: Path) -> None:
    """After ``import justjump`` alone; without the kernels, where there is no justjump."""
    network = classifier("dna")
    if kernels:
        program = to_program(network, inputs(9, 30))
    else:
        with without_native():
            program = to_program(network, inputs(9, 30))
    files = [tmp_path / name for name in ("program.pt2", "inputs.pt", "out.pt")]
    torch.export.save(program, files[0])
    example = inputs(50, 333)
    torch.save(example, files[1])
    code = RUN.format(import_="import justjump" if kernels else "")
    ran = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, env=os.environ)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{kernels}\n"
    assert_same(torch.load(files[2], weights_only=True), network.eval()(*example))
