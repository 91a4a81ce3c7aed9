# Two commands do all the set-up on a machine with Python 3.11+, pip and make:
#   make demo    a simulated fleet, its API and pages (Ctrl-C ends it)
#   make test    every test
# Others: check, bench, bench-kv, docs, scenarios, lock, pictures, clean.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MAKEFLAGS += --no-print-directory

.PHONY: demo test check bench bench-kv scenarios docs pictures lock clean system

demo: $(VENV)/.runtime
	@exec $(BIN)/gpudiag demo

test: $(VENV)/.development system
	@$(BIN)/python -m pytest $(PYTEST)

check: $(VENV)/.development
	@$(BIN)/ruff check gpudiag api bot tests benchmarks docs deploy
	@$(BIN)/ruff format --check gpudiag api bot tests benchmarks docs deploy
	@$(BIN)/mypy
	@$(BIN)/mypy --config-file tests/mypy.ini tests
	@$(BIN)/python -m pytest tests/project
	@$(BIN)/python -m docs.build --check

bench: $(VENV)/.development
	@$(BIN)/python -m benchmarks

bench-kv: $(VENV)/.development
	@$(BIN)/python -m benchmarks.kv $(CASES)

scenarios: $(VENV)/.development
	@$(BIN)/python -m tests.scenarios

docs: $(VENV)/.development
	@$(BIN)/python -m docs.build

pictures: $(VENV)/.development system
	@$(BIN)/python -m deploy.slack.pictures
	@$(BIN)/python -m docs.pictures

system:
	@sh tests/system_packages.sh

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gpudiag needs Python 3.11 or newer; set PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.runtime: $(VENV)/bin/python requirements.lock pyproject.toml
	@echo "installing gpudiag into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/.development: $(VENV)/.runtime requirements-dev.lock
	@echo "installing the test tools into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

lock: $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet pip-tools
	@$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --strip-extras --allow-unsafe --upgrade --output-file requirements.lock --extra postgresql pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --strip-extras --allow-unsafe --upgrade --output-file requirements-dev.lock --extra dev --extra test --extra postgresql pyproject.toml

clean:
	@rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
