# Everything from a fresh clone: each target makes .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
.PHONY: demo test test-slow lint format bench lock clean

demo: .venv/.run
	rm -rf understudy-demo
	$(BIN)/understudy demo
	$(BIN)/understudy verify understudy-demo/release

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-fail-under=95

test-slow: .venv/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.dev
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/evaluation.py

clean:
	rm -rf .venv

# What is installed is named by version and hash; `make lock` (with uv) writes both files anew.
# The lists are whole, so pip resolves nothing (--no-deps): where a requirement has extras, older pips
# ask for the newest release beside the one that is named, and then refuse it for having no hash.
LOCK := uv pip compile pyproject.toml --group build --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-annotate --no-header --quiet
lock:
	$(LOCK) --output-file requirements/run.txt
	$(LOCK) --group dev --constraint requirements/run.txt --output-file requirements/dev.txt

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Understudy needs Python 3.11 or newer; set PYTHON=.")'
	$(PYTHON) -m venv .venv

.venv/.run: .venv/bin/python pyproject.toml requirements/run.txt
	$(PIP) install --no-deps --require-hashes --requirement requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

.venv/.dev: .venv/.run requirements/dev.txt
	$(PIP) install --no-deps --require-hashes --requirement requirements/dev.txt
	touch $@
