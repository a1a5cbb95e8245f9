# `make run` opens the app, `make test` checks everything, `make test-fast` all but what is slow or needs a browser.
# Each installs what it needs into .venv.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest --quiet
PARALLEL := -n 2 --dist loadfile  # a file's tests share their fixtures; each process has one thread

.PHONY: run test test-fast lint unit browser clean

run: .venv/.installed
	$(BIN)/streamlit run streamlit_app.py

test: lint unit browser

test-fast: lint
	$(PYTEST) $(PARALLEL) -m "not slow and not browser"

lint: .venv/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: .venv/.installed-for-tests
	$(PYTEST) $(PARALLEL) -m "not browser"

browser: .venv/.installed-for-tests
	$(PYTEST) -m browser

# torch first and by its exact version, so that nothing else chooses another build of it
.venv/.installed: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Crosslight needs Python 3.11 or newer.")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet "$$(grep '^torch==' requirements.txt)"
	$(BIN)/python -m pip install --quiet -r requirements.txt
	touch $@

.venv/.installed-for-tests: .venv/.installed tests/requirements.txt
	$(BIN)/python -m pip install --quiet -r tests/requirements.txt
	touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache
