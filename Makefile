# make app    set up what is missing, then serve the app on http://127.0.0.1:8501
# make test   set up what is missing, then run the tests in minutes;  make test-full  the slow ones too;  make test-long  those of minutes, by hand
# make setup  set up only;  make bench  measure;  make lint  check style, types and imports;  make clean  remove .venv
# make docs   the API reference, from the docstrings, into build/api;  make screenshot  the README's picture
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

TESTS := -n auto --maxprocesses 4

# Else every process, of tests and of the app, compiles the whole program again: 5 seconds each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app test test-full test-long setup bench lint docs screenshot clean check
.DEFAULT_GOAL := help
.PHONY: help

help:
	@sed -n '1,4s/^# //p' Makefile

# The first example's models are compiled here, beside each other; the others beside the running app.
app: $(VENV)/run.stamp
	@$(BIN)/python -m synth_core.engine.toolchain lognormal.stan categorical.stan
	@$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: setup $(VENV)/dev.stamp
	@$(BIN)/python -m pytest $(TESTS)

test-full: setup $(VENV)/dev.stamp
	@$(BIN)/python -m pytest $(TESTS) -m "not long"

test-long: setup $(VENV)/dev.stamp
	@$(BIN)/python -m pytest $(TESTS) -m long

bench: setup $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks

lint: $(VENV)/dev.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy synth_core pages app.py
	@$(BIN)/lint-imports

# Of a package with __all__ pdoc leaves out the modules that it does not list: they are named beside it.
PACKAGES = $(shell grep -rl '^__all__' --include=__init__.py synth_core)
UNLISTED = $(foreach package,$(dir $(PACKAGES)),$(patsubst %/__init__,%,$(basename \
  $(filter-out $(package)__init__.py,$(wildcard $(package)*.py $(package)*/__init__.py)))))
DOCUMENTED = synth_core $(subst /,.,$(UNLISTED))

docs: $(VENV)/dev.stamp
	@$(BIN)/python -W error -m pdoc --docformat numpy --output-directory build/api $(DOCUMENTED)
	@echo "Open build/api/index.html"

screenshot: setup $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.screenshot

setup: $(VENV)/run.stamp
	@$(BIN)/python -m synth_core setup

# What pip cannot install is looked for first, and named in one line to copy.
check:
	@missing=""; \
	command -v "$${CXX:-g++}" >/dev/null 2>&1 || missing="$$missing g++"; \
	[ -n "$(PYTHON)" ] || missing="$$missing python3.11"; \
	if [ -n "$(PYTHON)" ] && [ ! -x $(BIN)/python ]; then \
	  $(PYTHON) -c 'import venv, ensurepip' >/dev/null 2>&1 || missing="$$missing python3-venv"; fi; \
	if [ -n "$$missing" ]; then \
	  echo "Missing:$$missing. On Debian or Ubuntu: sudo apt-get install -y$$missing" >&2; exit 1; fi

$(VENV)/run.stamp: requirements.txt
	@$(MAKE) --no-print-directory check
	@echo "Installing the requirements into $(VENV), and beside them what compiles Stan programs (once)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m synth_core.engine.toolchain & \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt; \
	status=$$?; wait; exit $$status
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt requirements-dask.txt $(VENV)/run.stamp
	@echo "Installing what the tests need (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV)
