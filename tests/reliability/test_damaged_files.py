"""Files with changed bytes: whatever reads them raises one of the errors that it documents, or returns something.

``FERROGRAD_MUTATIONS`` sets how many changed files are read; ``make fuzz`` reads files for a given time."""

from __future__ import annotations

import os

import pytest

from tests.reliability.test_hostile_objects import limited

MUTATIONS = int(os.environ.get("FERROGRAD_MUTATIONS", "3000"))

WORKER = """
    import copy, io, pickle, random, warnings
    import ferrograd.torch as torch
    warnings.simplefilter("ignore")

    def mutated(data, rng):
        data = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            at = rng.randrange(len(data))
            kind = rng.random()
            if kind < 0.7:
                data[at] = rng.randrange(256)
            elif kind < 0.8:
                del data[at]
            elif kind < 0.9:
                data.insert(at, rng.randrange(256))
            else:
                del data[at:]
                break
        return bytes(data)

    def attack(whole, read, promised, count, seed):
        rng = random.Random(seed)
        for i in range(count):
            changed = mutated(whole, rng) or b"x"
            try:
                read(changed)
            except promised:
                pass
            except BaseException as e:
                raise AssertionError(f"{type(e).__name__}: {e} for {changed!r}") from e
"""


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_damaged_file_of_tensors(protocol: int) -> None:
    limited(
        WORKER,
        f"""
    state = {{"w": torch.ones(2, 3), "b": torch.tensor([1, 2]), "n": [1.5, "text", None], "t": torch.zeros(0)}}
    state["p"] = torch.nn.Parameter(torch.ones(2)) if hasattr(torch, "nn") else torch.ones(2)
    state["w"].name = "the weight"
    file = io.BytesIO()
    torch.save(state, file, pickle_protocol={protocol})
    whole = file.getvalue()
    assert torch.load(io.BytesIO(whole))["w"].shape == (2, 3)
    attack(whole, lambda data: torch.load(io.BytesIO(data)), (pickle.UnpicklingError, MemoryError), {MUTATIONS}, 1)
    """,
        timeout=60 + MUTATIONS / 100,
    )


def test_the_arguments_of_a_pickle_of_a_tensor() -> None:
    limited(
        WORKER,
        f"""
    from ferrograd._tensor.pickling import _rebuild
    rng = random.Random(2)
    values = [None, -1, 0, 1, 2, 3, 2**40, 2**70, 1.5, float("nan"), "f8", "O", "V8", "f4,f4", "<M8[s]", "S3", "c16",
              "", "nonsense", (), (2,), (0,), (-1,), (2**40,), (2**62, 4), (1,) * 70, ("a",), [2], b"", b"1234",
              b"12345678", b"x" * 16, bytearray(8), np.ones(2), {{}}, object(), True, False, print]
    whole = ["<f8", (2,), b"x" * 16, False, 0, None]
    assert _rebuild(*whole).shape == (2,)
    for i in range({MUTATIONS}):
        args = list(whole)
        for _ in range(rng.choice((1, 1, 2, 3))):
            args[rng.randrange(6)] = rng.choice(values)
        try:
            _rebuild(*args)
        except (pickle.UnpicklingError, MemoryError):
            pass
    """,
        timeout=60 + MUTATIONS / 100,
    )


def test_a_damaged_program() -> None:
    """Most changes are found by the checksum; a hostile one is made so that the checksum is right."""
    limited(
        WORKER,
        f"""
    from tests.reliability import damaged_programs as programs
    name, whole = next(programs.programs())
    attack(whole, programs.read_and_run, (), {MUTATIONS // 10}, 5)
    assert programs.read_and_run(whole)
    _, readable = programs.attack({MUTATIONS // 3}, 6)
    assert readable
    """,
        timeout=120 + MUTATIONS / 100,
    )


def test_a_damaged_file_of_a_saved_tensor() -> None:
    limited(
        WORKER,
        f"""
    import glob, tempfile
    folder = tempfile.mkdtemp()
    x = fg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    with fg.spill_saved(folder, min_bytes=0):
        y = fg.exp(x)
    path, = glob.glob(folder + "/*.npy")
    whole = open(path, "rb").read()

    def read(data):
        with open(path, "wb") as file:
            file.write(data)
        fg.grad(y.sum(), x, retain_graph=True)

    read(whole)
    attack(whole, read, (OSError, MemoryError), {MUTATIONS // 4}, 3)
    """,
        timeout=60 + MUTATIONS / 100,
    )
