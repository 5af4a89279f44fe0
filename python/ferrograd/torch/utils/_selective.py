"""Selective checkpoints: a policy says of each op whether its result is kept or computed again.

The first run notes for each op which arrays its node saves: operands, results, or others. Where the second run comes to
an op whose results were kept, it hands on these arrays and results instead of computing the op.
"""

from __future__ import annotations

import enum
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._autograd.checkpoint import CheckpointError
from ferrograd._kit import tree as _tree
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.ops import OpOverload, OpOverloadPacket, aten
from ferrograd.torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What a policy says of an op."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy gets as its first argument: ``is_recompute`` says in which of the two runs it is."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


class _Kept:
    """A tensor of a result that was kept."""

    def __init__(self, value: Tensor, may_be_written: bool) -> None:
        # A tensor that may be written to is copied, so that the second run reads what the first has computed.
        self.val = value.detach().clone() if may_be_written else value.detach()
        self._is_tracked = value.requires_grad
        self._version = self.val._version

    def restored(self, function: OpOverload) -> Tensor:
        """The tensor for the second run."""
        if self.val._version != self._version:
            raise CheckpointError(
                f"checkpoint: the result of {function} was kept by a selective checkpoint and has been mutated since. "
                "Pass allow_cache_entry_mutation=True to create_selective_checkpoint_contexts, which keeps a copy"
            )
        # The tensor is no leaf, so the function may write to it.
        own = self.val.detach()
        return _core.fresh(_core.require_grad(own, True)) if self._is_tracked else own


class _Call(NamedTuple):
    """A call of an op in the first run."""

    function: OpOverload
    #: How many arrays were saved before it.
    start: int
    #: Where the arrays that it has saved are: whether in the results, and the place. None if one is in neither.
    sources: list[tuple[bool, int]] | None
    is_kept: bool


class _Cache:
    """What both runs of one checkpoint share."""

    def __init__(self, policy: Any, may_be_written: bool) -> None:
        self._policy = policy
        self.may_be_written = may_be_written
        self.storage: dict[OpOverload, list[Any]] = defaultdict(list)
        self.calls: list[_Call] = []
        self.checkpoint: Callable[[], Any] = lambda: None

    def saves(self, is_recompute: bool, function: OpOverload, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether the policy says that the result of a call is kept."""
        if not callable(self._policy):
            return function in self._policy
        said = self._policy(SelectiveCheckpointContext(is_recompute=is_recompute), function, *args, **kwargs)
        return said if isinstance(said, bool) else said in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in _tree.leaves(tree) if isinstance(x, Tensor)]


def _place(x: Tensor) -> Any:
    """What tells an array from others that are alive."""
    return x._address(), tuple(x.shape), x.stride(), x.dtype


def _sources(noted: list[Any], inputs: list[Any], outputs: list[Any]) -> list[tuple[bool, int]] | None:
    found: list[tuple[bool, int]] = []
    for place in noted:
        if place not in inputs and place not in outputs:
            return None
        found.append((False, inputs.index(place)) if place in inputs else (True, outputs.index(place)))
    return found


def _random_state() -> bytes:
    return bytes(_core.native.mersenne.streams().numpy())


class _SelectiveMode(TorchDispatchMode):
    """The context of one run."""

    def __init__(self, cache: _Cache) -> None:
        self._cache = cache
        self.storage = cache.storage

    def attach(self, checkpoint: Any) -> None:
        """Tells the context which checkpoint it belongs to."""
        self._cache.checkpoint = weakref.ref(checkpoint)


class _CachingTorchDispatchMode(_SelectiveMode):
    """The first run: keeps the results that the policy names."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, cache, checkpoint = kwargs or {}, self._cache, self._cache.checkpoint()
        if checkpoint is None or func is aten.detach.default:
            return func(*args, **kwargs)
        saves = cache.saves(False, func, args, kwargs)
        inputs = [_place(x) for x in _tensors((args, kwargs))]
        start, random = checkpoint.saved, _random_state() if saves else b""
        with checkpoint.noting(_place) as noted:
            out = func(*args, **kwargs)
        results = _tensors(out)
        sources = _sources(noted, inputs, [_place(x) for x in results])
        # The second run writes and draws as the first has done.
        writes = func.overloadpacket.__name__.endswith("_")
        is_kept = saves and sources is not None and not writes and random == _random_state()
        if is_kept:
            kept = _tree.mapped(lambda x: _Kept(x, cache.may_be_written) if isinstance(x, Tensor) else x, out)
            cache.storage[func].append(kept)
        cache.calls.append(_Call(func, start, sources, is_kept))
        return out


class _CachedTorchDispatchMode(_SelectiveMode):
    """The second run: takes the results that were kept."""

    _at = 0

    def __enter__(self) -> Any:
        self._at = 0
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, cache, checkpoint = kwargs or {}, self._cache, self._cache.checkpoint()
        if checkpoint is None or func is aten.detach.default:
            return func(*args, **kwargs)
        known = cache.calls[self._at] if self._at < len(cache.calls) else None
        self._at += 1
        if known is None or known.function is not func or known.start != checkpoint.recomputed:
            raise CheckpointError(
                f"checkpoint: {func} is called by the second run alone, or at another place than in the first run"
            )
        inputs = _tensors((args, kwargs))
        if known.sources and checkpoint.ends_with(len(known.sources)) and not any(out for out, _ in known.sources):
            # These are the last arrays, so the run ends here.
            checkpoint.supply([inputs[i] for _, i in known.sources])
        if not cache.saves(True, func, args, kwargs) or not known.is_kept:
            return func(*args, **kwargs)
        if not cache.storage[func]:
            raise CheckpointError(
                "checkpoint: Trying to backward an extra time. You are only allowed to backward once on any region "
                "computed under selective activation checkpoint"
            )
        out = cache.storage[func].pop(0)
        out = _tree.mapped(lambda x: x.restored(func) if isinstance(x, _Kept) else x, out)
        results = _tensors(out)
        checkpoint.supply([(results if is_result else inputs)[i] for is_result, i in known.sources or ()])
        return out


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[_CachingTorchDispatchMode, _CachedTorchDispatchMode]:
    """The contexts of a checkpoint that keeps the results of some ops: those in a list, or those of a policy.

    A policy is called as ``policy(context, op, *args, **kwargs)`` and returns a :class:`CheckpointPolicy`, or whether
    the result is kept. Ops are calls of functions of torch as :class:`TorchDispatchMode` sees them. An op that writes
    in place, draws random numbers, or saves other arrays than its operands and results for its gradient is computed
    again whatever the policy says.

    A kept result that is written to later is an error in the second run; with ``allow_cache_entry_mutation`` copies are
    kept instead. Gradients of one call can be computed once.

    Raises:
        CheckpointError: as said.

    >>> import functools
    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sin().sum(), x, use_reentrant=False, context_fn=contexts).backward()
    >>> x.grad[0, 0].item() == 4 * torch.tensor(2.0).cos().item()
    True
    """
    if not callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    for op in policy_fn_or_list if isinstance(policy_fn_or_list, list) else ():
        if not isinstance(op, OpOverload):
            more = (
                ". Please update the OpOverloadPacket to a specific OpOverload, such as torch.ops.aten.mm.default"
                if isinstance(op, OpOverloadPacket)
                else ""
            )
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op).__name__}{more}"
            )
    cache = _Cache(policy_fn_or_list, allow_cache_entry_mutation)
    return _CachingTorchDispatchMode(cache), _CachedTorchDispatchMode(cache)
