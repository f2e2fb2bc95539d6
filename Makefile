# Every target sets up what it needs first. PYTHON=... names the interpreter to begin with (3.11 or later).
export PYTHON
BIN := .venv/bin

.PHONY: help setup demo test lint bench docs clean

help: ## shows this
	@sed -n 's/^\([a-z]*\):.*## /\1: /p' Makefile

setup: ## makes .venv and installs tmux where it is missing
	@scripts/setup.sh

demo: setup ## runs real experiments through the inbox, to their finish.flag
	@$(BIN)/ajet-inbox demo

test: lint ## lints, then runs all tests
	@$(BIN)/pytest -n auto --maxprocesses 8

lint: setup ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: setup ## runs the benchmarks
	@for each in bench/bench_*.py; do $(BIN)/python $$each || exit 1; done

docs: setup ## writes what the pages take from the code
	@$(BIN)/python scripts/make_docs.py

clean: ## removes what make made; inbox/ and outbox/ stay
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
