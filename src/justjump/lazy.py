"""Names that are imported when they are used: ``justjump --help`` need not wait for torch."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names live in its modules.

    Args:
        package: the package
        homes: the names that each of its modules holds

    >>> lazy_names("justjump", {"options": ["check_types"]})("check_types").__module__
    'justjump.options'
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return get
