"""Run a notebook and store its outputs in it, for those who read it where nothing is run.

python scripts/store_outputs.py docs/customers.ipynb

What goes to stderr, such as progress, is left out, as the site leaves it out.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


def store_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, record_timing=False).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if is_shown(output)]
    notebook.metadata["language_info"] = {"name": "python"}
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def is_shown(output: Any) -> bool:
    is_widget = any("widget" in kind for kind in output.get("data", ()))
    return output.get("name") != "stderr" and not is_widget


if __name__ == "__main__":
    store_outputs(Path(sys.argv[1]))
