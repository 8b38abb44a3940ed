"""torch knows the operations after ``import justjump``, whichever of the two comes first."""

import subprocess
import sys

import pytest

CHECK = """
import sys, torch
assert hasattr(torch.ops.justjump, "dna_layer"), "not registered"
assert hasattr(torch.ops.justjump, "sort_edges"), "not registered"
assert type(torch.__spec__.loader).__name__ == type(torch.__loader__).__name__ == "SourceFileLoader"
print(sum(type(finder).__module__ == "justjump.registration" for finder in sys.meta_path))
"""
ORDERS = {
    "justjump first": "import justjump, torch",
    "torch first": "import torch, justjump",
    "a module without torch": "import justjump.data, torch",
    "asked for before": "import importlib.util, justjump; importlib.util.find_spec('torch')",
}


def run(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS.values(), ids=list(ORDERS))
def test_either_order(order: str) -> None:
    assert run(order + CHECK) == "0\n"


def test_torch_is_not_imported_for_it() -> None:
    assert run("import sys, justjump; print('torch' in sys.modules)") == "False\n"


def test_without_torch() -> None:
    """Where there is no torch, its import fails as it did, and the next one looks again."""
    code = """
import sys, justjump
sys.path, sys.path_importer_cache = [p for p in sys.path if "site-packages" not in p], {}
for _ in range(2):
    try:
        import torch
    except ModuleNotFoundError as error:
        print(error)
"""
    assert run(code) == "No module named 'torch'\n" * 2
