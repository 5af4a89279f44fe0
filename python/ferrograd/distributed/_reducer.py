"""Gradients of a model that are averaged over processes while the backward pass goes on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import is_grad_enabled
from ferrograd._core import FerrogradError, Tensor
from ferrograd.distributed import _operations as ops
from ferrograd.distributed._communicator import Communicator
from ferrograd.distributed._transport import Array, Request

Named = Sequence[tuple[str, Tensor]]


def copy_from_root(comm: Communicator, tensors: Iterable[Tensor], root: int = 0) -> None:
    """Writes the values of process ``root`` into the tensors of all, in one communication for each dtype."""
    by_dtype: dict[str, list[Tensor]] = {}
    for x in tensors:
        by_dtype.setdefault(x.dtype.name, []).append(x)
    for dtype, some in by_dtype.items():
        comm._agree(f"copy_from_root({root}, {dtype}, {[list(x.shape) for x in some]})")
        flat = comm._transport.broadcast(np.concatenate([ops.array_of(x).reshape(-1) for x in some]), root)
        if comm.rank != root:
            for x, values in zip(some, _pieces(flat, some), strict=True):
                x.detach().copy_(ops.tensor_of(values, x))


def check_same_parameters(comm: Communicator, named: Named) -> None:
    """Raises on all processes unless they have parameters of the same names, shapes and dtypes."""
    kinds = comm.allgather_object([(name, list(x.shape), x.dtype.name) for name, x in named])
    for rank, other in enumerate(kinds):
        if other != kinds[0]:
            pairs = zip(kinds[0], other, strict=False)
            first, second = next(((a, b) for a, b in pairs if a != b), (len(kinds[0]), len(other)))
            raise FerrogradError(f"the models of ranks 0 and {rank} differ: {first} and {second}")


def _pieces(flat: Array, like: Iterable[Tensor]) -> Iterator[Array]:
    """The parts of a flat array in the shapes of tensors."""
    at = 0
    for x in like:
        n = int(np.prod(x.shape, dtype=np.int64))
        yield flat[at : at + n].reshape(x.shape)
        at += n


class _Bucket:
    """Parameters of one dtype whose gradients travel together."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self.bytes = 0
        self.flat: Array | None = None
        self.request: Request | None = None


class Reducer:
    """Averages the gradients of parameters over processes, in buckets, from the last parameter to the first.

    The sum of a bucket starts as soon as all its gradients are there and the bucket before it has started, so the order
    is the same on all processes. When the backward pass ends, the averages are written into ``.grad``. A pass counts if
    a forward call outside of :meth:`no_sync` has come before it and no other pass has ended since.
    """

    def __init__(self, named: Named, comm: Communicator, bucket_bytes: int, find_unused: bool) -> None:
        self._made_of = named, comm, bucket_bytes, find_unused
        own = comm.split(0, comm.rank)
        assert own is not None, "each process has a color"
        # What the model communicates itself may come between the sums in any order.
        self.comm, self.find_unused, self.sync = own, find_unused, True
        self._names = [name for name, _ in named]
        self._params = [x for _, x in named]
        self._buckets = self._cut(bucket_bytes)
        self._bucket_of = {i: k for k, bucket in enumerate(self._buckets) for i in bucket.members}
        self._ready: set[int] = set()
        self._started = 0
        self._ended = self._expected = False
        #: The number of processes that averages are over.
        self.divisor = own.size
        me = weakref.ref(self)
        for i, x in enumerate(self._params):
            x.register_post_accumulate_grad_hook(_hook(me, i))

    def __reduce__(self) -> Any:
        # All processes make the copy, which has a communicator and hooks of its own.
        return Reducer, self._made_of

    def _cut(self, bucket_bytes: int) -> list[_Bucket]:
        """The buckets, in the order in which gradients become ready. The first is small, so that it starts early."""
        open_buckets: dict[str, _Bucket] = {}
        found: list[_Bucket] = []
        for i in reversed(range(len(self._params))):
            x = self._params[i]
            bucket = open_buckets.get(x.dtype.name)
            limit = min(bucket_bytes, 1 << 20) if len(found) == 1 else bucket_bytes
            if bucket is None or bucket.bytes >= limit:
                bucket = open_buckets[x.dtype.name] = _Bucket()
                found.append(bucket)
            bucket.members.append(i)
            bucket.bytes += int(np.prod(x.shape, dtype=np.int64)) * x.dtype.itemsize
        return found

    def begin(self) -> bool:
        """Whether a forward call expects a backward pass, which it does unless gradients are not recorded or averaged.

        Forgets a pass that failed.

        Raises:
            RuntimeError: the last pass has left out some parameters.
        """
        if self.comm.size > 1 and _core.is_tracing():
            # A compiled function would not come here again.
            _core.give_up_trace("a parallel module expects backward passes; compile the module inside of it")
        if not (self.sync and is_grad_enabled()):
            return False
        if self._ready and self._ended:
            missing = [self._names[i] for i in range(len(self._params)) if i not in self._ready]
            self._reset()
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. This error "
                "indicates that your module has parameters that were not used in producing loss: "
                f"{', '.join(missing[:8])}. You can enable unused parameter detection by passing the keyword argument "
                "`find_unused_parameters=True`"
            )
        self._reset()
        self._expected = True
        return True

    def _reset(self) -> None:
        self._ready.clear()
        self._started, self._expected = 0, False
        for bucket in self._buckets:
            if bucket.request is not None:
                # What a failed pass has started still writes to its array.
                bucket.request.wait()
                bucket.request = None

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which forward calls expect no backward pass, so that each process accumulates its own
        gradients.
        """
        before, self.sync = self.sync, False
        try:
            yield
        finally:
            self.sync = before

    def arrived(self, i: int) -> None:
        """The gradient of a parameter is complete."""
        if not self._expected or self.comm.size == 1:
            return
        if self._bucket_of[i] < self._started:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: {self._names[i]} has got another gradient after its "
                "first was sent. Call the model before each backward pass, or use no_sync()"
            )
        for bucket in self._buckets[: self._started]:
            assert bucket.request is not None, "it has started"
            bucket.request.test()
        self._ready.add(i)
        self._ended = False
        while self._started < len(self._buckets) and self._ready.issuperset(self._buckets[self._started].members):
            self._start()
        # A pass that fails does not get there.
        _core.queue_callback(self._end)

    def _end(self) -> None:
        """At the end of a pass, for each gradient in it."""
        if self._ended:
            return
        self._ended = True
        if self.find_unused or self._started == len(self._buckets):
            self._finish()

    def take_part(self) -> None:
        """A backward pass of the other processes, to which this one gives zeros; it keeps its gradients."""
        self._reset()
        while self._started < len(self._buckets):
            self._start(False)
        self._finish(False)

    def _start(self, gives: bool = True) -> None:
        """Starts to sum the next bucket. A gradient that is missing, or that is not given, counts as zeros."""
        bucket = self._buckets[self._started]
        parts = []
        for i in bucket.members:
            x = self._params[i]
            g = x.grad if gives else None
            parts.append(ops.array_of(ops.zeros(tuple(x.shape), x) if g is None else g).reshape(-1))
        # New memory for each pass would take as long as the copy.
        bucket.flat = np.concatenate(parts, out=bucket.flat)
        bucket.request = self.comm._transport.start_sum(bucket.flat)
        self._started += 1

    def _finish(self, takes: bool = True) -> None:
        """Waits for all sums and stores the averages, or leaves them."""
        while self._started < len(self._buckets):
            self._start()
        self.comm._agree(f"the gradients of {len(self._params)} parameters")
        # A parameter that no process has used keeps the gradient that it has.
        used = np.ones(len(self._params), np.int64)
        if self.find_unused:
            mine = np.array([i in self._ready for i in range(len(self._params))], np.int64)
            used = self.comm._transport.sum(mine)
        for bucket in self._buckets:
            assert bucket.request is not None, "it has started"
            assert bucket.flat is not None, "it has started"
            bucket.request.wait()
            if not takes:
                continue
            np.divide(bucket.flat, bucket.flat.dtype.type(self.divisor), out=bucket.flat)
            members = [self._params[i] for i in bucket.members]
            for i, x, values in zip(bucket.members, members, _pieces(bucket.flat, members), strict=True):
                if used[i]:
                    _store(x, ops.tensor_of(values, x))
        self._reset()


def _store(x: Tensor, value: Tensor) -> None:
    """Writes a gradient in place, as a backward pass does, so that views of it see it."""
    if x.grad is None or x.grad.requires_grad:
        x.grad = value
    else:
        x.grad.copy_(value)


def _hook(reducer: weakref.ref[Reducer], i: int) -> Callable[[Any], None]:
    """The hook of a parameter, which does nothing once the model is gone."""

    def hook(_: Any) -> None:
        found = reducer()
        if found is not None:
            found.arrived(i)

    return hook


__all__ = ["Named", "Reducer", "check_same_parameters", "copy_from_root"]
