# One command runs everything CI runs: make test. Only Python 3.11 or newer with pip, and make, are needed.

.DEFAULT_GOAL := help
.PHONY: help env demo test stress bench format pins wheels clean

# The first of these that is 3.11 or newer builds the environment; PYTHON=/path/to/python names one.
PYTHON ?= python3.11 python3.12 python3.13 python3.14 python3 python
VENV := .venv
RUN := $(VENV)/bin/python
ENV := $(VENV)/.project

export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_PYTHON_DOWNLOADS := never

help:  ## Say what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r name what; do printf '%-16s %s\n' "$$name" "$$what"; done

env: $(ENV)  ## Build the private environment in .venv

demo: $(ENV)  ## Run the demonstration
	@$(RUN) -m reverie demo

test: $(ENV)  ## Check format, lint and types, then run the tests
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -m pytest -n 2

stress: $(ENV)  ## Run the long and heavy tests
	$(RUN) -m pytest -m stress -s

bench: $(ENV)  ## Measure the engine
	$(RUN) -m benchmarks engine

format: $(ENV)  ## Format the source and mend what lint can mend
	$(RUN) -m ruff check --fix-only .
	$(RUN) -m ruff format .

# Pins already written are kept where they still fit; make pins ARGS=--upgrade takes the newest.
# One version of each package serves every Python and platform, so that all of them run the same code. The model's package is
# not pinned: it comes from packages/.
COMPILE = $$(command -v uv || echo $(VENV)/uv/bin/uv) pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-package reverie-small \
	--custom-compile-command "make pins" $(ARGS)

pins: $(ENV)  ## Pin the dependencies anew from pyproject.toml
	$(COMPILE) pyproject.toml --all-extras --group dev --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --constraint requirements/dev.txt --output-file requirements/core.txt
	$(COMPILE) --group bootstrap --output-file requirements/bootstrap.txt

wheels: $(ENV)  ## Build the wheels of Reverie and of its model into dist
	@rm -rf dist
	$(RUN) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . ./packages/reverie-small
	@ls dist

clean:  ## Remove all that was made here
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv installs the pins: the one on the PATH, else one fetched into .venv/uv. Where Python cannot make environments itself
# (Debian packs ensurepip apart) the fetched uv makes it. pip steps in where uv finds no index: uv does not read pip's settings.
$(VENV)/.pins: requirements/dev.txt requirements/bootstrap.txt
	@set -e; \
	python=$$(for one in $(PYTHON); do \
		if "$$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then command -v "$$one"; break; fi; \
	done); \
	if [ -z "$$python" ]; then \
		echo 'Reverie needs Python 3.11 or newer and found none among: $(PYTHON).' >&2; \
		echo 'Install one, or name it: make PYTHON=/path/to/python3' >&2; \
		exit 1; \
	fi; \
	echo "Building $(VENV) with $$python"; \
	rm -rf $(VENV); \
	fetch="install --quiet --require-hashes --requirement requirements/bootstrap.txt --target $(VENV)/uv"; \
	uv=$(VENV)/uv/bin/uv; \
	pip="$$python -m pip --python $(RUN)"; \
	if uv --version >/dev/null 2>&1; then \
		uv=uv; \
		uv venv --quiet --python "$$python" $(VENV); \
	elif "$$python" -m venv $(VENV) >/dev/null 2>&1; then \
		pip="$(RUN) -m pip"; \
		$$pip $$fetch || echo 'uv could not be fetched; going on with pip' >&2; \
	else \
		rm -rf $(VENV); \
		PIP_REQUIRE_VIRTUALENV=0 "$$python" -m pip $$fetch; \
		$$uv venv --quiet --allow-existing --python "$$python" $(VENV); \
	fi; \
	$$uv pip install --quiet --python $(RUN) --require-hashes --requirement requirements/dev.txt || { \
		echo 'uv could not install the pins; going on with pip' >&2; \
		$$pip install --quiet --require-hashes --requirement requirements/dev.txt; \
	}; \
	touch $@

$(ENV): $(VENV)/.pins pyproject.toml packages/reverie-small/pyproject.toml
	@$(RUN) -m pip install --quiet --no-deps --no-build-isolation --editable ./packages/reverie-small --editable .
	@touch $@
