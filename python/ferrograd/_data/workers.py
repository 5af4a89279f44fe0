"""Batches that worker processes make in advance.

A worker has one connection to the parent process. Messages to it are tasks; each gets one answer. The parent waits for
answers and for the end of any worker at the same time, so a worker that dies is noticed at once.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import connection
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._data.fetching import ENDED, Source
from ferrograd._data.worker_info import WorkerInfo, set_worker_info
from ferrograd._kit import tree as _tree

#: Seconds between two checks whether the parent process is alive, and seconds in which a worker may end by itself.
PATIENCE = 5.0

#: Kinds of answers.
BATCH, STREAM_ENDED, FAILED = range(3)


class Texts(NamedTuple):
    """Texts of errors."""

    #: With the fields ``kind``, ``worker`` and ``traceback``.
    failed: str
    #: With the fields ``pid`` and ``how``.
    died: str
    #: With the field ``seconds``.
    timed_out: str
    #: The text of `died` for a worker that a signal has ended, if that is another one.
    killed: str | None = None


class Options(NamedTuple):
    """How worker processes run."""

    workers: int
    #: How many batches each worker makes in advance.
    prefetch: int
    #: Seconds to wait for an answer; without end if it is 0.
    timeout: float
    #: Called with the number of the worker before it loads.
    begin: Callable[[int], None] | None
    #: The context of ``multiprocessing`` that starts the processes.
    context: Any
    seed: int
    #: Seeds the draws of the dialect.
    seeded: Callable[[int], Any]
    #: Whether batches come in the order of their indices, not in that of their arrival.
    in_order: bool
    #: Whether the processes stay when all batches are passed on.
    stay: bool
    texts: Texts


def seed_native(seed: int) -> None:
    """Seeds the draws of functions that know no dialect, by a number below 2**64."""
    _core.native.manual_seed(seed - (1 << 64) if seed >= 1 << 63 else seed)


def state_of_numpy(seed: int, worker: int) -> tuple[int, ...]:
    """The four numbers of 32 bits that seed NumPy's generator in a worker of a loader with a seed below 2**64."""
    words = [worker, seed & 0xFFFFFFFF, seed >> 32, 0]
    return tuple(map(int, np.random.SeedSequence(words).generate_state(4)))


class Failure(NamedTuple):
    """An error in a worker: its class, the name of that and its traceback as text."""

    kind: type[BaseException]
    name: str
    text: str

    def error(self, worker: int, texts: Texts) -> BaseException:
        """An error of the same class, if that takes a text, with the worker's traceback."""
        text = texts.failed.format(kind=self.name, worker=worker, traceback=self.text)
        try:
            # KeyError shows its argument by `repr`, which would put a traceback into one line.
            return self.kind(_Lines(text) if self.kind is KeyError else text)
        except Exception:
            return RuntimeError(text)


class _Lines(str):
    """A text whose ``repr`` is the text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _failure(error: Exception) -> bytes:
    """The pickle of an error. A class that cannot be pickled is replaced."""
    name, text = type(error).__name__, "".join(traceback.format_exception(error))
    try:
        return pickle.dumps(Failure(type(error), name, text))
    except Exception:
        return pickle.dumps(Failure(RuntimeError, name, text))


def _pickled(batch: Any) -> bytes:
    for leaf in _tree.leaves(batch):
        if isinstance(leaf, _core.Tensor) and not leaf.is_leaf:
            raise RuntimeError(
                "a tensor with a graph cannot go from a worker to the parent process: the graph stays behind. Call "
                "detach() in the dataset or in collate_fn, or load with num_workers=0"
            )
    # From protocol 5 on, tensors and arrays are not copied before they are written.
    return pickle.dumps(batch, protocol=5)


def _work(link: Any, parents_ends: list[Any], source: Source, number: int, options: Options) -> None:
    """The life of a worker: answers tasks until it is told to stop or the parent process is gone."""
    # Ctrl-C reaches all processes of a terminal; the parent ends the workers. A handler that the parent program set
    # for SIGTERM is not for workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in parents_ends:
        other.close()
    _core.set_num_threads(1)
    seed = options.seed + number
    random.seed(seed)
    options.seeded(seed)
    np.random.seed(state_of_numpy(options.seed, number))
    set_worker_info(WorkerInfo(number, options.workers, seed, source.dataset))

    # One thread reads and one writes, so that the parent never waits for a worker that is loading, and a worker goes
    # on loading while its batches wait to be read.
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stopped = threading.Event()

    def read() -> None:
        try:
            while (message := link.recv()) is not None:
                inbox.put(message)
        except (EOFError, OSError):
            pass
        stopped.set()
        inbox.put(None)

    def write() -> None:
        try:
            while True:
                header, content = outbox.get()
                link.send(header)
                link.send_bytes(content)
        except OSError:
            stopped.set()
            inbox.put(None)

    for loop in (read, write):
        threading.Thread(target=loop, daemon=True).start()

    broken: bytes | None = None
    if options.begin is not None:
        try:
            options.begin(number)
        except Exception as error:
            broken = _failure(error)
    parent, epoch, fetch = os.getppid(), -1, None
    while not stopped.is_set():
        try:
            message = inbox.get(timeout=PATIENCE)
        except queue.Empty:
            if os.getppid() != parent:
                return
            continue
        if message is None:
            return
        now, task, index = message
        kind, content = FAILED, broken or b""
        if broken is None:
            try:
                if now != epoch:
                    epoch, fetch = now, None
                    fetch = source.fetcher()
                if fetch is None:
                    kind = STREAM_ENDED
                else:
                    batch = fetch(index)
                    if batch is ENDED:
                        kind = STREAM_ENDED
                    else:
                        content = _pickled(batch)
                        kind = BATCH
            except Exception as error:
                kind, content = FAILED, _failure(error)
        outbox.put(((now, task, kind), content))


class _Worker:
    """A worker process, seen from the parent."""

    def __init__(self, source: Source, number: int, options: Options, others: list[_Worker]) -> None:
        self.link, theirs = connection.Pipe()
        # A forked process inherits the parent's ends of all connections.
        forks = options.context.get_start_method() == "fork"
        inherited = [w.link for w in (*others, self)] if forks else []
        self.process = options.context.Process(
            target=_work, args=(theirs, inherited, source, number, options), daemon=True
        )
        try:
            self.process.start()
        except BaseException:
            self.link.close()
            raise
        finally:
            theirs.close()

    def how_it_ended(self) -> str:
        """The exit code or the signal of a process that has ended."""
        self.process.join(PATIENCE)
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"with exit code {code}"
        try:
            return f"by signal: {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal: {-code}"


def _stop(workers: list[_Worker], owner: int, patience: float = PATIENCE) -> None:
    """Ends workers: asks them to stop, and after a while makes them."""
    if os.getpid() != owner:
        # A copy of the loader in a forked process.
        return
    for w in workers:
        try:
            if patience:
                w.link.send(None)
        except OSError:
            pass
        w.link.close()
    for end in (None, "terminate", "kill"):
        deadline = time.monotonic() + (patience if end is None else PATIENCE)
        for w in workers:
            if end and w.process.is_alive():
                getattr(w.process, end)()
        for w in workers:
            w.process.join(max(deadline - time.monotonic(), 0))
    workers.clear()


class WorkerBatches(Iterator[Any]):
    """The batches of a source for the given indices, made in advance by worker processes.

    Indices go to the workers in turn. A worker whose stream has ended gets no more.
    """

    def __init__(self, source: Source, indices: Iterator[Any], options: Options) -> None:
        self._options, self._epoch, self._error = options, -1, ""
        self._running: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _stop, self._running, os.getpid())
        try:
            for number in range(options.workers):
                self._running.append(_Worker(source, number, options, list(self._running)))
        except BaseException:
            self.stop()
            raise
        #: The processes, which stay in this list when they have ended. Programs know them under this name.
        self._workers = [w.process for w in self._running]
        self.restart(indices)

    @property
    def is_running(self) -> bool:
        """Whether there are worker processes."""
        return bool(self._running)

    def restart(self, indices: Iterator[Any]) -> None:
        """Begins again with other indices; streams begin anew."""
        self._fg_indices, self._epoch = indices, self._epoch + 1
        #: The worker of each task that is not answered or not passed on.
        self._tasks: dict[int, int] = {}
        self._arrived: dict[int, tuple[int, bytes]] = {}
        self._sent, self._turn = 0, 0
        self._active = [True] * len(self._running)
        for _ in range(self._options.prefetch * len(self._running)):
            self._assign()

    def stop(self, patience: float = PATIENCE) -> None:
        """Ends the workers. One that does not end by itself within ``patience`` seconds is terminated."""
        if patience != PATIENCE:
            _stop(self._running, os.getpid(), patience)
        self._finalizer()

    def _assign(self) -> None:
        """Sends the next index to the next worker whose stream goes on."""
        if not any(self._active):
            return
        # The sampler may raise, and is asked only if there is a worker for its index.
        index = next(self._fg_indices, ENDED)
        if index is ENDED:
            return
        while not self._active[self._turn]:
            self._turn = (self._turn + 1) % len(self._active)
        number, task = self._turn, self._sent
        self._tasks[task] = number
        self._sent, self._turn = task + 1, (number + 1) % len(self._active)
        try:
            self._running[number].link.send((self._epoch, task, index))
        except OSError:
            self._give_up([self._running[number]])

    def _give_up(self, dead: list[_Worker]) -> None:
        """Ends all workers and raises because some have died."""
        pids, texts = ", ".join(str(w.process.pid) for w in dead), self._options.texts
        how = dead[0].how_it_ended()
        is_killed = (dead[0].process.exitcode or 0) < 0
        self._fail(((texts.killed if is_killed else None) or texts.died).format(pid=pids, how=how))

    def _fail(self, text: str) -> None:
        self._error = text
        self.stop(0.0)
        raise RuntimeError(text)

    def _receive(self) -> None:
        """Waits for answers and keeps them."""
        links = {w.link: w for w in self._running}
        ends = {w.process.sentinel: w for w in self._running}
        ready = connection.wait([*links, *ends], self._options.timeout or None)
        if not ready:
            self._fail(self._options.texts.timed_out.format(seconds=self._options.timeout))
        # What a worker sent before it died is read first.
        answering = [w for link, w in links.items() if link in ready]
        for w in answering:
            try:
                epoch, task, kind = w.link.recv()
                content = w.link.recv_bytes()
            except (EOFError, OSError):
                self._give_up([w])
            if epoch == self._epoch:
                self._arrived[task] = kind, content
        if not answering:
            self._give_up([w for end, w in ends.items() if end in ready])

    def __next__(self) -> Any:
        if self._error:
            raise RuntimeError(self._error)
        while self._tasks:
            task = next(iter(self._tasks if self._options.in_order else self._arrived), None)
            if task is None or task not in self._arrived:
                try:
                    self._receive()
                except BaseException:
                    # An interrupted message cannot be read any further.
                    self._error = self._error or "the loader was interrupted"
                    self.stop(0.0)
                    raise
                continue
            number, (kind, content) = self._tasks.pop(task), self._arrived.pop(task)
            if kind == STREAM_ENDED:
                self._active[number] = False
            self._assign()
            if kind == FAILED:
                raise pickle.loads(content).error(number, self._options.texts)
            if kind == BATCH:
                return pickle.loads(content)
        if not self._options.stay:
            self.stop()
        raise StopIteration


def context(given: Any) -> Any:
    """A context of ``multiprocessing``: the one given or named, or the one that the program uses.

    A forked worker is safe to compute in: the core makes threads of its own in each process.
    """
    return multiprocessing.get_context(given) if given is None or isinstance(given, str) else given
