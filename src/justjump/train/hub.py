"""Runs on the Hugging Face Hub, or in a folder of the form that it has there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from justjump.train.errors import RunError

if TYPE_CHECKING:
    from justjump.train.hub_run import HubRun
    from justjump.train.run import Run


class HubMethods:
    """The methods of a run that share it with others. They need ``huggingface_hub``, but for reading a folder."""

    def save_pretrained(self, folder: str | Path) -> None:
        """Save the run with a model card.

        ``README.md`` says what the network is for, how good it is and how to use it; one that is there already is left
        as it is. ``config.json`` is for the Hub. The other files are those of ``save``, which ``load`` reads.
        """
        folder = Path(folder)
        self._on_hub().save_pretrained(folder, model_card_kwargs={"name": folder.resolve().name})

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload what ``save_pretrained`` writes to the Hub.

        Args:
            repo_id: such as ``"my-name/my-run"``; the repository is created unless it exists
            options: such as ``private=True`` or ``token=...``, see ``huggingface_hub.ModelHubMixin.push_to_hub``

        Returns:
            The address of the commit.
        """
        return str(self._on_hub().push_to_hub(repo_id, model_card_kwargs={"name": repo_id}, **options))

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Run:
        """Read a run from a folder, or from the Hub. Nothing in it is executed.

        Args:
            name: a folder, which is read without a look at the network; or a repository, such as ``"my-name/my-run"``
            options: such as ``revision=...`` or ``token=...``, see ``huggingface_hub.ModelHubMixin.from_pretrained``
        """
        if Path(name).is_dir():
            return cast("type[Run]", cls).load(name)
        return _hub_run(f"there is no folder {str(name)!r}, and reading from the Hub").fetch(str(name), **options)

    def _on_hub(self) -> HubRun:
        return _hub_run("a model card").of(cast("Run", self))


def _hub_run(what: str) -> type[HubRun]:
    try:
        from justjump.train.hub_run import HubRun
    except ModuleNotFoundError as error:
        raise RunError(f"{what} needs {error.name}: pip install 'justjump[hub]'") from error
    return HubRun
