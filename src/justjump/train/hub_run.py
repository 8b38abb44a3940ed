"""A run as ``huggingface_hub`` wants it. This is the only module that imports it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData, ModelHubMixin, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from justjump.data.splits import ROLES
from justjump.train.card import TASK_WORDS, card_text
from justjump.train.errors import RunError, first_line
from justjump.train.measures import WORDS
from justjump.train.run import Run
from justjump.train.saved import MODEL_FILE, RUN_FILE, SPLIT_FILE

TAGS = ["graph-machine-learning", "graph-neural-network", "justjump"]
ROLE_NAMES = {"train": "train", "val": "validation", "test": "test"}


class HubRun(ModelHubMixin, library_name="justjump"):
    """A run with ``save_pretrained``, ``push_to_hub`` and ``from_pretrained`` of the mixin."""

    run: Run

    @classmethod
    def of(cls, run: Run) -> HubRun:
        made = cls()  # the mixin would make JSON of an argument of __init__
        made.run = run
        made._hub_mixin_config = {"library_name": "justjump", "task": run.task, **asdict(run.config)}
        return made

    @classmethod
    def fetch(cls, name: str, **options: Any) -> Run:
        """The run in a repository of the Hub, or in the cache of those that were read before."""
        try:
            return cls.from_pretrained(name, **options).run
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            raise RunError(
                f"there is no folder {name!r}, and the Hub does not give a run of this name ({first_line(error)})"
            ) from error

    def _save_pretrained(self, save_directory: Path) -> None:
        self.run.save(save_directory)

    @classmethod
    def _from_pretrained(
        cls, *, model_id: str, local_files_only: bool = False, force_download: bool = False, **options: Any
    ) -> HubRun:
        where = {name: options[name] for name in ("revision", "cache_dir", "token") if name in options}
        files = [RUN_FILE, MODEL_FILE, SPLIT_FILE]
        folder = snapshot_download(
            model_id, allow_patterns=files, local_files_only=local_files_only, force_download=force_download, **where
        )
        return cls.of(Run.load(folder))

    def generate_model_card(self, *args: Any, name: str = "run", **options: Any) -> ModelCard:
        data = metadata(self.run, name)
        return ModelCard(f"---\n{data.to_yaml()}\n---\n\n{card_text(self.run, name)}")


def metadata(run: Run, name: str) -> ModelCardData:
    """What the Hub reads of a card: tags, and the measures as a ``model-index``. The license is left to the user."""
    results = [
        EvalResult(
            task_type="graph-ml",
            task_name=TASK_WORDS[run.task],
            dataset_type=run.graph_name,
            dataset_name=run.graph_name,
            dataset_split=ROLE_NAMES[role],
            metric_type=measure,
            metric_name=f"{WORDS[measure]} ({ROLE_NAMES[role]})",
            metric_value=value,
        )
        for role in ROLES
        for measure, value in run.measures.get(role, {}).items()
        if value is not None
    ]
    return ModelCardData(
        library_name="justjump",
        pipeline_tag="graph-ml",
        tags=sorted({*TAGS, run.config.model, run.task}),
        model_name=name.rpartition("/")[2] if results else None,
        eval_results=results or None,
    )
