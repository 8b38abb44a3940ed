"""Tests stand where the modules stand that they test.

``tests/train/test_run.py`` tests ``src/justjump/train/run.py``, and ``test_init.py`` the ``__init__.py`` of its
folder. In ``ops`` and ``nn`` the folder decides: the tests of an operator's modules stand together in
``tests/ops/<operator>``.
"""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "justjump"

# Tests of the project as a whole, at the top of the folder.
OF_THE_PROJECT = {
    "test_architecture.py": "ARCHITECTURE.md",
    "test_dist.py": "the sdist and the wheel",
    "test_docs.py": "the site",
    "test_embed_cora.py": "scripts/embed_cora.py",
    "test_fuzz_corpus.py": "the corpus of the fuzzers",
    "test_guarantees.py": "the tests that docs/guarantees.md names",
    "test_install.py": "an installation without a compiler",
    "test_mirror.py": "the tests",
    "test_peoples_graphs.py": "fit on graphs of many kinds",
    "test_readme.py": "README.md",
    "test_recipes.py": "docs/recipes",
    "test_supply.py": "the locks, the SBOM and the provenance",
    "test_version.py": "the version in all places",
}
# Modules without a test file, and why they have none.
WITHOUT_A_TEST = {
    "__init__.py": "names and the version: test_lazy.py and test_version.py",
    "__main__.py": "calls cli.main: tests/cli runs it in every command, and tests/test_interrupt.py stops it",
    "data/arrays.py": "the arrays of an .npz file: test_npz.py",
    "data/csv_file.py": "a CSV file with a header: test_tables.py and test_nodes_csv.py",
    "data/edges_csv.py": "the edges of a folder: test_tables.py",
    "data/encoding.py": "how a preprocessing is applied: test_preprocess.py",
    "data/errors.py": "classes without behaviour",
    "data/features.py": "checks of features: test_graph_checks.py",
    "data/fitting.py": "how a preprocessing is chosen: test_preprocess.py",
    "data/nodes.py": "labels and roles of nodes: test_tables.py and test_nodes_csv.py",
    "data/parts/buckets.py": "edges by part on disk: test_stream.py",
    "data/parts/checks.py": "checks of indices: test_reader.py",
    "data/parts/edges.py": "the edges of one part: test_partition.py",
    "data/parts/layout.py": "the arrays of a part: test_partition.py and test_reader.py",
    "data/parts/numbering.py": "new numbers of nodes: test_partition.py",
    "data/parts/part.py": "one part: test_partition.py and test_reader.py",
    "data/parts/progress.py": "a bar: tests/cli/test_parts.py",
    "data/parts/put_together.py": "the whole graph again: test_partition.py",
    "data/parts/source.py": "tables in batches: test_stream.py",
    "data/parts/streamed_columns.py": "columns of streamed tables: test_stream.py",
    "data/parts/streamed_fit.py": "their preprocessing: test_stream.py",
    "data/parts/streamed_labels.py": "their labels: test_stream.py",
    "data/parts/summary.py": "what a command prints: tests/cli/test_parts.py",
    "data/pickles.py": "what a Planetoid file may hold: test_planetoid.py",
    "data/recipes.py": "what is done with one column: test_preprocess.py",
    "experiments/orphans.py": "the start of a worker: test_local.py",
    "train/errors.py": "classes without behaviour",
    "train/fields.py": "what run.json may hold: test_run.py",
    "train/hub_run.py": "a run for huggingface_hub: test_hub.py",
    "train/orphans.py": "the end of a worker whose parent was killed: tests/experiments/test_local.py",
    "train/saved.py": "the files of a run: test_run.py and test_checkpoint.py",
}
BY_FOLDER = ("nn", "ops")


def matches_by_folder(path: Path) -> bool:
    return path.parts[0] in BY_FOLDER and len(path.parts) > 1


def modules() -> list[Path]:
    """All modules but each ``__init__.py`` that only imports, relative to the package."""
    found = (path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")))
    return [path for path in found if path.name != "__init__.py" or "\ndef " in (SOURCE / path).read_text()]


def files_of_tests() -> list[Path]:
    return [path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py"))]


def test_every_module_has_its_test_file() -> None:
    files = set(files_of_tests())
    without = []
    for module in modules():
        name = "init" if module.name == "__init__.py" else module.stem
        if not matches_by_folder(module) and module.with_name(f"test_{name}.py") not in files:
            without.append(str(module))
    assert without == sorted(WITHOUT_A_TEST), "write a test file, or a reason into the list"


def test_every_folder_of_operators_has_its_tests() -> None:
    folders = {module.parent for module in modules() if matches_by_folder(module)}
    assert folders <= {file.parent for file in files_of_tests()}


def test_every_test_file_has_its_module() -> None:
    without = []
    for file in files_of_tests():
        name = file.stem.removeprefix("test_")
        module = file.with_name("__init__.py" if name == "init" else f"{name}.py")
        if not (SOURCE / (file.parent if matches_by_folder(file) else module)).exists():
            without.append(str(file))
    assert without == sorted(OF_THE_PROJECT), "name a test file after the module that it tests"
