"""Settings of the site. The whole repository is its source, so that links among docs, results and the rest hold:

sphinx-build -c docs . build/docs
"""

import inspect
import sys
from pathlib import Path

from sphinx.application import Sphinx

import justjump

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "justjump"
author = "The justjump developers"
copyright = author
release = version = justjump.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "commands",
    "mathml",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.ipynb",
    "results/**.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "build", "dist", "runs", "**/.ipynb_checkpoints"]

# A name in the API reference that leads nowhere is an error. Other projects' names are not looked up: building needs
# no network.
nitpicky = True
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(torch|torch_geometric|np|numpy|scipy|pathlib|collections|typing|matplotlib|pandas|pd|sklearn|huggingface_hub)\..*",
    ),
    (
        r"py:.*",
        r"(Tensor|Path|Data|Any|Literal|nn\.Module|csr_matrix|Figure|Axes|DataFrame|JumpingKnowledge|Callable|Sequence|Task|Scale|justjump\.options\.T)",
    ),
]

default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Shapes"]

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"

html_theme = "furo"
html_title = "justjump"
html_static_path = ["static"]
html_css_files = ["justjump.css"]
html_extra_path = ["redirect"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False


def keep_properties_as_they_are(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """napoleon takes the first line of a property's docstring up to a colon for its type."""
    if what == "property":
        lines[:] = inspect.cleandoc(obj.__doc__ or "").splitlines()


def skip_fields(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """The fields of a named tuple stand in its docstring."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", keep_properties_as_they_are, priority=600)
