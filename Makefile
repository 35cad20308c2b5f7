# Each target sets up what it needs. The first call installs the packages into .venv; later calls start at once.
# PYTHON=/path/to/python chooses the interpreter, ARGS="..." is handed on to the command.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

BIN := .venv/bin
# Not compiled: that would take as long as the rest, and most of it is never imported. What is, Python compiles at its
# first import and keeps, so it must be allowed to: without it every process would take seconds more to start.
INSTALL = $(BIN)/python -m pip install -q -q --no-compile --constraint requirements/lock.txt --editable
NEEDS := pyproject.toml requirements/lock.txt
ARGS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
export PYTHONDONTWRITEBYTECODE :=
# Tests train in several processes at once; threads of torch that spin while they wait would slow all of them.
export OMP_WAIT_POLICY := PASSIVE

.PHONY: help demo serve test lint format bench lock clean-venv

help:
	@echo "make demo        clean a generated collection from upload to export; results in demo/"
	@echo "make serve       run everything on this machine; prints the address and the key"
	@echo "make test        formatting, lint, types and all tests; ARGS=\"-k tsv\" chooses some"
	@echo "make lint        formatting, lint and types only"
	@echo "make format      format the code and mend what the linter can"
	@echo "make bench       run the benchmarks; each prints JSON"
	@echo "make lock        choose the newest package versions and write requirements/lock.txt"
	@echo "make clean-venv  remove the installed packages"

demo: .venv/run.stamp
	$(BIN)/pairsift demo --out demo $(ARGS)

serve: .venv/run.stamp
	$(BIN)/pairsift serve $(ARGS)

# A process more than there are cores, as they also wait, up to four, with one thread each; each starts servers of its own. Files stay whole:
# their tests share fixtures. In the order of tests/conftest.py: by the number of tests the slowest, which have few, would come last.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $$($(BIN)/python -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))') --dist loadfile --no-loadscope-reorder $(ARGS)

lint: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/run.stamp
	@for file in benchmarks/[!_]*.py; do \
		test -e "$$file" || { echo "there are no benchmarks yet"; break; }; \
		$(BIN)/python -m "benchmarks.$$(basename "$$file" .py)" $(ARGS) || exit 1; \
	done

lock: $(BIN)/pip
	$(BIN)/python requirements/lock.py

clean-venv:
	rm -rf .venv

.venv/run.stamp: $(NEEDS) | $(BIN)/pip
	@echo "installing packages, a few minutes the first time"
	@$(INSTALL) ".[worker,embedded]"
	@touch $@

# Holds all that run.stamp stands for, and the tools of the developer.
.venv/dev.stamp: $(NEEDS) | $(BIN)/pip
	@echo "installing packages and developer tools, a few minutes the first time"
	@$(INSTALL) ".[worker,embedded,dev]"
	@touch .venv/run.stamp $@

# pip comes last when an environment is made: with it there, the environment is whole. Python 3.11 is tried
# first because the versions in the lock were chosen with it.
$(BIN)/pip:
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
		if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "making .venv with $$("$$python" --version)"; \
			exec "$$python" -m venv .venv; \
		fi; \
	done; \
	echo "Python 3.11 or newer with its venv module was not found: install it (on Debian and Ubuntu" >&2; \
	echo "python3 and python3-venv), or say where it is: make PYTHON=/path/to/python" >&2; \
	exit 1
