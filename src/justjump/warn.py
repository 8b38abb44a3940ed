"""Warnings that point at the line of the user's code that they are about."""

import os
import sys
import warnings
from pathlib import Path

# Libraries that call justjump for the user (cross_val_score calls fit), or that stand between its functions.
BETWEEN = ("justjump", "joblib", "sklearn", "torch")


def warn(message: str, category: type[Warning]) -> None:
    """Give a warning whose place is the nearest caller outside justjump and the libraries between.

    ``skip_file_prefixes`` of ``warnings.warn`` does the same, from Python 3.12 on.
    """
    files = (getattr(sys.modules.get(name), "__file__", None) for name in BETWEEN)
    folders = tuple(f"{Path(file).parent}{os.sep}" for file in files if file)
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folders):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
