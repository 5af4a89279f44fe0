"""Checkpoints of several processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import ArgumentError, FerrogradError, distributed, torch as _torch
from ferrograd.torch.distributed import checkpoint

from tests.distributed.files import content
from tests.distributed.launch import needs_mpi, passed

torch: Any = _torch


@needs_mpi
def test_any_number_of_processes_reads_what_any_other_wrote(tmp_path: Path) -> None:
    wanted = f"{content()}\n"
    program = ("-m", "tests.distributed.files")
    assert passed(3, *program, "write", str(tmp_path / "three")) == wanted
    assert len(list((tmp_path / "three").iterdir())) == 4
    assert f"{distributed.load(tmp_path / 'three')}\n" == wanted
    distributed.save(tmp_path / "one", content())
    assert passed(2, *program, "read", str(tmp_path / "one")) == wanted


@needs_mpi
def test_divided_state() -> None:
    assert passed(3, "-m", "tests.distributed.sharded") == "all the same\n"


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [flipped, cut, Path.unlink])
@pytest.mark.parametrize("kind", ["index.json", "*.bin"])
def test_damage_is_found(kind: str, damage: Callable[[Path], None], tmp_path: Path) -> None:
    distributed.save(tmp_path, content())
    (file,) = tmp_path.glob(kind)
    damage(file)
    with pytest.raises((FileNotFoundError, FerrogradError), match=r"damaged|No such file"):
        distributed.load(tmp_path)


def test_what_is_interrupted_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed.save(tmp_path, {"step": 1, "w": fg.ones(3)})
    calls = ["fsync", "replace"]
    for name in calls:
        with monkeypatch.context() as patch:

            def fails(*args: Any) -> None:
                raise OSError("no space left")

            patch.setattr(os, name, fails)
            with pytest.raises(FerrogradError, match="rank 0: no space left"):
                distributed.save(tmp_path, {"step": 2, "w": fg.zeros(3)})
        assert distributed.load(tmp_path)["step"] == 1
    distributed.save(tmp_path, {"step": 2, "w": fg.zeros(3)})
    assert distributed.load(tmp_path)["w"].tolist() == [0, 0, 0]
    # What was left behind is gone.
    assert len(list(tmp_path.iterdir())) == 2


def test_states_of_torch(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 7}
    checkpoint.save(state, checkpoint_id=tmp_path)
    other = torch.nn.Linear(2, 1)
    found = {"model": other.state_dict(), "optimizer": optimizer.state_dict(), "step": 0}
    checkpoint.load(found, checkpoint_id=tmp_path)
    assert torch.equal(other.weight, model.weight)
    assert found["step"] == 7
    for bad, text in (
        ({"no": 1}, "has no"),
        ({"step": torch.ones(1)}, "not a tensor"),
        ({"model": {"weight": torch.ones(5)}}, "shape"),
        ({"model": {"weight": [1]}}, "entries"),
    ):
        with pytest.raises(ArgumentError, match=text):
            checkpoint.load(bad, checkpoint_id=tmp_path)
    with pytest.raises(ArgumentError, match="not set"):
        distributed.save(tmp_path, {"a": {1}})
    with pytest.raises(ArgumentError, match="not float"):
        distributed.save(tmp_path, {1.5: 1})
