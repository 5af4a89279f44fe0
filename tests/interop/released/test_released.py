"""Pickles and files of every release load, and hold what they held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.paddle import safetensors as paddle_safetensors
from ferrograd.torch import safetensors

from tests.interop import released

RELEASES = sorted(folder for folder in released.FOLDER.iterdir() if folder.name[0].isdigit())


@pytest.fixture(params=RELEASES, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def same(found: Any, made: Any) -> None:
    """Compares two values by what they hold."""
    assert type(found) is type(made)
    if isinstance(made, fg.Tensor):
        assert (found.dtype, found.requires_grad) == (made.dtype, made.requires_grad)
        assert tuple(found.shape) == tuple(made.shape)
        both = [fg.Tensor.astype(x.detach(), "complex128") for x in (found, made)]
        np.testing.assert_allclose(both[0].numpy(), both[1].numpy(), rtol=1e-5, atol=1e-7)
    elif isinstance(made, dict):
        assert list(found) == list(made)
        for key in made:
            same(found[key], made[key])
    elif isinstance(made, list | tuple):
        assert len(found) == len(made)
        for one, other in zip(found, made, strict=True):
            same(one, other)
    elif hasattr(made, "state_dict"):
        assert repr(found) == repr(made)
        same(found.state_dict(), made.state_dict())
    elif hasattr(made, "loc"):
        same([found.loc, found.scale], [made.loc, made.scale])
    else:
        assert found == made


@pytest.mark.parametrize("key", released.FORMATS)
def test_a_file_of_a_release_loads(folder: Path, key: str) -> None:
    name, _, load = released.FORMATS[key]
    same(load(str(folder / name)), released.values()[key])


def test_safetensors_of_a_release_load(folder: Path) -> None:
    made = released.values()
    found = safetensors.load_file(str(folder / "torch.safetensors"))
    assert found.keys() == made["torch_states"]["model"].keys()
    for key, value in found.items():
        same(value, made["torch_states"]["model"][key])
    loaded = paddle_safetensors.load_file(str(folder / "paddle.safetensors"))
    for key, value in made["paddle_states"]["layer"].items():
        np.testing.assert_allclose(loaded[key].numpy(), value.detach().numpy(), rtol=1e-5)


def test_a_program_of_a_release_runs_or_is_refused(folder: Path) -> None:
    """A format that has changed has another number: no program of another version computes something else."""
    x, refused = fg.tensor([[0.5, -0.25]]), ""
    try:
        found = fg.load_compiled(str(folder / "function.program"))(x)
    except fg.ProgramFileError as e:
        refused = str(e)
    else:
        assert np.allclose(found.numpy(), released.program(x).numpy(), rtol=1e-6)
    assert not refused or (folder.name != fg.__version__ and "another version of this library" in refused)


def test_this_version_has_files() -> None:
    assert fg.__version__ in {folder.name for folder in RELEASES}
