PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The environment variable, unlike the option, also reaches the build of the package itself.
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard csrc/*)

.PHONY: help demo test setup bench clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## train DNA and GCN on Cora over 10 splits, beside the paper's figures
	@$(BIN)/justjump demo

test: $(VENV)/.test-installed  ## lint, types and the whole test suite
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n 2 -q

setup: $(VENV)/.test-installed  ## install the package and what its tests need into .venv

bench: $(VENV)/.test-installed  ## measure against PyTorch Geometric, side by side
	@$(BIN)/justjump bench $(ARGS)

clean:  ## remove the environment and caches
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 10) else f"Python 3.10 or newer is needed, $(PYTHON) is {v.major}.{v.minor}: set PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	@echo "Installing justjump into $(VENV) (the first time takes a few minutes, most of it for torch)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.created $(SOURCES)
	@echo "Installing justjump and what its tests need into $(VENV) (the first time takes a few minutes)"
	@$(PIP) --editable '.[test]'
	@touch $(VENV)/.installed $@
