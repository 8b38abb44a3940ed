"""Advice that does not repeat what is set."""

import pytest

from justjump.nn import ModelConfig
from justjump.train import Protocol
from justjump.train.remedies import Remedies


@pytest.mark.parametrize(
    ("config", "protocol", "rare", "guess"),
    [
        (
            ModelConfig(),
            Protocol(),
            "try class_weight='balanced', watch='balanced_accuracy' or a longer patience than 10",
            "try a lower attention_dropout than 0.8, a longer patience than 10, jump='concat' or another learning_rate "
            "than 0.005",
        ),
        (
            ModelConfig("gcn", jump="concat", dropout=0.2),
            Protocol(class_weight="balanced", patience=20),
            "try watch='balanced_accuracy' or a longer patience than 20",
            "try a lower input_dropout than 0.5, a longer patience than 20 or another learning_rate than 0.005",
        ),
        (
            ModelConfig(layers=1, jump="concat"),
            Protocol(stop="window"),  # which does not go with watch
            "try class_weight='balanced' or a longer patience than 10",
            "try a lower attention_dropout than 0.8, a longer patience than 10 or another learning_rate than 0.005",
        ),
        (
            ModelConfig(attention_dropout=0.0, dropout=0.0),
            Protocol(class_weight="balanced", watch="roc_auc", max_epochs=50, learning_rate=0.1),
            "try more epochs than max_epochs=50, jump='concat' or another learning_rate than 0.1",
            "try more epochs than max_epochs=50, jump='concat' or another learning_rate than 0.1",
        ),
    ],
)
def test_only_what_is_not_set_is_advised(config: ModelConfig, protocol: Protocol, rare: str, guess: str) -> None:
    remedies = Remedies(config, protocol, epochs=50)
    assert (remedies.for_rare_classes, remedies.for_guesses) == (rare, guess)
