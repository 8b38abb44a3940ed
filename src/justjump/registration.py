"""torch knows the operations as soon as ``justjump`` and ``torch`` are imported, in either order.

A program that was exported with them loads after ``import justjump`` alone. It does not import torch, because the help
of the command would wait for it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def register_operations() -> None:
    """Now if torch is here, else when it comes."""
    if "torch" in sys.modules:
        import_module("justjump.ops")
    elif not any(isinstance(finder, _AfterTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterTorch())


class _AfterTorch:
    """Finds torch where the other finders find it, and registers the operations once it is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch":
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(self, spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    """The loader of torch, with one step after it. It leaves no trace in the module."""

    def __init__(self, finder: _AfterTorch, loader: Any) -> None:
        self._finder, self._loader = finder, loader

    def __getattr__(self, name: str) -> Any:  # what others ask of a loader that they found
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
            import_module("justjump.ops")
