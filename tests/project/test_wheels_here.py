"""What ``make wheels-here`` says of the bits of another machine, and how it starts Python on one."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.project.wheels_here import differences, on_processor

WANTED: dict[str, Any] = {
    "fold sum": np.array([1.0, 2.0]),
    "exp": np.array([1.0, 4.0]),
    "factors of 150": np.array([1.0]),
}


def compared(folder: Path, same: tuple[str, ...], **other: Any) -> tuple[str, bool]:
    np.savez(folder / "wanted.npz", **WANTED)
    np.savez(folder / "found.npz", **WANTED | {name.replace("_", " "): value for name, value in other.items()})
    return differences(folder / "found.npz", folder / "wanted.npz", same)


def test_the_same_bits_are_right(tmp_path: Path) -> None:
    assert compared(tmp_path, ()) == ("3 of 3 results have the same bits", True)


def test_other_bits_are_counted_and_what_must_be_the_same_is_named(tmp_path: Path) -> None:
    near = WANTED["exp"] * (1 + 2**-51)
    text, right = compared(tmp_path, ("fold",), exp=near)
    assert text == (
        "2 of 3 results have the same bits, 1 are at most 2 units of the last place of the largest value apart"
    )
    assert right
    assert not compared(tmp_path, ("fold",), exp=WANTED["exp"] + 1e-6)[1]
    text, right = compared(tmp_path, ("fold",), fold_sum=np.array([1.0, np.nextafter(2.0, 3.0)]))
    assert text.endswith("these must be the same: fold sum")
    assert not right
    text, right = compared(tmp_path, ("fold",), factors_of_150=np.array([2.0]))
    assert text == "2 of 3 results have the same bits, 1 are factors of matrices with other bits"
    assert right
    assert not compared(tmp_path, (), factors_of_150=np.array([2.0]))[1]


@pytest.mark.skipif(shutil.which("qemu-x86_64-static") is None, reason="qemu-user-static is not installed")
def test_the_children_of_an_emulated_python_are_emulated(tmp_path: Path) -> None:
    python = on_processor("Nehalem")(tmp_path)
    inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import sys; print(sys.executable)'])"
    done = subprocess.run([python, "-c", inner], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(python)
