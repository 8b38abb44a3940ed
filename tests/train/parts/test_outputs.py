"""Validation and outputs of all nodes."""

import numpy as np
import pytest
import torch

from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.checkpoint import Progress, State
from justjump.train.epochs import validate
from justjump.train.inputs import prepare
from justjump.train.objective import Objective
from justjump.train.part import Part
from justjump.train.parts.executor import Executor
from justjump.train.parts.nodes import Chosen
from justjump.train.parts.outputs import outputs_of, validation
from justjump.train.parts.storage import InMemory
from justjump.train.parts.transport import Alone

from .conftest import Make, random_graph


def test_they_are_those_of_the_whole_graph(make_parts: Make) -> None:
    graph = random_graph()
    parts, inputs = make_parts(graph), prepare(graph, "none")
    model = NodeClassifier(ModelConfig(layers=2, hidden=16, heads=4, groups=4), 9, 3)
    executor = Executor(parts, model, Alone(), InMemory(torch.float32))
    with torch.no_grad():
        expected = model.eval()(inputs.x, inputs.adj)
    torch.testing.assert_close(outputs_of(executor, np.arange(60)), expected, rtol=1e-5, atol=1e-5)
    some = np.arange(3, 60, 7)
    assert torch.equal(outputs_of(executor, some), outputs_of(executor, np.arange(60))[some])
    state = State(model, torch.optim.Adam(model.parameters()), {}, Progress())
    rows = np.arange(0, 60, 5)
    for others in ((), ("macro_f1",)):
        loss, values = validation(executor, state, Chosen.of(parts, rows), Objective(), others)()
        wanted_loss, wanted = validate(model, inputs, Part.of(inputs, rows), Objective(), others)
        assert loss == pytest.approx(wanted_loss, abs=1e-6)
        assert values == pytest.approx(wanted)
