# Two commands: `make run` opens the app, `make test` checks everything. Both install what they need into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test lint unit clean

run: .venv/.installed
	$(BIN)/streamlit run streamlit_app.py

test: lint unit

lint: .venv/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: .venv/.installed-for-tests
	$(BIN)/python -m pytest

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
