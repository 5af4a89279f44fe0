"""Wheels of other machines, built and tried on this one: ``python -m tests.project.wheels_here [NAME ...]``.

``make wheels-here`` runs it before a release, on a Linux machine of x86-64 with Debian's packages. Each machine gets
the wheel of its kind, an interpreter (Debian's for ARM64; for musl, and without the global lock, CPython made from
Debian's source) and an empty folder for packages. There the wheel passes its self-test with nothing but NumPy beside
it, gives the bits that are promised, and runs the table of cases and the documents. Other processors are those of qemu.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.reliability.test_same_bits import PROGRAM

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "target/wheels-here"
MIRROR = "http://deb.debian.org/debian"
#: The release of Debian whose CPython is taken, and the version that it has.
SUITE, VERSION = "trixie", "3.13"
#: Those of CPython without the global lock, which PyO3 supports from 3.14 on.
WITHOUT_LOCK = ("forky", "3.14")
#: What must be installed: commands, and the packages of Debian that have them.
NEEDED = {
    "dpkg-source": "dpkg-dev",
    "mmdebstrap": "mmdebstrap",
    "musl-gcc": "musl-tools",
    "qemu-aarch64-static": "qemu-user-static",
}
#: What the tests need besides the wheel and NumPy.
TEST_PACKAGES = ["hypothesis", "matplotlib", "mpmath", "pytest", "pytest-timeout", "scipy"]
#: The tests that a machine under emulation can run in minutes.
TESTS = ["tests/ops/test_cases.py", "tests/documents"]
MUSL_COMPILER = """#!/bin/sh
# Debian's musl-gcc says that it makes programs for glibc.
[ "$1" = --print-multiarch ] && echo x86_64-linux-musl || exec musl-gcc "$@"
"""


def run(*command: str | Path, folder: Path = ROOT, **variables: str) -> None:
    """Runs a command that must succeed."""
    subprocess.run([str(part) for part in command], cwd=folder, env=os.environ | variables, check=True)


def wrapper(folder: Path, *command: str | Path, home: Path, naming: str = "-0") -> Path:
    """A program that starts Python by a command, so that Python's children start in the same way.

    ``naming`` is the option of the command that says what Python is called.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "python"
    *before, python = (f"'{part}'" for part in command)
    # Python finds itself by what it is called, and its library by the home.
    path.write_text(f'#!/bin/sh\nPYTHONHOME="{home}" exec {" ".join(before)} {naming} "$0" {python} -S "$@"\n')
    path.chmod(0o755)
    return path


def of_debian(folder: Path) -> Path:
    """Debian's CPython for ARM64, unpacked in a folder of its own and run by qemu."""
    root = folder / "root"
    if not root.exists():
        packages = f"python{VERSION},libstdc++6"
        run("mmdebstrap", "--variant=extract", "--architectures=arm64", f"--include={packages}", SUITE, root, MIRROR)
        # A package that is not among these makes this link in a whole system.
        (root / "lib").symlink_to("usr/lib")
    python = root / f"usr/bin/python{VERSION}"
    # With the vectors of any length (SVE) that qemu has by default, products of OpenBLAS, and so NumPy's, are wrong.
    emulator = ("qemu-aarch64-static", "-cpu", "cortex-a72", "-L", root)
    return wrapper(folder, *emulator, python, home=root / "usr")


def on_processor(name: str) -> Callable[[Path], Path]:
    """What gives this CPython on another processor."""

    def made(folder: Path) -> Path:
        python = Path(sys.base_prefix) / f"bin/python{sysconfig.get_python_version()}"
        return wrapper(folder, "qemu-x86_64-static", "-cpu", name, python, home=Path(sys.base_prefix))

    return made


def source(package: str, suite: str) -> Path:
    """The source of one of Debian's packages, unpacked. What apt knows of this machine stays as it is."""
    folder = FOLDER / "source" / package
    if not list(folder.glob("*/configure")):
        for part in ("lists/partial", "archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
        (folder / "sources.list").write_text(f"deb-src {signed} {MIRROR} {suite} main\n")
        places = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": folder / "lists",
            "Dir::Cache": folder,
            "APT::Sandbox::User": "root",
        }
        options = [f"-o{name}={value}" for name, value in places.items()]
        run("apt-get", "--quiet=2", *options, "update")
        run("apt-get", "--quiet=2", *options, "source", package, folder=folder)
    return next(folder.glob("*/configure")).parent


def made(folder: Path, of: tuple[str, str], *options: str, **variables: str) -> Path:
    """CPython of a release of Debian and a version, made from Debian's source."""
    python = folder / "python"
    if not (python / "bin/python3").exists():
        build = folder / "build"
        shutil.rmtree(build, ignore_errors=True)
        build.mkdir(parents=True)
        suite, version = of
        configure = source(f"python{version}", suite) / "configure"
        modest = ["--quiet", f"--prefix={python}", "--without-ensurepip", "--disable-test-modules", "OPT=-O1"]
        run(configure, *modest, *options, folder=build, **variables)
        run("make", "--silent", f"-j{os.cpu_count()}", folder=build, MAKEFLAGS="")
        run("make", "--silent", "install", folder=build, MAKEFLAGS="")
    return python / "bin/python3"


def for_musl(folder: Path) -> Path:
    """CPython that is linked with musl, whose loader and library Debian has."""
    folder.mkdir(parents=True, exist_ok=True)
    compiler, zlib, ffi, root = folder / "compiler", folder / "zlib", folder / "libffi", folder / "root"
    compiler.write_text(MUSL_COMPILER)
    compiler.chmod(0o755)
    if not zlib.exists():
        shutil.copytree(source("zlib", "bookworm"), zlib)
        run("./configure", folder=zlib, CC=str(compiler), CFLAGS="-O1 -fPIC")
        run("make", "--silent", "libz.a", "shared", folder=zlib, MAKEFLAGS="")
    if not ffi.exists():
        # SciPy needs ctypes, which is made of it.
        build = folder / "libffi-build"
        shutil.copytree(source("libffi", "bookworm"), build, dirs_exist_ok=True)
        options = ["--quiet", "--disable-shared", "--with-pic", "--disable-docs", "--disable-exec-static-tramp"]
        run("./configure", *options, f"--prefix={ffi}", folder=build, CC=str(compiler), CFLAGS="-O1")
        run("make", "--silent", "install", folder=build, MAKEFLAGS="")
    flags = {
        "ZLIB_CFLAGS": f"-I{zlib}",
        "ZLIB_LIBS": f"{zlib}/libz.a",
        "LIBFFI_CFLAGS": f"-I{ffi}/include",
        "LIBFFI_LIBS": f"{next(ffi.glob('lib*/libffi.a'))}",
    }
    # The other libraries of this machine are not for musl, so none is to be found.
    python = made(folder, (SUITE, VERSION), CC=str(compiler), PKG_CONFIG_LIBDIR=str(folder), **flags)
    if not root.exists():
        run("mmdebstrap", "--variant=extract", "--include=musl", SUITE, root, MIRROR)
    # The libraries in NumPy's wheel have packed addresses, which only a new loader fills in. Pillow's wheel takes the
    # zlib of the system.
    loader = (root / "usr/lib/x86_64-linux-musl/libc.so", "--library-path", zlib)
    return wrapper(folder / "loaded", *loader, python, home=folder / "python", naming="--argv0")


def without_lock(folder: Path) -> Path:
    """CPython without the global lock."""
    return made(folder, WITHOUT_LOCK, "--disable-gil")


@dataclass(frozen=True)
class Machine:
    """A machine whose wheel is tried.

    target, libc: what the wheel is built for, and maturin's name of the C library.
    python, version, abi: what gives the interpreter in a folder, its version, and the tag of its modules.
    level: the vectors to which this machine is held where bits are compared.
    same: how the names of the results begin that have the same bits there; all of them if it is empty.
    tests: what pytest runs.
    """

    target: str
    libc: str
    python: Callable[[Path], Path]
    version: str = VERSION
    abi: str = f"cp{VERSION.replace('.', '')}"
    level: str = "avx512"
    same: tuple[str, ...] = ()
    tests: tuple[str, ...] = tuple(TESTS)


GLIBC = ("x86_64-unknown-linux-gnu", "manylinux2014")
MUSL = ("x86_64-unknown-linux-musl", "musllinux_1_2")
#: The version of this CPython, and the tag of its modules.
HERE = (sysconfig.get_python_version(), f"cp{sysconfig.get_config_var('py_version_nodot')}")
#: How the names of results begin that have the same bits everywhere. The others may differ in the last bits: without
#: vectors, elementary functions of float64 and the sines of Fourier transforms are those of the C library, and what
#: factors larger matrices asks the processor itself, whatever the setting.
SAME = ("fold", "exact")
MACHINES = {
    "arm64": Machine("aarch64-unknown-linux-gnu", "manylinux2014", of_debian, same=SAME),
    "nehalem": Machine(*GLIBC, on_processor("Nehalem"), *HERE, level="baseline", same=SAME),
    # The processor with all that qemu has: AVX2, and no AVX-512.
    "avx2": Machine(*GLIBC, on_processor("max"), *HERE, level="avx2", tests=()),
    "without-lock": Machine(*GLIBC, without_lock, WITHOUT_LOCK[1], f"cp{WITHOUT_LOCK[1]}t".replace(".", "")),
    "musl": Machine(*MUSL, for_musl, same=SAME),
}


@functools.cache
def wheel(target: str, libc: str, interpreter: Path | None) -> Path:
    """The wheel as a release has it, linked by zig with the oldest C library that is supported.

    One wheel is for every CPython with the global lock. One for CPython without it needs that ``interpreter``.
    """
    folder = FOLDER / "wheels" / f"{target}{'-without-lock' if interpreter else ''}"
    shutil.rmtree(folder, ignore_errors=True)
    run("rustup", "--quiet", "target", "add", target)
    # maturin asks the first Python of the path for zig.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    options = ["--release", "--locked", "--zig", f"--target={target}", f"--compatibility={libc}", f"--out={folder}"]
    if interpreter:
        options.append(f"--interpreter={interpreter}")
    run(sys.executable, "-m", "maturin", "build", *options, PATH=path)
    return next(folder.glob("*.whl"))


@functools.cache
def bits_here(level: str) -> Path:
    """The results of this machine with some vectors, computed by the wheel for it."""
    folder = FOLDER / "here"
    here = Machine(*GLIBC, lambda _: Path(sys.executable), *HERE)
    shutil.rmtree(folder, ignore_errors=True)
    install(here, folder, wheel(*GLIBC, None))
    path = FOLDER / f"{level}.npz"
    environment = os.environ | {"PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "FERROGRAD_CPU": level}
    subprocess.run([sys.executable, "-c", PROGRAM, path], env=environment, check=True)
    return path


def install(machine: Machine, folder: Path, *what: str | Path) -> None:
    """Installs packages for the machine into a folder, with pip of this one."""
    processor = machine.target.partition("-")[0]
    linux = (
        ["musllinux_1_2"] if machine.libc.startswith("musl") else ["manylinux2014", "manylinux_2_27", "manylinux_2_28"]
    )
    tags = [f"--platform={name}_{processor}" for name in linux]
    tags += [f"--abi={machine.abi}", "--abi=abi3", "--abi=none", f"--python-version={machine.version}"]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    run(*pip, "--only-binary=:all:", "--implementation=cp", *tags, "--upgrade", "--target", folder, *what)


def differences(found: Path, wanted: Path, same: tuple[str, ...]) -> tuple[str, bool]:
    """How many results have the same bits and how far the others are apart, as text, and whether that is right.

    How far factors of matrices are apart depends on the matrix, so they are only counted.
    """
    with np.load(found) as a, np.load(wanted) as b:
        other = [name for name in b if a[name].tobytes() != b[name].tobytes()]
        near = {name: np.abs(a[name] - b[name]).max() for name in other if not name.startswith("factors")}
        units = max((float(off / np.spacing(np.abs(b[name]).max())) for name, off in near.items()), default=0.0)
        wrong = [name for name in other if not same or name.startswith(same)]
        text = f"{len(b.files) - len(other)} of {len(b.files)} results have the same bits"
        if near:
            text += f", {len(near)} are at most {units:.0f} units of the last place of the largest value apart"
        if len(other) > len(near):
            text += f", {len(other) - len(near)} are factors of matrices with other bits"
        if wrong:
            text += f"; these must be the same: {', '.join(wrong)}"
        return text, a.files == b.files and not wrong and units <= 64


def tried(name: str, machine: Machine) -> bool:
    """Builds the wheel and tries it; prints what happened."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    python = machine.python(folder)
    package = wheel(machine.target, machine.libc, python if machine.abi.endswith("t") else None)
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    install(machine, packages, package)
    there = {"PYTHONPATH": str(packages), "OPENBLAS_NUM_THREADS": "1"}
    passed = True

    def check(what: str, *arguments: str | Path, **variables: str) -> None:
        nonlocal passed
        start = time.perf_counter()
        done = subprocess.run([python, *arguments], cwd=ROOT, env=os.environ | there | variables, check=False)
        passed &= done.returncode == 0
        word = "passed" if done.returncode == 0 else f"FAILED ({done.returncode})"
        print(f"{name}: {what} {word} in {time.perf_counter() - start:.0f} s", flush=True)

    print(f"{name}: {package.name}, {package.stat().st_size / 2**20:.1f} MiB", flush=True)
    check("self-test", "-m", "ferrograd")
    check("bits", "-c", PROGRAM, folder / "bits.npz")
    text, right = differences(folder / "bits.npz", bits_here(machine.level), machine.same)
    passed &= right
    print(f"{name}: {text}", flush=True)
    if machine.tests:
        install(machine, packages, *TEST_PACKAGES)
        # Python without the global lock warns when the module switches it on, and a warning fails a test.
        check("tests", "-m", "pytest", *machine.tests, PYTHON_GIL="1")
    return passed


def main() -> None:
    """Tries the machines that are named, or all."""
    missing = [package for command, package in NEEDED.items() if not shutil.which(command)]
    if missing:
        sys.exit(f"this needs Debian's packages: apt-get install {' '.join(missing)}")
    results = {name: tried(name, MACHINES[name]) for name in sys.argv[1:] or MACHINES}
    print("\n".join(f"{name}: {'works' if works else 'FAILED'}" for name, works in results.items()))
    sys.exit(not all(results.values()))


if __name__ == "__main__":
    main()
