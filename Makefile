# groupsim: one entry point for people and for CI. Everything runs from .venv.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Tests start hundreds of processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup demo test test-all oracle oracle-check oracle-report lint bench clean

BIN := .venv/bin
PYTEST := $(BIN)/pytest

help:
	@echo "make setup      virtual environment in .venv, with exact versions (once)"
	@echo "make demo       a rolling deploy under several variants: sweep, comparison, figures"
	@echo "make test       tests, 15 to 40 minutes; those on Spark need Java 17 or 21 and are skipped without"
	@echo "make test-all   tests, the slow ones too"
	@echo "make oracle     a real Kafka broker plays scenarios, and clusters of three play outages of brokers; what"
	@echo "                happens is recorded; needs Java 17 and Maven"
	@echo "                (SCENARIO='kill-range join-range', all by default; REPS=1, 6 by default)"
	@echo "make oracle-check  what was recorded against the present model, without Java; make oracle-report writes it down"
	@echo "make lint       ruff and mypy"
	@echo "make bench      rates of the simulator and the assignors"

setup: .venv/setup.stamp

.venv/bin/python:
	@for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	  if $$python -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "creating .venv with $$($$python --version)"; exec $$python -m venv .venv; \
	  fi; \
	done; \
	echo "groupsim needs Python 3.11 or newer with the venv module; none of python3, python3.11 .. python3.14 is one" >&2; \
	exit 1

.venv/setup.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

.venv/dev.stamp: .venv/setup.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# A rolling deploy of 40 pods, five ways. Each run of the demo has a folder of its own under out/.
demo: setup
	@out=out/demo-$$(date +%Y%m%d-%H%M%S); where=; \
	missing=$$($(BIN)/python -c 'from groupsim.scenarios.spark.java import java_missing; print(java_missing() or "")'); \
	if [ -n "$$missing" ]; then printf '%s\nThis demo goes on so.\n\n' "$$missing" >&2; where=--inline; fi; \
	$(BIN)/groupsim sweep rolling-deploy $$where --out $$out; \
	printf '\nEach variant against the first, run by run with the same faults; intervals are 95 %%:\n\n'; \
	$(BIN)/groupsim compare $$out --figures $$out/figures; \
	printf '\nTables: %s/summary (all runs), %s/runs (one full run a variant)\n' $$out $$out; \
	printf 'Figures: %s\n' $$out/figures/*.png

# Every processor runs tests, a file each, long ones first (tests/conftest.py); those on Spark, which has all processors
# at work itself, come one by one.
test: setup
	$(PYTEST) --ignore tests/spark --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
	$(PYTEST) tests/spark

test-all: setup
	LIBRARY_SEEDS=20 WATCH_BOTH=1 $(PYTEST) -m "slow or not slow"

# Recordings go to tests/golden/kafka, those of outages to tests/golden/outages. A play takes as long as its scenario's
# horizon; three are played at once. Each kind of outage has a cluster of its own: brokers that fail have all topics to
# take over that earlier plays have left there (tests/oracle/crowding.py).
OUTAGES := $(sort $(basename $(notdir $(wildcard tests/oracle/scenarios/outages/*.yaml))))
SCENARIO := $(sort $(basename $(notdir $(wildcard tests/oracle/scenarios/*.yaml)))) $(OUTAGES)
KINDS := $(patsubst %-range,%,$(filter %-range,$(OUTAGES)))
REPS := 6
PLAY := $(BIN)/python -m tests.oracle play --repetitions $(REPS)
of_kind = $(filter $(1)-range $(1)-cooperative consumer-$(1),$(SCENARIO))
no_outages = $(filter-out $(OUTAGES),$(SCENARIO))

oracle: setup
	$(if $(no_outages),$(PLAY) --scenario $(no_outages:%=tests/oracle/scenarios/%.yaml) --out tests/golden/kafka)
	$(foreach kind,$(KINDS),$(if $(call of_kind,$(kind)),$(PLAY) --out tests/golden/outages \
	  --scenario $(patsubst %,tests/oracle/scenarios/outages/%.yaml,$(call of_kind,$(kind)));))

oracle-check: setup
	$(PYTEST) tests/oracle

oracle-report: setup
	$(BIN)/python -m tests.oracle report

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build/types && ln -sfn ../.. build/types/groupsim
	$(BIN)/mypy

bench: setup
	$(PYTEST) tests/benchmark -m "slow or not slow" --benchmark-enable --benchmark-sort=name -q
	$(BIN)/groupsim assignors bench

clean:
	rm -rf out build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
