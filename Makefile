# The same commands on a laptop and in CI. `make demo` and `make test` set everything up themselves:
# Python 3.11 or newer is all that must be there. Packages come from the locks in requirements/,
# every file of them checked by its hash, from the index this machine is set up to use.

# Another Python beside it: make test VENV=.venv-3.13 PYTHON=/path/to/python3.13
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
# `make lock UPGRADE=` keeps every version that still fits.
UPGRADE ?= --upgrade
LOCK := $(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header \
	--no-emit-index-url --no-emit-find-links $(UPGRADE)
# Two more than the cores of a small machine, because many tests wait.
JOBS ?= 4
BENCHES ?= imports jobs warm distributed steps flood tffs stores loop images reference on_ray

# Everything started from here has compiled bytecode: imports are most of a short job.
export UV_COMPILE_BYTECODE := 1
export UV_NO_PROGRESS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV

.PHONY: demo test test-services test-long coverage mutants check bench docs lock clean install install-tf install-dev install-ray
.DELETE_ON_ERROR:

demo: install-tf  ## runs the example of each service that is there, and prints a table
	$(BIN)/danlu demo

test: check install-ray  ## everything but what the next two run
	$(BIN)/pytest -q -m "not long and not services" -n $(JOBS)

test-services: install-ray  ## Ray, PostgreSQL, SeaweedFS, the package index, injected faults
	$(BIN)/pytest -q -m "services and not long" -n $(JOBS)

test-long: install-ray  ## many repetitions, chaos, the wheel in a clean environment; writes docs/design/durability
	CHAOS_RESULTS=docs/design/durability.json $(BIN)/pytest -q -m long
	$(BIN)/python tests/durability_page.py

coverage: install-ray  ## lines and branches the tests reach, child processes included; writes docs/design/coverage
	$(BIN)/python tests/coverage_run.py --jobs $(JOBS)

mutants: install-ray  ## removes functions at random and checks that a test fails; writes docs/design/mutants.json
	$(BIN)/python tests/mutants.py

check: install-dev  ## format, lint, types, import rules; no test is run
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports --no-logo > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@! grep -rnE "shell *= *True" src || { echo "A shell is never started: pass a list."; exit 1; }
	$(BIN)/mypy --no-error-summary
	@# Benches are run by hand. mypy detects calls of functions that were removed.
	MYPYPATH=src:bench:bench/job_tools:tests $(BIN)/mypy --no-error-summary --explicit-package-bases bench/*.py bench/job_tools/danlu_job.py

bench: install-ray  ## imports, starting jobs and clusters, training loops, images, object stores beside other tools; writes bench/results
	@# A missed bar does not stop the others. The target fails at its end and names the missed ones.
	@missed=""; for name in $(BENCHES); do \
	    echo "bench/$$name.py"; $(BIN)/python bench/$$name.py || missed="$$missed $$name"; \
	done; $(BIN)/python bench/numbers_page.py; \
	test -z "$$missed" || { echo "Not every bar is held:$$missed"; exit 1; }

docs: install-dev  ## links, both languages, every command, setting, route and test named
	$(BIN)/pytest -q tests/test_docs.py tests/test_reference.py tests/test_architecture.py

install: $(VENV)/.run
install-tf: $(VENV)/.tf
install-dev: $(VENV)/.dev
install-ray: $(VENV)/.ray

$(VENV)/.uv: requirements/bootstrap.lock
	@test -x $(BIN)/python || for python in $(PYTHON) python3.11 python3 python3.12 python3.13; do \
	    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    $$python -m venv $(VENV) && break; rm -rf $(VENV); \
	done
	@test -x $(BIN)/python || { echo "Danlu needs Python 3.11 or newer with its venv module" \
	    "(Debian: python3-venv). Name one with: make PYTHON=/path/to/python"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.lock
	@touch $@

$(VENV)/.run: $(VENV)/.uv requirements/run.lock pyproject.toml
	$(INSTALL) --require-hashes -r requirements/run.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@# TensorFlow's file system for object stores. Without a compiler it is reported on use.
	@$(BIN)/python -m danlu_runtime.tffs.build $(VENV)/lib/danlu >/dev/null 2>&1 || true
	@touch $@

$(VENV)/.tf: $(VENV)/.run requirements/tf.lock
	$(INSTALL) --require-hashes -r requirements/tf.lock
	@touch $@

$(VENV)/.dev: $(VENV)/.tf requirements/dev.lock
	$(INSTALL) --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.ray: $(VENV)/.dev requirements/ray.lock
	$(INSTALL) --require-hashes -r requirements/ray.lock
	@touch $@

lock: $(VENV)/.uv  ## newest versions that pyproject.toml allows; each layer keeps to the one below
	$(LOCK) requirements/bootstrap.in -o requirements/bootstrap.lock
	$(LOCK) pyproject.toml --extra server --group build -o requirements/run.lock
	$(LOCK) pyproject.toml --extra server --extra tf --group build \
	    -c requirements/run.lock -o requirements/tf.lock
	$(LOCK) pyproject.toml --extra server --extra tf --extra postgres --group build --group dev \
	    -c requirements/tf.lock -o requirements/dev.lock
	$(LOCK) pyproject.toml --extra server --extra tf --extra postgres --extra ray \
	    --group build --group dev -c requirements/dev.lock -o requirements/ray.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
