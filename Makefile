# make train | test | bench | lint: each makes .venv where it is missing, and builds what changed;
# ARGS="..." goes to the program, e.g. make train ARGS="--epochs 40 --resume".
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell git ls-files fasttensor cuda_kernels setup.py pyproject.toml 2>/dev/null)

.PHONY: train test bench lint clean

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	touch $@

$(VENV)/installed: $(VENV)/made $(SOURCES)
	$(BIN)/pip install ".[examples,bench,test,lint]"
	touch $@

train: $(VENV)/installed
	$(BIN)/python examples/digits.py $(ARGS)

test: $(VENV)/installed
	$(BIN)/pytest $(ARGS)

bench: $(VENV)/installed
	$(BIN)/python -m benches $(ARGS)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint $$(git ls-files "*.pyx" "*.pxd")

clean:
	rm -rf build $(VENV) *.egg-info
	find fasttensor -name '*.so' -delete
