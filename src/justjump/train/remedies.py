"""What a user may try when a network has not learned enough."""

from dataclasses import dataclass

from justjump.nn import ModelConfig
from justjump.train.protocol import Protocol

# Measures in which rare classes count as much as frequent ones.
FAIR = ("balanced_accuracy", "macro_f1", "roc_auc", "average_precision")


def favours_rare_classes(protocol: Protocol) -> bool:
    """Whether training looks at more than how many nodes are right.

    >>> favours_rare_classes(Protocol(pick="macro_f1"))
    True
    """
    return protocol.class_weight == "balanced" or not {protocol.watch, protocol.pick}.isdisjoint(FAIR)


@dataclass(frozen=True)
class Remedies:
    """Advice that fits a run: no option is named with the value that it has already.

    Args:
        config, protocol: the options of the run
        epochs: number of its epochs
    """

    config: ModelConfig
    protocol: Protocol
    epochs: int

    @property
    def for_rare_classes(self) -> str:
        """If a network predicts the frequent classes alone.

        >>> Remedies(ModelConfig(), Protocol(watch="macro_f1"), 30).for_rare_classes
        "try class_weight='balanced' or a longer patience than 10"
        """
        found = [] if self.protocol.class_weight == "balanced" else ["class_weight='balanced'"]
        is_watched = self.protocol.stop == "window" or {self.protocol.watch, self.protocol.pick} & set(FAIR)
        found += [] if is_watched else ["watch='balanced_accuracy'"]
        return _one_of([*found, self._longer]) if found else self.for_guesses

    @property
    def for_guesses(self) -> str:
        """If a network is hardly better than a guess.

        >>> Remedies(ModelConfig(jump="concat", attention_dropout=0.5), Protocol(max_epochs=30), 30).for_guesses
        'try a lower attention_dropout than 0.5, more epochs than max_epochs=30 or another learning_rate than 0.005'
        """
        jump = [] if self.config.jump == "concat" else ["jump='concat'"]
        rate = f"another learning_rate than {self.protocol.learning_rate:g}"
        return _one_of([*self._less_dropout, self._longer, *jump, rate])

    @property
    def for_features(self) -> str:
        """If a linear model of the features alone is better.

        >>> Remedies(ModelConfig(), Protocol(), 30).for_features
        "try update='initial', linear_share=0.5, a lower attention_dropout than 0.8 or a longer patience than 10"
        """
        config = self.config
        way = ["update='initial'"] * (config.update != "skip" and not (config.jump == "concat" and config.jump_input))
        if config.update == "initial":
            way = ["initial_share=0.5"] * ((config.initial_share or 0.0) < 0.5)
        mixed = [] if config.linear_share else ["linear_share=0.5"]
        return _one_of([*way, *mixed, *self._less_dropout, self._longer])

    @property
    def _less_dropout(self) -> list[str]:
        names = ("input_dropout", "dropout") if self.config.model == "gcn" else ("attention_dropout", "dropout")
        rates = {name: getattr(self.config, name) or 0.0 for name in names}
        largest = max(rates, key=lambda name: rates[name])
        value = rates[largest]
        return [f"a lower {largest} than {value:g}"] if value else []

    @property
    def _longer(self) -> str:
        if self.epochs >= self.protocol.max_epochs:
            return f"more epochs than max_epochs={self.protocol.max_epochs}"
        return f"a longer patience than {self.protocol.patience}"


def _one_of(options: list[str]) -> str:
    *first, last = options
    return f"try {', '.join(first)}{' or ' * bool(first)}{last}"
