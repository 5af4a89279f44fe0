"""A program of several processes: writes a checkpoint or reads one, and prints what is in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import ArgumentError, FerrogradError, distributed, torch as _torch
from ferrograd.torch.distributed import checkpoint

torch: Any = _torch
world = distributed.world()


def content() -> dict[str, Any]:
    return {
        "w": fg.arange(1000.0).reshape([10, 100]),
        "rest": [fg.tensor([1 + 2j]), (fg.tensor(True), None), {3: 0.1, "text": "é\n", "inf": float("inf")}],
        "half": fg.tensor([1.5, -2.0]).astype("bfloat16"),
        "empty": fg.ones([0, 2]),
        "count": fg.tensor([2**40]),
    }


def main(what: str, path: str) -> None:
    if what == "write":
        distributed.save(path, {"old": 1}, world)
        distributed.save(path, content(), world)
        with pytest.raises(ArgumentError, match="other structures"):
            distributed.save(path, {"x": fg.ones(world.rank)} if world.size > 1 else {object: 1}, world)
        bad = Path(path) / "index.json" / "below"
        with pytest.raises(FerrogradError, match="rank 0"):
            distributed.save(bad, content(), world)
    found = distributed.load(path, world)
    if world.rank == 0:
        print(found)
    state = {"w": torch.zeros(10, 100), "count": torch.zeros(1, dtype=torch.int64), "rest": []}
    checkpoint.load(state, checkpoint_id=path)
    assert state["w"].sum() == 999 * 500
    assert state["count"].item() == 2**40


if __name__ == "__main__":
    main(*sys.argv[1:])
