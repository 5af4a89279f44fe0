# make demo, test, dev, t, docs, fuzz, models, memcheck, reliability, check, bench, release. Each sets up what it needs in .venv; Rust, CPython 3.11 and pip suffice.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
SOURCES := $(shell find src python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name py.typed)

.PHONY: demo test rust dev t docs fuzz models memcheck reliability check wheel release bench install clean

demo: install
	$(BIN)/python examples/demo.py

# The Rust tests are built beside the wheel, whose last step keeps one processor busy for minutes. What a test measures of
# memory and time is that of its own process, so two tests run at once; the one that is idle takes from the other.
test:
	$(MAKE) --no-print-directory -j2 install rust
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

rust:
	cargo test --quiet

# The edit loop. `make dev` compiles what changed, with the quick profile, for the source tree in python/: there an edit
# of a Python file needs no build. `make t K=softmax` then runs the tests whose names match K; F=tests/ops narrows them
# to a file or folder.
K ?=
F ?= tests
EXTENSION := python/ferrograd/_core.abi3.so
LIBRARY := target/quick/libferrograd$(if $(filter Darwin,$(shell uname)),.dylib,.so)
dev: .venv/ready
	cargo rustc --quiet --lib --profile quick --features python --crate-type cdylib
	cmp --silent $(LIBRARY) $(EXTENSION) || cp $(LIBRARY) $(EXTENSION)

t: dev
	PYTHONPATH=python $(BIN)/python -m pytest $(F) -k "$(K)"

# The site, in target/site/html: open index.html. A warning is an error, recipes are run, and every link is checked.
docs: install
	$(PIP) --group docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs auto -d target/site/doctrees docs target/site/html
	cd docs && ../$(BIN)/python -m sitegen.links ../target/site/html

# For some minutes, from a seed that is printed: random programs, views and writes, indexes, formulas, damaged files and
# saved programs, DLPack capsules and calls with hostile arguments. What fails is shrunk.
MINUTES ?= 10
SEED ?=
fuzz: install
	$(BIN)/python -m tests.reliability.fuzz $(MINUTES) $(SEED)

# Models of the code by which threads wait for each other, run in every order that the threads allow.
models:
	RUSTFLAGS="--cfg loom" cargo test --quiet --lib --profile quick --target-dir target/models models

# A smoke test under valgrind, which must be installed. The wheel lacks the names of its functions.
memcheck: dev
	PYTHONPATH=python $(BIN)/python -m tests.reliability.memcheck

# docs/reliability.md, with figures measured here. PEERS names the interpreters (a:b) of environments with torch, Paddle
# or jax.
PEERS ?=
reliability: install dev
	FERROGRAD_PEERS=$(PEERS) $(BIN)/python -m tests.reliability.page

# Where Rust has the target, the code for ARM is checked too. Where cargo-semver-checks is installed, the crate is compared
# with its last release.
# The code of the pages is checked like that of users: strictly, but its functions need no annotations.
SNIPPETS := target/snippets
UNTYPED := --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-any-generics --allow-redefinition --no-warn-return-any
ARM := aarch64-unknown-linux-gnu
check: install
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cargo clippy --quiet --features python -- -D warnings
	! rustup target list --installed | grep --quiet $(ARM) || cargo check --quiet --target $(ARM)
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python -m mypy
	$(BIN)/python -m tests.project.snippets $(SNIPPETS)
	$(BIN)/python -m mypy $(UNTYPED) $(SNIPPETS)
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline .github/workflows
	$(BIN)/python -m mypy.stubtest ferrograd --allowlist tests/project/stubtest.txt
	! command -v cargo-semver-checks >/dev/null || ! git describe --tags --match 'v*' >/dev/null 2>&1 || cargo semver-checks --baseline-rev "$$(git describe --tags --abbrev=0 --match 'v*')"

# The wheel of a release, with the licences of the crates in it. It needs cargo-about.
wheel: .venv/ready
	cargo about generate --locked --fail --features python --output-file THIRD_PARTY_LICENSES about.hbs
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# What a release consists of, in dist/: the changelog and tags fit the version, the archives are well formed, and each of
# them installs in an empty environment.
EMPTY := target/empty
release: .venv/ready
	$(BIN)/python -m tests.project.release
	rm -rf dist
	$(MAKE) wheel
	$(BIN)/python -m maturin sdist --out dist
	$(BIN)/python -m twine check --strict dist/*
	for file in dist/*; do \
		rm -rf $(EMPTY) && $(PYTHON) -m venv $(EMPTY) && $(EMPTY)/bin/pip --quiet install $$file && \
		(cd $(EMPTY) && bin/python -c "import ferrograd as fg; print(fg.__version__, fg.sin(fg.ones(2)))") || exit 1; \
	done

bench: install
	cargo bench
	$(BIN)/python benches/peers.py
	$(BIN)/python benches/growth.py
	$(BIN)/python benches/scaling.py

# The wheel as a user gets it, in the environment of our own.
install: .venv/installed

.venv/installed: .venv/ready Cargo.toml Cargo.lock pyproject.toml $(SOURCES)
	$(PIP) --no-deps --force-reinstall .
	touch $@

.venv/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	$(PIP) --group dev
	touch $@

clean:
	rm -rf target .venv
