"""What a run finds in its folder: a finished run with the same settings, or with others."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from justjump.train.checkpoint import remove_state
from justjump.train.errors import RunError
from justjump.train.run import Run, differences, saved_settings
from justjump.train.saved import DIGESTS, RUN_FILE, read_values, tidy


def finished_run(folder: Path, wanted: dict[str, Any]) -> Run | None:
    """The finished run in a folder, if there is one; RunError if the folder holds something else."""
    if not (folder / RUN_FILE).exists():
        for name in DIGESTS:
            if (folder / name).exists():  # a run has its run.json before these: they are someone else's
                raise RunError(
                    f"{folder} holds {name}, but no run: choose another output folder, or move this file away"
                )
        return None
    values = read_values(folder)
    found = saved_settings(values)
    if not values["finished"] and wanted["config"]["linear_share"] is None:
        found["config"]["linear_share"] = None  # it is chosen when the run ends
    if found != wanted:
        differ = ", ".join(differences(found, wanted))
        raise RunError(f"{folder} holds a run with other settings ({differ}): choose another output folder")
    if not values["finished"]:  # it goes on from its state: nobody needs these weights any more
        return None
    run = Run.load(folder)
    with suppress(OSError):  # a finished run may be on a disk that cannot be written
        tidy(folder, values)
        remove_state(folder)
    return run
