"""Text about runs."""

from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.words import train_command
from justjump.nn import ModelConfig
from justjump.train import Protocol


def test_the_command_that_trains_a_network_names_every_option_that_differs() -> None:
    graph = GraphSpec(path="my graph.npz", directed=True)
    config = ModelConfig("gat", layers=2, jump="pool", jump_input=False)
    command = train_command(graph, config, Protocol(learning_rate=0.01), 3)
    assert command == (
        "justjump train --graph 'my graph.npz' --directed --model gat --layers 2 --jump pool --no-jump-input "
        "--learning-rate 0.01 --splits 3 "
        "--output runs/my-graph-gat-pool-2-128-16-8-jump_input-False-learning_rate-0.01"
    )
    halves = Protocol(fractions=(0.5, 0.25, 0.25))
    assert train_command(graph, config, halves, 3).endswith("# in Python, with Protocol(fractions=(0.5, 0.25, 0.25))")
