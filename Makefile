# `make run` opens the app, `make test` checks everything, `make test-fast` all but what is slow or needs a browser.
# Each installs what it needs into .venv. `make lock` renews the lock files, `make audit` asks for known vulnerabilities.
PYTHON ?= python3
BIN := .venv/bin
TOOLS := .venv/tools
LOCKS := requirements.txt requirements.lock tests/requirements.lock assets/container/requirements.lock
PYTEST := $(BIN)/python -m pytest --quiet
# A file's tests share their fixtures. xdist would sort the files by the number of their tests, which starts the longest
# ones last; a process for every core, each of which collects all tests once.
PARALLEL := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Where it is set, every process that a test starts compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-fast lint unit browser lock audit clean

run: .venv/.installed
	$(BIN)/streamlit run streamlit_app.py

test: lint
	$(PYTEST) $(PARALLEL) -m "not crowded"
	$(PYTEST) -m crowded tests/browser

test-fast: lint
	$(PYTEST) $(PARALLEL) -m "not slow and not browser"

lint: .venv/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m app.streamlit_shims
	$(BIN)/python .ci/licences.py $(LOCKS)

unit: .venv/.installed-for-tests
	$(PYTEST) $(PARALLEL) -m "not browser"

browser: .venv/.installed-for-tests
	$(PYTEST) $(PARALLEL) -m "browser and not crowded" tests/browser
	$(PYTEST) -m crowded tests/browser

# The locks hold the exact version and the hashes of everything but torch, whose CPU and CUDA builds have one version and
# different files: of torch only the version is fixed, and the index that pip is set to decides the build. What torch
# itself needs is in the lock; only the CUDA libraries of its CUDA build come with it, in the versions that it names.
.venv/.installed: requirements.txt requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Crosslight needs Python 3.11 or newer.")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet "$$(grep '^torch==' requirements.txt)"
	touch $@

.venv/.installed-for-tests: .venv/.installed tests/requirements.txt tests/requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r tests/requirements.lock
	touch $@

# Keeps the versions of the present locks where the requirements allow it; `make lock UPGRADE=--upgrade` takes the newest.
UPGRADE :=
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	--custom-compile-command "make lock"
WITHOUT = sed -nE 's/^($(1))==.*/--no-emit-package \1/p'

lock: $(TOOLS)/.installed
	cp requirements.lock $(TOOLS)/all.lock
	$(COMPILE) requirements.txt --output-file $(TOOLS)/all.lock
	$(COMPILE) requirements.txt --output-file requirements.lock \
		$$($(call WITHOUT,torch|triton|cuda-[a-z0-9-]+|nvidia-[a-z0-9-]+) $(TOOLS)/all.lock)
	$(COMPILE) tests/requirements.txt --constraint $(TOOLS)/all.lock --output-file tests/requirements.lock \
		$$($(call WITHOUT,[a-z0-9.-]+) $(TOOLS)/all.lock)
	$(COMPILE) assets/container/requirements.txt --constraint $(TOOLS)/all.lock \
		--constraint tests/requirements.lock --output-file assets/container/requirements.lock \
		$$($(call WITHOUT,[a-z0-9.-]+) $(TOOLS)/all.lock)

audit: $(TOOLS)/.installed
	$(TOOLS)/bin/python .ci/audit.py $(LOCKS)

$(TOOLS)/.installed: Makefile
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet uv==0.13.9 pip-audit==2.10.1
	touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache
