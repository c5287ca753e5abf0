# make app    set up what is missing, then serve the app on http://127.0.0.1:8501
# make test   set up what is missing, then run the tests
# make setup  set up only;  make bench  measure;  make lint  check style;  make clean  remove .venv
# make docs   the API reference, from the docstrings, into build/api;  make screenshot  the README's picture
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: app test test-all setup bench lint docs screenshot clean check
.DEFAULT_GOAL := help
.PHONY: help

help:
	@sed -n '1,4s/^# //p' Makefile

app: setup
	@$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: setup $(VENV)/dev.stamp
	@$(BIN)/python -m pytest

test-all: setup $(VENV)/dev.stamp
	@$(BIN)/python -m pytest -m "slow or not slow"

bench: setup $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks

lint: $(VENV)/dev.stamp
	@$(BIN)/ruff check .

# Of a package with __all__ pdoc leaves out the modules that it does not list: they are named beside it.
UNLISTED = $(foreach package,$(dir $(shell grep -l '^__all__' synth_core/*/__init__.py)),\
  $(filter-out %/__init__.py,$(wildcard $(package)*.py)))
DOCUMENTED = synth_core $(subst /,.,$(UNLISTED:.py=))

docs: $(VENV)/dev.stamp
	@$(BIN)/python -W error -m pdoc --docformat numpy --output-directory build/api $(DOCUMENTED)
	@echo "Open build/api/index.html"

screenshot: setup $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.screenshot

setup: check $(VENV)/run.stamp
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
	@echo "Installing the requirements into $(VENV) (once)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt requirements-dask.txt $(VENV)/run.stamp
	@echo "Installing what the tests need (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV)
