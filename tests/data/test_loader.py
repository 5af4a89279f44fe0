"""Loaders of both dialects: batches, their order, and what becomes of workers."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd._data import workers
from ferrograd._data.worker_info import WorkerInfo
from ferrograd.torch.utils.data import BatchSampler, DataLoader, Subset

from tests.data.parts import At, Draws, Numbers, Stream, TorchDraws, as_they_are, begin_fails
from tests.waiting import until


def values(batches: Any) -> list[Any]:
    return [b.tolist() for b in batches]


def numbers(batches: Any) -> list[Any]:
    return [b[0].tolist() for b in batches]


def joined(lists: Any) -> list[Any]:
    return [item for part in lists for item in part]


def children() -> list[Any]:
    gc.collect()
    return multiprocessing.active_children()


@pytest.fixture(autouse=True)
def no_process_stays() -> Any:
    yield
    assert until(lambda: not children())


@pytest.mark.parametrize("count", [0, 1, 2])
def test_batches_in_order(count: int) -> None:
    found = list(DataLoader(Numbers(5), 2, num_workers=count))
    assert numbers(found) == [[0, 1], [2, 3], [4]]
    assert found[1][1].tolist() == [[2, 2], [3, 3]]
    assert found[1][1].dtype == torch.float32
    assert numbers(DataLoader(Numbers(5), 2, drop_last=True, num_workers=count)) == [[0, 1], [2, 3]]
    assert numbers(DataLoader(Numbers(5), batch_sampler=[[4, 0], [1]], num_workers=count)) == [[4, 0], [1]]
    assert numbers(DataLoader(Numbers(5), 2, sampler=[3, 1, 1], num_workers=count)) == [[3, 1], [1]]
    single = list(DataLoader(Numbers(2), None, num_workers=count))
    assert [s[0] for s in single] == [0, 1]
    assert single[1][1].tolist() == [1, 1]
    assert list(DataLoader(Numbers(0), 2, num_workers=count)) == []
    by_paddle = [b[0].tolist() for b in paddle.io.DataLoader(Numbers(5), batch_size=2, num_workers=count)]
    assert by_paddle == [[0, 1], [2, 3], [4]]


def test_every_number_of_workers_gives_the_same_order() -> None:
    def order(count: int) -> list[Any]:
        g = torch.Generator().manual_seed(5)
        loader = DataLoader(Numbers(7), 2, shuffle=True, generator=g, num_workers=count)
        return [numbers(loader), numbers(loader)]

    first = order(0)
    assert first == order(1) == order(2)
    assert first[0] != first[1]
    assert sorted(joined(first[0])) == list(range(7))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_ways_to_start_a_process(method: str) -> None:
    loader = DataLoader(Numbers(5), 2, num_workers=2, multiprocessing_context=method, collate_fn=as_they_are)
    assert [[i for i, _ in batch] for batch in loader] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_streams(count: int) -> None:
    wanted = [[0, 2, 4], [1, 3, 5], [6], [7]] if count == 2 else [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert values(DataLoader(Stream(8), 3, num_workers=count)) == wanted
    assert values(DataLoader(Stream(8), 3, num_workers=count, drop_last=True)) == wanted[:2]
    assert sorted(DataLoader(Stream(3), None, num_workers=count)) == [0, 1, 2]
    assert values(DataLoader(Stream(0), 3, num_workers=count)) == []
    assert sorted(joined(values(DataLoader(Stream(8), 3, num_workers=count, in_order=False)))) == list(range(8))

    class Flow(paddle.io.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(Stream(8))

    assert [b.tolist() for b in paddle.io.DataLoader(Flow(), batch_size=3, num_workers=count)] == wanted


def test_a_stream_that_is_longer_than_it_says_warns() -> None:
    loader = DataLoader(Stream(4), 2)
    assert len(loader) == 2
    assert len(DataLoader(Stream(5), 2, drop_last=True)) == 2
    loader = DataLoader(Stream(3), None)
    assert len(loader) == 3
    loader.dataset.n = 4
    with pytest.warns(UserWarning, match="was reported to be 3"):
        assert list(loader) == [0, 1, 2, 3]


def test_persistent_workers_keep_their_process() -> None:
    loader = DataLoader(Stream(6), 2, num_workers=2, persistent_workers=True)
    assert values(loader) == [[0, 2], [1, 3], [4], [5]]
    before = {p.pid for p in children()}
    assert len(before) == 2
    for _ in loader:
        break
    # What was made in advance for the pass that was given up belongs to no other pass.
    assert values(loader) == [[0, 2], [1, 3], [4], [5]]
    assert {p.pid for p in children()} == before
    del loader, _


def test_seeds_of_workers() -> None:
    def draws() -> list[Any]:
        loader = DataLoader(Draws(), None, num_workers=2, generator=torch.Generator().manual_seed(9))
        return list(loader)

    first = draws()
    assert draws() == first
    assert first[0][:3] != first[1][:3]
    assert first[1][3] == first[0][3] + 1
    assert [d[4] for d in first] == [[0, 2, "Draws"], [1, 2, "Draws"]] * 2


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_streams_of_workers_are_those_of_pytorch(start: str) -> None:
    torch.manual_seed(123)
    found = list(DataLoader(TorchDraws(), None, num_workers=2, multiprocessing_context=start))
    seed = 3624216819017203053
    assert [(known, own) for known, own, _ in found] == [(seed + i, seed + i) for i in (0, 1, 0, 1)]
    drawn = [0.7682660222053528, 0.914722204208374, 0.8738318085670471, 0.9823511242866516]
    assert [number for *_, number in found] == drawn


@pytest.mark.parametrize("count", [0, 2])
def test_errors_of_the_dataset(count: int) -> None:
    batches = iter(DataLoader(At("key"), 2, num_workers=count))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(KeyError) as caught:
        next(batches)
    if count:
        assert str(caught.value).startswith("Caught KeyError in DataLoader worker process 1.\nOriginal Traceback")
        assert 'raise KeyError("three")' in str(caught.value)
        # The other batches are there.
        assert values(batches) == [[4, 5], [6, 7]]
        with pytest.raises(RuntimeError, match=r"Caught Two in DataLoader worker process 1(.|\n)*raise Two"):
            list(DataLoader(At("local"), 2, num_workers=count))
        with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
            list(DataLoader(At("lambda"), 2, num_workers=count, collate_fn=as_they_are))
        with pytest.raises(KeyError, match=r"DataLoader worker\(1\) caught KeyError with message"):
            list(paddle.io.DataLoader(At("key"), batch_size=2, num_workers=count))
    with pytest.raises(RuntimeError, match="the dataset raised StopIteration"):
        list(DataLoader(At("stop"), 2, num_workers=count))


def test_an_error_at_the_beginning_of_a_worker() -> None:
    with pytest.raises(OSError, match=r"Caught OSError in DataLoader worker process 0(.|\n)*worker 0 has no data"):
        list(DataLoader(Numbers(3), num_workers=1, worker_init_fn=begin_fails))


@pytest.mark.parametrize(
    ("what", "torchs", "how"),
    [
        ("exit", r"\(pid\(s\) \d+\) exited unexpectedly", ", with exit code 7"),
        ("kill", r"\(pid \d+\) is killed", " by signal: SIGKILL"),
    ],
)
def test_a_worker_that_dies_ends_the_loop(what: str, torchs: str, how: str) -> None:
    batches = iter(DataLoader(At(what), 2, num_workers=2))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"worker {torchs}{how}"):
            values(batches)
    with pytest.raises(RuntimeError, match=f"workers exit unexpectedly, pids: .*{how}"):
        list(paddle.io.DataLoader(At(what), batch_size=2, num_workers=1))


def test_an_idle_worker_that_dies_ends_the_loop() -> None:
    loader = DataLoader(Numbers(3), num_workers=1, persistent_workers=True)
    assert numbers(loader) == [[0], [1], [2]]
    (child,) = children()
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="is killed by signal: SIGKILL"):
        numbers(loader)
    # Then there are new workers.
    assert numbers(loader) == [[0], [1], [2]]
    loader._iterator.stop()


def test_a_worker_that_hangs_ends_the_loop() -> None:
    # A worker that hangs does not end by itself.
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        list(DataLoader(At("hang"), 2, num_workers=2, timeout=0.3))
    with pytest.raises(RuntimeError, match=r"got no batch within 0\.3 seconds"):
        list(paddle.io.DataLoader(At("hang"), batch_size=2, num_workers=1, timeout=0.3))


def test_a_consumer_that_stops_early_ends_the_workers(monkeypatch: Any) -> None:
    for batch in DataLoader(Numbers(100), 2, num_workers=2):
        assert batch[0].tolist() == [0, 1]
        break
    del batch
    assert not children()
    monkeypatch.setattr(workers._stop, "__defaults__", (0.2,))
    batches = iter(DataLoader(At("hang"), 2, num_workers=1))
    assert next(batches).tolist() == [0, 1]
    del batches
    assert not children()


def test_large_batches_and_large_indices() -> None:
    class Wide(Numbers):
        def __getitem__(self, i: int) -> Any:
            return np.full(300_000, i)

    found = [b[:, -1].tolist() for b in DataLoader(Wide(6), 2, num_workers=2)]
    assert found == [[0, 1], [2, 3], [4, 5]]
    many = [[i] * 100_000 for i in range(6)]
    loader = DataLoader(Numbers(6), batch_sampler=many, num_workers=1, collate_fn=lambda b: (b[0][0], len(b)))
    assert list(loader) == [(i, 100_000) for i in range(6)]


@contextmanager
def run(code: str) -> Iterator[Any]:
    """A program with its workers, which end with the block at the latest."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        # Systems differ in how they say that the group is gone.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def workers_of(process: Any) -> list[int]:
    """The process ids that the program prints once both workers have made a batch."""
    pids = [int(p) for p in process.stdout.readline().split()]
    assert len(pids) == 2
    return pids


SLOW = """
    import multiprocessing, os, signal, sys, time
    # Programs that a shell starts in the background ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from ferrograd.torch.utils.data import DataLoader, Dataset
    class Slow(Dataset):
        def __len__(self): return 10**9
        def __getitem__(self, i):
            if i > 3: time.sleep(0.1)
            return i
    for i, batch in enumerate(DataLoader(Slow(), num_workers=2)):
        if i == 1:
            print(*(p.pid for p in multiprocessing.active_children()), flush=True)
"""


def has_ended(pid: int) -> bool:
    """Whether a process has ended. The process that inherits it may be slow to remove its entry."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    entry = Path(f"/proc/{pid}/stat")
    return entry.exists() and entry.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals to process groups")
def test_ctrl_c_ends_the_program_and_its_workers() -> None:
    with run(SLOW) as process:
        pids = workers_of(process)
        os.killpg(process.pid, signal.SIGINT)
        _, text = process.communicate()
        assert text.count("KeyboardInterrupt") == 1, text
        assert "Process" not in text
        assert until(lambda: all(map(has_ended, pids)))


@pytest.mark.skipif(sys.platform != "linux", reason="a killed parent's children are found by their process id")
def test_workers_of_a_killed_program_end() -> None:
    with run(SLOW) as process:
        pids = workers_of(process)
        process.kill()
        process.communicate()
        assert until(lambda: all(map(has_ended, pids)))


def test_a_program_may_end_in_the_middle_of_a_loop() -> None:
    with run(SLOW + "        if i == 2: break\n    it = iter(DataLoader(Slow(), num_workers=1)); next(it)") as process:
        _, text = process.communicate()
        assert process.returncode == 0, text
        assert text == ""


def test_a_graph_does_not_leave_a_worker() -> None:
    class Tracked(Numbers):
        def __getitem__(self, i: int) -> Any:
            return {"x": torch.ones(2, requires_grad=True) * i}

    batch = next(iter(DataLoader(Tracked(4), 2)))
    assert batch["x"].requires_grad
    with pytest.raises(RuntimeError, match="a tensor with a graph cannot go from a worker"):
        next(iter(DataLoader(Tracked(4), 2, num_workers=1)))


def test_threads_have_loaders_of_their_own() -> None:
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(numbers(DataLoader(Numbers(5), 2, num_workers=1))))
        for _ in range(3)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[[0, 1], [2, 3], [4]]] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="counts the open files in /proc")
def test_no_file_stays_open() -> None:
    def count() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    list(DataLoader(Numbers(4), 2, num_workers=2))
    before = count()
    for _ in range(5):
        list(DataLoader(Numbers(4), 2, num_workers=2))
        for _batch in DataLoader(Numbers(4), 2, num_workers=2):
            break
    del _batch
    assert count() == before


def test_an_error_of_the_sampler() -> None:
    def indices() -> Any:
        yield 0
        raise ValueError("no second index")

    for count in (0, 2):
        with pytest.raises(ValueError, match="no second index"):
            list(DataLoader(Numbers(4), 2, sampler=indices(), num_workers=count))


def test_what_gives_the_indices_under_private_names() -> None:
    whole, single = DataLoader(Numbers(4), 2), DataLoader(Numbers(4), None)
    assert (whole._auto_collation, single._auto_collation) == (True, False)
    assert list(whole._index_sampler) == [[0, 1], [2, 3]]
    assert list(single._index_sampler) == [0, 1, 2, 3]


def test_subsets_ask_for_many_samples_at_once() -> None:
    class Many(Numbers):
        def __getitems__(self, indices: Any) -> Any:
            return [("many", i) for i in indices]

    batches = list(DataLoader(Subset(Many(5), [4, 3, 2]), 2))
    assert [[list(names), i.tolist()] for names, i in batches] == [[["many"] * 2, [4, 3]], [["many"], [2]]]


def test_wrong_arguments_raise() -> None:
    data = Numbers(3)
    for options, text in (
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor option should be positive"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
        ({"multiprocessing_context": "thread", "num_workers": 1}, "should specify a valid start method"),
    ):
        with pytest.raises(ValueError, match=text):
            DataLoader(data, **options)
    with pytest.raises(TypeError, match="valid context object"):
        DataLoader(data, num_workers=1, multiprocessing_context=3)
    with pytest.raises(fg.ArgumentError, match="must be a torch"):
        DataLoader(data, generator=3)  # type: ignore[arg-type]
    for option in ("shuffle", "sampler", "batch_sampler"):
        with pytest.raises(ValueError, match=f"expected unspecified {option} option"):
            DataLoader(Stream(3), **{option: [[1]]})  # type: ignore[arg-type]
    loader = DataLoader(data)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    with pytest.raises(ValueError, match="only be used with multi-process loading"):
        loader.multiprocessing_context = "fork"
    # Mocks of the class have what its objects have.
    assert "multiprocessing_context" in dir(DataLoader)
    for name in ("num_workers", "timeout"):
        with pytest.raises(AssertionError, match=f"{name} should be a non-negative value"):
            paddle.io.DataLoader(data, **{name: -1})  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="should not be set when batch_sampler is given"):
        paddle.io.DataLoader(data, batch_sampler=BatchSampler([0], 1, False), shuffle=True)
    with pytest.raises(ValueError, match="length of IterableDataset not supported"):
        len(paddle.io.DataLoader(paddle.io.IterableDataset()))


def test_more_workers_than_processors_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="excessive worker creation might get DataLoader running slow or even freeze"):
        DataLoader(Numbers(4), num_workers=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DataLoader(Numbers(4), num_workers=1)


def test_what_a_worker_knows_of_itself_cannot_be_changed() -> None:
    info: Any = WorkerInfo(0, 2, 7, None)
    for name in ("id", "other"):
        with pytest.raises(RuntimeError, match="Cannot assign attributes to WorkerInfo objects"):
            setattr(info, name, 1)
    assert repr(info) == "WorkerInfo(id=0, num_workers=2, seed=7, dataset=None)"


def test_processes_of_an_iterator_stay_known() -> None:
    batches: Any = iter(DataLoader(Numbers(8), 2, num_workers=2))
    workers = batches._workers
    assert [w.is_alive() for w in workers] == [True, True]
    assert list(batches)
    assert [w.exitcode for w in batches._workers] == [0, 0]
    assert batches._workers is workers


def test_numpy_draws_from_the_seed_that_pytorch_gives_a_worker() -> None:
    from ferrograd.torch.utils.data._utils import worker

    assert worker._generate_state(13434589827475259383, 4) == (2884386318, 1088094898, 3523808998, 3860348662)
    assert worker.get_worker_info() is None
