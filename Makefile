# The four commands: make demo, make test, make check, make bench. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check bench install clean

$(BIN)/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --group dev
	touch $@

# The wheel as a user gets it, in the environment of our own.
install: $(BIN)/ready
	$(PIP) --no-deps --force-reinstall .

demo: install
	$(BIN)/python examples/demo.py

test: install
	cargo test --quiet
	$(BIN)/python -m pytest

check: install
	cargo fmt --check
	cargo clippy --quiet --all-targets -- -D warnings
	cargo clippy --quiet --features python -- -D warnings
	cargo doc --quiet --no-deps
	$(BIN)/ruff format --check python tests examples benches
	$(BIN)/ruff check python tests examples benches
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest ferrograd

bench: install
	cargo bench
	$(BIN)/python benches/peers.py

clean:
	rm -rf target $(VENV)
