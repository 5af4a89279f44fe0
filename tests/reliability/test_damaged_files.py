"""Files with changed bytes: whatever reads them raises one of the errors that it documents, or returns something.

``FERROGRAD_MUTATIONS`` sets how many changed files are read, which ``make test-all`` does; ``make fuzz`` reads files
for a given time."""

from __future__ import annotations

import os

import pytest

from tests.reliability.test_hostile_objects import limited
from tests.waiting import LONG

MUTATIONS = int(os.environ.get("FERROGRAD_MUTATIONS", "400"))
#: Reading a file takes far less than a second.
pytestmark = pytest.mark.timeout(2 * LONG + MUTATIONS)

WORKER = """
    import copy, io, pickle, random, warnings
    import os, struct, tempfile, zipfile
    import ferrograd.paddle as paddle
    import ferrograd.torch as torch
    from ferrograd import distributed
    from ferrograd.paddle import safetensors as paddles
    from ferrograd.torch import safetensors
    warnings.simplefilter("ignore")

    def mutated(data, rng):
        data = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            if not data:
                break
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
    )


def test_a_damaged_archive_of_pytorch() -> None:
    """The checksums of a hostile archive are right: the pickle and the numbers are changed before they are packed."""
    limited(
        WORKER,
        f"""
    def packed(entries):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in entries.items():
                archive.writestr(name, data)
        file.seek(0)
        return file

    state = {{"w": torch.ones(2, 3), "t": torch.ones(2, 3).T, "p": torch.nn.Parameter(torch.ones(2)), "n": [1.5, None]}}
    state["u"], state["h"] = torch.ones(2, dtype=torch.uint16), torch.ones(2, dtype=torch.bfloat16)
    file = io.BytesIO()
    torch.save(state, file)
    with zipfile.ZipFile(file) as archive:
        whole = {{name: archive.read(name) for name in archive.namelist()}}
    assert all(whole.values())
    assert torch.load(packed(whole))["t"].stride() == (1, 3)
    for name in whole:
        count = {MUTATIONS} if name.endswith("data.pkl") else {MUTATIONS // 50}
        read = lambda data: torch.load(packed({{**whole, name: data}}))
        attack(whole[name], read, (pickle.UnpicklingError, MemoryError), count, 7)
    for name in whole:
        try:
            torch.load(packed({{k: v for k, v in whole.items() if k != name}}))
        except pickle.UnpicklingError:
            pass
    """,
    )


def test_a_damaged_file_of_an_old_pytorch() -> None:
    limited(
        WORKER,
        f"""
    storage = b"(X\\x07\\x00\\x00\\x00storagectorch\\nFloatStorage\\nX\\x01\\x00\\x00\\x000"
    storage += b"X\\x03\\x00\\x00\\x00cpuK\\x04NtQ"
    shape = b"K\\x00K\\x02K\\x02\\x86K\\x02K\\x01\\x86\\x89ccollections\\nOrderedDict\\n)R"
    tensor = b"ctorch._utils\\n_rebuild_tensor_v2\\n(" + storage + shape + b"tR"
    about = {{"protocol_version": 1001, "little_endian": True}}
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, about)]
    numbers = struct.pack("<q4f", 4, 1.0, 2.0, 3.0, 4.0)
    whole = b"".join([*parts, b"\\x80\\x02" + tensor + b".", pickle.dumps(["0"], 2), numbers])
    assert torch.load(io.BytesIO(whole)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    attack(whole, lambda data: torch.load(io.BytesIO(data)), (pickle.UnpicklingError, MemoryError), {MUTATIONS}, 8)
    huge = whole.replace(b"K\\x04NtQ", b"\\x8a\\x06\\x00\\x00\\x00\\x00\\x00\\x10NtQ")
    try:
        torch.load(io.BytesIO(huge))
    except pickle.UnpicklingError as error:
        assert "too few for 17592186044416 numbers" in str(error), error
    else:
        raise AssertionError("no error")
    """,
    )


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_damaged_file_of_paddle(protocol: int) -> None:
    limited(
        WORKER,
        f"""
    layer = paddle.nn.Linear(2, 3)
    states = [layer.state_dict(), {{"w": paddle.ones([2]), "n": [1, "text", (2.5, None)]}}, paddle.ones([2, 2])]
    for i, state in enumerate(states):
        file = io.BytesIO()
        paddle.save(state, file, protocol={protocol})
        whole = file.getvalue()
        paddle.load(io.BytesIO(whole))
        read = lambda data: paddle.load(io.BytesIO(data))
        attack(whole, read, (pickle.UnpicklingError, MemoryError), {MUTATIONS // 3}, 9 + i)
    """,
    )


def test_a_damaged_file_of_safetensors() -> None:
    """Half of the files have changes in the header only, with the right length."""
    limited(
        WORKER,
        f"""
    tensors = {{"w": torch.ones(2, 3), "b": torch.zeros(0), "é": torch.tensor(1)}}
    tensors["h"] = torch.ones(2, dtype=torch.bfloat16)
    whole = safetensors.save(tensors, {{"format": "pt"}})
    length = struct.unpack("<Q", whole[:8])[0]
    header, numbers = whole[8 : 8 + length], whole[8 + length :]
    assert safetensors.load(whole)["w"].shape == (2, 3)
    path = os.path.join(tempfile.mkdtemp(), "file")

    def of_a_file(data):
        with open(path, "wb") as file:
            file.write(data)
        safetensors.load_file(path)
        with safetensors.safe_open(path, "pt") as opened:
            for name in opened.keys():
                opened.get_tensor(name)

    framed = lambda data: struct.pack("<Q", len(data)) + data + numbers
    reads = [safetensors.load, paddles.load, of_a_file]
    reads += [lambda data, read=read: read(framed(data)) for read in reads]
    for i, read in enumerate(reads):
        attack(header if i > 2 else whole, read, (safetensors.SafetensorError, MemoryError), {MUTATIONS // 6}, 12 + i)
    """,
    )


def test_a_damaged_checkpoint() -> None:
    """Most changes are found by the checksums; a hostile index has the right one."""
    limited(
        WORKER,
        f"""
    import glob, zlib
    folder = tempfile.mkdtemp()
    distributed.save(folder, {{"w": fg.ones((2, 3)), "n": [1, 2.5, (None, "text")], "h": fg.zeros(2, dtype="float16")}})
    index = os.path.join(folder, "index.json")
    text = open(index, "rb").read().partition(b"\\n")[2]
    (numbers,) = glob.glob(folder + "/*.bin")
    assert distributed.load(folder)["w"].shape == (2, 3)

    def read(path, data):
        with open(path, "wb") as file:
            file.write(data)
        distributed.load(folder)

    promised = (fg.FerrogradError, FileNotFoundError, MemoryError)
    signed = lambda data: read(index, b"%08x\\n" % zlib.crc32(data) + data)
    attack(text, signed, promised, {MUTATIONS // 4}, 20)
    attack(open(index, "rb").read(), lambda data: read(index, data), promised, {MUTATIONS // 10}, 21)
    signed(text)
    attack(open(numbers, "rb").read(), lambda data: read(numbers, data), promised, {MUTATIONS // 10}, 22)
    """,
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
    )
