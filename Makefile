PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Containers often forbid Python to keep what it has compiled. Then each process of the tests would compile torch again,
# which is more than half of the time of its import.
unexport PYTHONDONTWRITEBYTECODE
# The environment variable, unlike the option, also reaches the build of a package.
# Python compiles what is imported; pip would compile all that is installed, which takes longer.
PIP_TO := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip --quiet --disable-pip-version-check
PIP := $(PIP_TO) install --no-compile
# Whether pip compares what it installs with the hashes in locks. HASHES=off is for an index that serves other files of
# the same versions; then constraints.txt alone chooses.
HASHES ?= on
KERNELS := $(shell find csrc -name '*.cpp' -o -name '*.h')
SOURCES := pyproject.toml constraints.txt locks/run.txt locks/test.txt CMakeLists.txt $(KERNELS)

.PHONY: help demo lint check test setup docs bench dist lock sanitize fuzz clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## train the paper's DNA and GCN and the recommended DNA on Cora over 10 splits
	@$(BIN)/justjump demo

lint: $(VENV)/.test-installed  ## style and types of Python and C++
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(KERNELS)
	@$(BIN)/mypy

check: lint  ## lint and the tests that together take less than a minute
	@$(BIN)/python -m pytest -n 2 -q -m "not slow"

# mypy takes one core, so the tests start beside it.
test: $(VENV)/.test-installed  ## lint and the whole test suite
	@$(MAKE) --no-print-directory --jobs=2 lint tests

.PHONY: tests
tests: $(VENV)/.test-installed
	@$(BIN)/python -m pytest -n 3 --dist worksteal -q

setup: $(VENV)/.test-installed  ## install the package and what its tests need into .venv

docs: $(VENV)/.test-installed  ## build the site into build/docs
	@$(BIN)/python -m sphinx -c docs -W --keep-going -q . build/docs -d build/doctrees
	@echo "open build/docs/index.html"

bench: $(VENV)/.test-installed  ## measure against PyTorch Geometric, side by side
	@$(BIN)/justjump bench $(ARGS)

dist: $(VENV)/.test-installed  ## build an sdist and, from it, a wheel into dist, check both, say what is in them
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist
	@$(BIN)/python -m twine check --strict dist/*.tar.gz dist/*.whl
	@$(BIN)/python scripts/provenance.py dist

lock: $(VENV)/.test-installed  ## write the hashes of all that make installs into locks, for constraints.txt
	@$(BIN)/python scripts/lock.py

sanitize: $(VENV)/.test-installed  ## the kernel tests under the address and undefined behaviour sanitizers
	@$(BIN)/cmake -S . -B build/sanitize -G Ninja -DJUSTJUMP_SANITIZE=ON -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	@$(BIN)/cmake --build build/sanitize
	@rm -rf build/sanitized && mkdir build/sanitized && cp -r src/justjump build/sanitized/ && rm -f build/sanitized/justjump/_native* \
	  && cp build/sanitize/_native*.so build/sanitized/justjump/
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  PYTHONPATH=build/sanitized:tests $(BIN)/python scripts/sanitized_tests.py

SECONDS ?= 60
FUZZERS ?= kernels npz planetoid csv parquet run threads
FUZZ_CXX ?= $(firstword $(foreach version,14 15 16 17 18 19,$(shell command -v clang++-$(version))) clang++)

fuzz: $(VENV)/.fuzz-installed  ## fuzz readers, kernels and threads: SECONDS=60 for each of FUZZERS="csv run ..."
ifneq ($(filter kernels threads,$(FUZZERS)),)
	@mkdir -p build && $(BIN)/cmake -S . -B build/fuzz -G Ninja -DJUSTJUMP_FUZZ=ON -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) > build/fuzz-cmake.log
	@$(BIN)/cmake --build build/fuzz
endif
	@$(BIN)/python fuzz/run.py --seconds $(SECONDS) $(FUZZERS)

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 10) else f"Python 3.10 or newer is needed, $(PYTHON) is {v.major}.{v.minor}: set PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# With hashes: the locks first, so that torch finds what it needs and brings nothing but itself and libraries for GPUs.
# Then the project. What has to be built is built by the tools of locks/run.txt. The kernels compile beside the rest, for
# a wheel that one test takes: the project finds in build what was compiled for it.
ifeq ($(HASHES),on)
LOCKED := $(PIP) --require-hashes --no-deps --no-build-isolation
REFUSED := { echo "Nothing of this lock was installed. If your index serves other files of the same versions," \
  "HASHES=off after make installs them unchecked."; exit 1; }
install = $(LOCKED) -r locks/run.txt || $(REFUSED)
install += ; $(MAKE) --no-print-directory --jobs=2 compiled-kernels $(if $(1),test-libraries,libraries)
install += && $(PIP) --no-deps --no-build-isolation --editable .

.PHONY: compiled-kernels libraries test-libraries
compiled-kernels:
	@$(PIP_TO) wheel --no-deps --no-build-isolation --wheel-dir build/wheel .

libraries:
	@$(PIP) torch

test-libraries:
	@$(LOCKED) -r locks/test.txt || $(REFUSED)
	@$(PIP) torch
else
install = $(PIP) --editable '.$(1)'
endif

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	@echo "Installing justjump into $(VENV) (the first time takes a few minutes, most of it for torch)"
	@$(call install)
	@touch $@

$(VENV)/.test-installed: $(VENV)/.created $(SOURCES)
	@echo "Installing justjump and what its tests need into $(VENV) (the first time takes a few minutes)"
	@$(call install,[test])
	@touch $(VENV)/.installed $@

# Coverage guides the fuzzers of the readers where there is a wheel of atheris; else they mutate the corpus as it is.
$(VENV)/.fuzz-installed: $(VENV)/.test-installed
	@$(PIP) 'atheris>=3' || echo "no atheris for this Python: readers are fuzzed without coverage"
	@touch $@
