# One command each; every target does its own set-up. Needs Python 3.11 to 3.13 and, the first time, the package registry.
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test check lab lock clean bench-environment

help:            ## what there is
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

demo: $(READY)   ## build the demo release, run eight systems, judge, score, report (no key, no network)
	$(BIN)/longbanana-nb demo

test: $(READY)   ## lint, types and tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/nbstripout --verify $$(find notebooks -name '*.ipynb' -not -path '*/.ipynb_checkpoints/*')
	$(BIN)/pytest

lab: $(READY)    ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab $(OPTIONS) notebooks

lock: $(READY)   ## renew both locks from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --output-file requirements.lock
	$(BIN)/uv pip compile --group pyproject.toml:bench --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --output-file requirements-bench.lock

bench-environment: $(READY)   # what the benchmark of model judging compares with: .venv-bench, beside the workbench's own
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venv-bench
	$(BIN)/uv pip install --quiet --python .venv-bench/bin/python --require-hashes -r requirements-bench.lock

clean:           ## remove the virtual environment and caches (runs and releases stay)
	rm -rf $(VENV) .mypy_cache .ruff_cache

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || \
	  { echo "Python 3.11 to 3.13 is needed, and $(PYTHON) is not. Install one, or name it: make demo PYTHON=/path/to/python3.11"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $(READY)
