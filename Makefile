# Few commands, each of which sets up what it needs by itself. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
RUN := .venv-run
LOWEST := .venv-lowest
WHEEL := .venv-wheel

.PHONY: help test coverage lowest demo wheel picture check format kube kube-skew operators bench soak skew tables lock clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

test: $(VENV)/ok ## run the tests; those that need real control planes too, if `make kube` got them
	$(BIN)/python tools/run_tests.py -q $(ARGS)

coverage: $(VENV)/ok ## see that the tests of objects/ cover it whole
	$(BIN)/coverage run -m pytest -q tests/unit/objects
	$(BIN)/coverage report --fail-under=100 --skip-covered --show-missing

# Of the tests, those of what hangs most on other people's packages.
lowest: $(LOWEST)/ok ## try the lowest versions of all packages that pyproject.toml allows
	$(LOWEST)/bin/python tools/import_all.py
	$(LOWEST)/bin/python -m pytest -q -m "not kube and not go" $(LOWEST_TESTS) $(ARGS)

LOWEST_TESTS := tests/unit/kube $(addprefix tests/unit/localkube/apiserver/,serving identity storage types) \
	tests/api/test_client.py tests/api/test_pod_websockets.py tests/api/test_localkube_callers.py

check: $(VENV)/ok ## lint, types, import layers, sizes
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/sizes.py

format: $(VENV)/ok ## let ruff format and fix what it can
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .

kube: $(VENV)/ok ## get etcd, Kubernetes 1.35.8, the oldest worker's 1.29.15 and JobSet's operator for the tests
	$(BIN)/python tools/kube/get.py

kube-skew: $(VENV)/ok ## get the other Kubernetes versions that we promise to work with
	$(BIN)/python tools/kube/get.py --skew

# The tests of JobSet's are among the others, as `make kube` gets it.
operators: kube ## run workloads of many kinds under their real operators; builds those first (20 minutes once)
	$(BIN)/python tools/kube/get.py --operators
	JOBFERRY_SOAK=1 $(BIN)/python -m pytest -q tests/system/test_operator*.py $(ARGS)

demo: $(RUN)/ok ## see it work: a hub, two workers, the dispatcher and a handful of Jobs
	PYTHONPATH=src $(RUN)/bin/python -m jobferry demo $(ARGS)

wheel: $(VENV)/ok ## build dist/*.whl, install it into an empty environment, and run its demo
	rm -rf dist $(WHEEL)
	$(BIN)/hatchling build -t wheel
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index dist/*.whl
	$(WHEEL)/bin/python -m pip check --disable-pip-version-check
	cd / && $(CURDIR)/$(WHEEL)/bin/jobferry demo

picture: $(VENV)/ok ## draw docs/demo.svg anew; with ARGS=--record, from a demo that is run for it
	$(BIN)/python tools/picture.py $(ARGS)

BENCHES ?= client admission dispatch scale apiserver cluster simulation
bench: $(BENCH)/ok ## measure against peers and limits, all or some of BENCHES; needs `make kube`
	set -e; for each in $(BENCHES); do $(BENCH)/bin/python -m bench.$$each $(ARGS); done

soak: $(VENV)/ok ## all tests, with many more seeds, sizes, faults and kills; needs `make kube`
	$(BIN)/python -m jobferry.testing.simulation --seeds 0-4999
	JOBFERRY_SOAK=1 $(BIN)/python -m pytest --timeout 3600 $(ARGS)

skew: kube-skew ## the system tests with every pair of hub and worker versions that we promise
	$(BIN)/python tools/skew.py $(ARGS)

# What the environments are made of is pinned, with hashes, down to the build backend.
$(VENV)/ok: requirements/dev.txt
$(BENCH)/ok: requirements/bench.txt
$(LOWEST)/ok: requirements/lowest.txt
%/ok: pyproject.toml
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(filter requirements/%,$^)
	$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Only what the wheel needs; `demo` takes the rest from src.
$(RUN)/ok: requirements/run.txt
	$(PYTHON) -m venv $(RUN)
	$(RUN)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@touch $@

tables: ## write anew what is generated from the Go types of Kubernetes (for maintainers; uses Go)
	cd tools/tables && CGO_ENABLED=0 go run -trimpath . ../../src/jobferry

lock: ## write requirements/*.txt anew from pyproject.toml (for maintainers; uses uv)
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet uv
	$(LOCK) -o requirements/run.txt
	$(LOCK) --group dev -o requirements/dev.txt
	$(LOCK) --group dev --group bench -o requirements/bench.txt
	$(LOCK) --resolution lowest-direct -o .venv-lock/lowest.txt
	$(LOCK) --group dev --constraints .venv-lock/lowest.txt -o requirements/lowest.txt

LOCK := .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-package jobferry --custom-compile-command 'make lock' pyproject.toml

clean: ## remove what the other commands made in this folder
	rm -rf $(VENV) $(BENCH) $(RUN) $(LOWEST) $(WHEEL) .venv-lock dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
