# make run   set up what is needed, make every published study and its figures, print what came out
# make test  set up, run the tests

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
CORES  ?= all

.PHONY: run test verify-bits lint docs claims lock

run: $(VENV)/.run
	$(BIN)/snakemake --cores $(CORES)
	$(BIN)/python -m initscope summary

test: $(VENV)/.test
	$(BIN)/pytest -m "not slow"

verify-bits: $(VENV)/.test  # the same bits on this CPU and on those that QEMU emulates
	$(BIN)/python tests/verify_bits.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow benchmarks
	$(BIN)/snakemake --lint

docs: $(VENV)/.run          # what is generated from the code
	$(BIN)/python -m initscope reference > docs/reference.md

claims: $(VENV)/.run        # every claim of both texts, put to the test; docs/claims.md and its figure
	$(BIN)/snakemake --cores $(CORES) claims
	cp results/claims/claims.md results/claims/figures/claims.png docs/

$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "initscope needs Python 3.11 or newer; name one: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.test: $(VENV)/.run requirements-test.lock
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements-test.lock
	touch $@

lock: $(VENV)/.test         # after a change of the dependencies in pyproject.toml
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile $(COMPILE) --output-file requirements.lock pyproject.toml
	$(BIN)/pip-compile $(COMPILE) --extra test --constraint requirements.lock --output-file requirements-test.lock pyproject.toml
	sed -i 's/^\(torch==[0-9.]*\)+.*/\1/' requirements.lock requirements-test.lock    # any build of that release

COMPILE = --quiet --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-options --allow-unsafe
