# make demo, test, test-all, arm, microkernels, dev, t, docs, fuzz, models, miri, asan, tsan, careful, accuracy, memcheck, reliability, check, bench, release, wheels-here. Each sets up what it needs in .venv; Rust, CPython 3.11 and pip suffice.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
WHEELS := target/wheels
SOURCES := $(shell find src python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name py.typed -o -name Cargo.toml)

.PHONY: demo test test-all arm microkernels rust python dev t docs fuzz models miri asan tsan careful accuracy memcheck reliability check wheel release wheels-here bench install clean

# Packages are fetched while the library is compiled.
demo:
	$(MAKE) --no-print-directory -j2 $(WHEELS)/built .venv/demo
	$(MAKE) --no-print-directory install
	$(BIN)/python -m ferrograd demo

# What a test measures of memory and time is that of its own process, so two tests of Python run at once, beside those of Rust. A
# worker that is idle takes tests from the other.
test:
	$(MAKE) --no-print-directory -j2 $(WHEELS)/built .venv/ready
	$(MAKE) --no-print-directory install
	$(MAKE) --no-print-directory -j2 --output-sync=line rust python

python:
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

# The crates are tested as they are in the wheel, with what was compiled for it. Their unit tests, which compile them again, do
# without optimisation and have the checks of debug builds. Those of the kernels, for which the compiler needs two minutes, are in
# `make test-all`. A cargo that is told of make's jobs would look for them in vain.
TEST := env -u MAKEFLAGS -u MFLAGS cargo test
rust:
	$(TEST) --release --package ferrograd --package ferrograd-c --test '*'
	$(TEST) --release --package ferrograd-c --lib
	$(TEST) --release --package ferrograd --package ferrograd-base --doc
	$(TEST) --config tests/unit.toml --release --lib \
		--package ferrograd --package ferrograd-linalg --package ferrograd-house

# What `make test` leaves out besides: tests that take many minutes, and all tests of Rust with the checks of debug builds, among them
# the unit tests of the kernels.
test-all: test
	cargo test --workspace --exclude ferrograd-python --exclude ferrograd-bind --all-features
	FERROGRAD_MUTATIONS=3000 $(BIN)/python -m pytest tests/reliability/test_damaged_files.py
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m long

# The unit tests of the kernels, as ARM64 computes them, with the machine code for it. It needs a linker and an emulator, Debian's
# gcc-aarch64-linux-gnu and qemu-user-static, and Rust's target.
arm:
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -cpu cortex-a72 -L /usr/aarch64-linux-gnu" \
	cargo test --config tests/unit_base.toml --release --lib --package ferrograd-base --target $(ARM)

# Loops that multiply registers call nothing, whatever the profile.
microkernels: dev
	$(BIN)/python -m tests.project.microkernels $(LIBRARY)

# The edit loop. `make dev` compiles what changed, with the quick profile, for the source tree in python/: there an edit
# of a Python file needs no build. `make t K=softmax` then runs the tests whose names match K; F=tests/ops narrows them
# to a file or folder.
K ?=
F ?= tests
EXTENSION := python/ferrograd/_core.abi3.so
LIBRARY := target/quick/lib_core$(if $(filter Darwin,$(shell uname)),.dylib,.so)
dev: .venv/ready
	cargo build --profile quick --package ferrograd-python
	@# Programs that run keep the file that they began with.
	cmp --silent $(LIBRARY) $(EXTENSION) || { cp $(LIBRARY) $(EXTENSION).new && mv $(EXTENSION).new $(EXTENSION); }

t: dev
	PYTHONPATH=python $(BIN)/python -m pytest $(F) -k "$(K)"

# The site, in target/site/html: open index.html. A warning is an error, recipes are run, and every link is checked.
docs: install .venv/ready
	$(PIP) --group docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs auto -d target/site/doctrees docs target/site/html
	cd docs && ../$(BIN)/python -m sitegen.links ../target/site/html

# For some minutes, from a seed that is printed: random programs, views and writes, indexes, formulas, damaged files and
# saved programs, DLPack capsules and calls with hostile arguments. What fails is shrunk.
MINUTES ?= 10
SEED ?=
fuzz: install .venv/ready
	$(BIN)/python -m tests.reliability.fuzz $(MINUTES) $(SEED)

# Models of the code by which threads wait for each other, run in every order that the threads allow.
models:
	RUSTFLAGS="--cfg loom" cargo test --quiet --lib --package ferrograd --package ferrograd-base --profile quick --target-dir target/models models

# The instruments that need a nightly compiler: `rustup toolchain install nightly --component miri --component rust-src`.
# In these builds each array is a block of memory of its own, so that a byte beyond it is seen.
NIGHTLY = cargo +nightly
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

# Miri interprets the tests of arrays, shapes, memory, stored values and kernels at small sizes: no undefined behaviour. It uses one
# core, so two halves of about the same length run at a time.
MIRI = RUST_BACKTRACE=0 MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation" RUSTFLAGS="--cfg exact_buffers" \
	$(NIGHTLY) miri test --quiet --package ferrograd-base --lib --target-dir target/miri
HALF = kernel::copy kernel::reduce kernel::sequence
miri:
	$(MIRI) --no-run
	$(MIRI) -- $(HALF) & $(MIRI) -- $(HALF:%=--skip %) && wait $$!

# AddressSanitizer watches the fuzzers and the tests that touch memory by addresses.
ASAN = target/asan/$(HOST)/quick
asan: .venv/ready
	RUSTFLAGS="-Zsanitizer=address --cfg exact_buffers" $(NIGHTLY) build --profile quick --package ferrograd-python \
		--target $(HOST) --target-dir target/asan
	$(BIN)/python -m tests.reliability.watched address $(ASAN)/$(notdir $(LIBRARY)) $(MINUTES)

# ThreadSanitizer watches the tests of the scheduler, of hooks and of memory.
tsan:
	TSAN_OPTIONS="suppressions=$(CURDIR)/tests/thread_sanitizer.txt" RUSTFLAGS="-Zsanitizer=thread" \
		$(NIGHTLY) test -Zbuild-std --profile quick --package ferrograd \
		--test scheduler --test hooks --test levels --target $(HOST) --target-dir target/tsan

# All tests of Python and Rust with the assertions of debug builds and checks of overflow, in kernels too.
careful: .venv/ready
	cargo build --profile quick --package ferrograd-python --target-dir target/careful $(CAREFUL)
	$(BIN)/python -m tests.reliability.watched assertions target/careful/quick/$(notdir $(LIBRARY)) $(MINUTES)
CAREFUL = --config profile.quick.debug-assertions=true --config profile.quick.overflow-checks=true

# The table of what is off by more than a few units in the last place: all elementwise functions and their first three
# derivatives, at numbers of all magnitudes, against mpmath. It is on docs/special-points.md, and takes some minutes. ONLY=gelu
# selects the functions with that word.
ONLY ?=
accuracy: install .venv/ready
	$(BIN)/python -m tests.ops.accuracy --only "$(ONLY)"

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
UNTYPED := --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-any-generics --allow-redefinition --no-warn-return-any --no-warn-unused-ignores
ARM := aarch64-unknown-linux-gnu
# The public names of the crate, which rustdoc lists for nightly compilers only, or for those that are told that they are.
SURFACE := RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet --lib --target-dir target/surface
JSON := -- -Zunstable-options --output-format json
check: install .venv/ready .venv/checkers
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --all-features -- -D warnings
	! rustup target list --installed | grep --quiet $(ARM) || cargo check --quiet --workspace --exclude ferrograd-python --exclude ferrograd-bind --target $(ARM)
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --workspace --all-features
	$(SURFACE) --package ferrograd-base $(JSON)
	$(SURFACE) --package ferrograd --all-features $(JSON)
	$(BIN)/python -m tests.project.surface target/surface/doc
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python -m mypy
	$(BIN)/python -m tests.project.snippets $(SNIPPETS)
	$(BIN)/python -m mypy $(UNTYPED) $(SNIPPETS)
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --quiet --offline .github/workflows
	$(BIN)/python -m mypy.stubtest ferrograd --mypy-config-file pyproject.toml --allowlist tests/project/stubtest.txt
	! command -v cargo-semver-checks >/dev/null || ! git describe --tags --match 'v*' >/dev/null 2>&1 || cargo semver-checks --baseline-rev "$$(git describe --tags --abbrev=0 --match 'v*')"

# The wheel of a release, with the licences of the crates in it. It needs cargo-about.
wheel: .venv/ready
	cargo about generate --locked --fail --manifest-path src/module/Cargo.toml --output-file THIRD_PARTY_LICENSES about.hbs
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# What a release consists of, in dist/: the changelog and tags fit the version, the archives are well formed, and each of
# them installs in an empty environment and passes its self-test. The crates compile from what would be published.
EMPTY := target/empty
release: .venv/ready .venv/checkers
	$(BIN)/python -m tests.project.release
	rm -rf dist
	$(MAKE) wheel
	$(BIN)/python -m maturin sdist --out dist
	$(BIN)/python -m twine check --strict dist/*
	for file in dist/*; do \
		rm -rf $(EMPTY) && $(PYTHON) -m venv $(EMPTY) && $(EMPTY)/bin/pip --quiet install $$file && \
		(cd $(EMPTY) && bin/python -m ferrograd) || exit 1; \
	done
	cargo publish --quiet --dry-run --locked --workspace

# What this machine can say of the wheels of others, before a release: those for ARM64, for musl and for CPython without the
# global lock are built, and tried under emulation, as that of x86-64 is on older processors. It needs Linux on x86-64 with some
# of Debian's packages, which it names, and takes an hour. MACHINES selects: arm64 nehalem avx2 without-lock musl.
MACHINES ?=
wheels-here: .venv/ready
	$(PIP) --group wheels
	$(BIN)/python -m tests.project.wheels_here $(MACHINES)

bench: install
	cargo bench
	$(BIN)/python benches/peers.py
	$(BIN)/python benches/growth.py
	$(BIN)/python benches/mixed.py
	$(BIN)/python benches/scaling.py
	$(BIN)/python benches/clients.py

# The wheel as a user gets it, in the environment of our own.
install: .venv/installed

.venv/installed: $(WHEELS)/built
	$(PIP) --force-reinstall --no-deps $(WHEELS)/*.whl
	$(PIP) $(WHEELS)/*.whl
	touch $@

# Cargo shows how far it is, and takes as many processors as there are, whatever `make` was told.
$(WHEELS)/built: .venv/build Cargo.toml Cargo.lock pyproject.toml $(SOURCES)
	rm -f $(WHEELS)/*.whl
	MAKEFLAGS= $(BIN)/python -m maturin build --release --out $(WHEELS)
	touch $@

.venv/build: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	$(PIP) --group build
	touch $@

.venv/demo: .venv/build
	$(PIP) --group demo
	touch $@

.venv/ready: .venv/build
	@# Python compiles a module when a test first imports it.
	$(PIP) --no-compile --group test
	touch $@

.venv/checkers: .venv/build
	$(PIP) --group check
	touch $@

clean:
	rm -rf target .venv
