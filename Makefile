# Everything from a fresh clone: each target makes .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
.PHONY: demo test test-slow lint format bench clean

demo: .venv/.run
	rm -rf understudy-demo
	$(BIN)/understudy demo
	$(BIN)/understudy verify understudy-demo/release

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-fail-under=95

test-slow: .venv/.dev
	$(BIN)/python -m pytest -n 2 -m slow

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

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Understudy needs Python 3.11 or newer; set PYTHON=.")'
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade "pip>=25.1"

.venv/.run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

.venv/.dev: .venv/.run
	$(PIP) install --constraint constraints.txt --editable . --group dev
	touch $@
