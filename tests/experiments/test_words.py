"""Text about runs."""

from typing import Any

from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.readings import READINGS
from justjump.experiments.words import train_command
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol


def test_the_command_that_trains_a_network_names_every_option_that_differs() -> None:
    graph = GraphSpec(path="my graph.npz", directed=True)
    config = recommended(ModelConfig, model="gat", layers=3, jump="pool", jump_input=False)
    command = train_command(graph, config, recommended(Protocol, learning_rate=0.01), 3)
    assert command == (
        "justjump train --graph 'my graph.npz' --directed --model gat --layers 3 --jump pool --no-jump-input "
        "--learning-rate 0.01 --splits 3 "
        "--output runs/my-graph-gat-pool-3-128-16-8-jump_input-False-update-initial-dropout-auto"
        "-input_dropout-auto-attention_dropout-0.2-initial_share-auto-linear_share-auto-identity-auto"
        "-learning_rate-0.01-patience-50-decay_nodes-2000"
    )
    of_the_paper = train_command(graph, ModelConfig("gcn", layers=1), Protocol(), 3)
    named = "--model gcn --layers 1 --update none --dropout 0.5 --input-dropout 0.5 --linear-share 0.0 --patience 10"
    assert f"{named} --decay-nodes 0" in of_the_paper
    deep = train_command(graph, ModelConfig(layers=5), Protocol(), 3)
    assert "--window 5" in deep, "what is recommended for deep networks is something else"
    assert "--identity 0.0" in deep
    assert "--keep-first" not in deep
    options: dict[str, Any] = {"start": "scaled", "layers": 8}
    for window, kept, words in ((4, False, "--window 4 "), (3, True, "--window 3 --keep-first "), (4, True, "")):
        made = train_command(graph, ModelConfig(window=window, keep_first=kept, **options), Protocol(), 3)
        assert words in made
        assert ("--window" in made) == bool(words)
        assert ("--keep-first" in made) == ("--keep-first" in words)
    gat = READINGS["historic"].network(ModelConfig("gat"))
    assert train_command(graph, gat, Protocol(), 3).endswith(
        "  # in Python, with ModelConfig(softmax='outgoing', vectors='one')"
    )
    halves = Protocol(fractions=(0.5, 0.25, 0.25))
    assert train_command(graph, config, halves, 3).endswith("# in Python, with Protocol(fractions=(0.5, 0.25, 0.25))")
