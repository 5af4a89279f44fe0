"""``torch.nn.attention.flex_attention``: attention whose scores and masks are functions of the user's.

The functions are applied to all positions at once by ``vmap``. All scores are computed, so a mask saves no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.ops import ops
from ferrograd.torch._base.vmap import vmap as _vmap
from ferrograd.torch._tensor import Tensor

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]

_score_mod_signature = Callable[..., Tensor]
_mask_mod_signature = Callable[..., Tensor]
_DEFAULT_SPARSE_BLOCK_SIZE = 128
#: The axis that each of the indices of a position fills.
_PLACES = ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None))


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that hides nothing."""
    result: Tensor = ops.ones([], "bool")
    return result


def and_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """The function of a mask that shows what all of several show."""
    return _joined(ops.logical_and, True, mask_mods)


def or_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """The function of a mask that shows what one of several shows."""
    return _joined(ops.logical_or, False, mask_mods)


def _joined(join: Any, start: bool, mods: tuple[_mask_mod_signature, ...]) -> _mask_mod_signature:
    for mod in mods:
        _check_function(mod, "mask_mods")

    def mask_mod(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result: Any = ops.full([], start, "bool")
        for mod in mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask_mod


def _check_function(f: Any, name: str) -> None:
    if not callable(f):
        raise TypeError(f"{name}: a function is wanted, not {type(f).__name__}")


def _everywhere(f: Callable[..., Any], sizes: tuple[int, ...], scores: Tensor | None = None) -> Tensor:
    """A function of the four indices of a position, and of its score if there are scores, at all positions."""
    first = () if scores is None else (0,)
    for place in _PLACES:
        f = _vmap(f, in_dims=(*first, *place), randomness="different")
    result: Tensor = f(*([] if scores is None else [scores]), *(ops.arange(0, n, 1) for n in sizes))
    if tuple(result.shape) != sizes:
        raise ShapeError(f"the function of a position gives one number, not a tensor of shape {result.shape[4:]}")
    return result


def create_mask(
    mod_fn: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The mask of a function ``mod_fn(b, h, q_idx, kv_idx)`` at all positions: [B, H, Q_LEN, KV_LEN] of bool.

    Of a function of a score before them, which may hide a score with -inf, it is true where the score is not -inf.
    None stands for one batch or one head.

    >>> from ferrograd.torch.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 2, 2).tolist()
    [[[[True, False], [True, True]]]]
    """
    _check_function(mod_fn, "create_mask")
    _core.check_device("create_mask", device)
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if _takes_score(mod_fn):
        scores = _everywhere(mod_fn, sizes, ops.zeros(list(sizes)))
        mask: Tensor = scores != -math.inf
        return mask
    return ops.astype(_everywhere(mod_fn, sizes), "bool")


def _takes_score(f: Callable[..., Any]) -> bool:
    code = getattr(f, "__code__", None)
    return code is not None and code.co_argcount - len(getattr(f, "__defaults__", None) or ()) == 5


class BlockMask:
    """A mask for :func:`flex_attention`: the function of a position, for these sizes.

    ``shape`` is [batch, heads, queries, keys]; ``BLOCK_SIZE`` only says what :meth:`to_dense` and :meth:`sparsity`
    count. Another function may be assigned to ``mask_mod``.
    """

    def __init__(self, mask_mod: _mask_mod_signature, mask: Tensor, block_size: tuple[int, int]) -> None:
        self.mask_mod = self._made_by = mask_mod
        self.BLOCK_SIZE = block_size
        self._mask = mask

    def _at(self, sizes: tuple[int, ...]) -> Tensor:
        """The mask for scores of these sizes."""
        if self.mask_mod is not self._made_by:
            return ops.astype(_everywhere(self.mask_mod, sizes), "bool")
        wanted = [(sizes[0], 1), (sizes[1], 1), sizes[2:3], sizes[3:]]
        if any(n not in fitting for n, fitting in zip(self.shape, wanted, strict=True)):
            raise ShapeError(
                f"flex_attention: block_mask was created for the sizes {self.shape}, and the scores are {sizes}; "
                "create one for these"
            )
        return self._mask

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes: batch, heads, queries, keys."""
        return tuple(self._mask.shape)

    @property
    def seq_lengths(self) -> tuple[int, int]:
        """The numbers of queries and of keys."""
        return self.shape[2], self.shape[3]

    def numel(self) -> int:
        """The number of positions."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """For each block one if the mask shows something of it: [batch, heads, query blocks, key blocks] of int32."""
        x = ops.astype(self._mask, "int32")
        for axis, size in ((2, self.BLOCK_SIZE[0]), (3, self.BLOCK_SIZE[1])):
            length = x.shape[axis]
            ends = [slice(None)] * axis
            parts = [x[(*ends, slice(i, i + size))] for i in range(0, length, size)]
            x = ops.stack([ops.max(part, axis) for part in parts], axis)
        return x

    def sparsity(self) -> float:
        """The percentage of blocks that the mask hides entirely."""
        return 100.0 * (1.0 - float(ops.mean(ops.astype(self.to_dense(), "float64"))))

    def to(self, device: Any) -> BlockMask:
        """The mask itself, for there is one device."""
        _core.check_device("BlockMask.to", device)
        return self

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads or blocks of queries; an integer keeps its axis."""
        places = index if isinstance(index, tuple) else (index,)
        at = [slice(i, None if i == -1 else i + 1) if isinstance(i, int) else i for i in places]
        mask = self._mask[tuple(at[:2])]
        if len(at) > 2:
            size, length = self.BLOCK_SIZE[0], self.shape[2]
            blocks = ops.arange(0, -(-length // size), 1)[at[2]]
            rows = ops.reshape(blocks[:, None] * size + ops.arange(0, size, 1), [-1])
            mask = ops.index_select(mask, 2, rows[rows < length])
        return BlockMask(_moved, mask, self.BLOCK_SIZE)

    def __repr__(self) -> str:
        name = getattr(self.mask_mod, "__name__", repr(self.mask_mod))
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, mask_mod={name})"


def _moved(*_: Any) -> Any:
    raise ArgumentError("BlockMask: a part of a mask has no function of its own; assign one to mask_mod")


def create_block_mask(
    mask_mod: _mask_mod_signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The mask of a function ``mask_mod(b, h, q_idx, kv_idx)``, true where a query sees a key.

    None stands for one batch or one head, which serve all.

    >>> from ferrograd.torch.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 4, 4, BLOCK_SIZE=2).sparsity()
    25.0
    """
    _check_function(mask_mod, "create_block_mask")
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    if len(sizes) != 2 or any(n < 1 for n in sizes):
        raise ArgumentError(f"create_block_mask: BLOCK_SIZE is one or two positive integers, not {BLOCK_SIZE}")
    return BlockMask(mask_mod, create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), (sizes[0], sizes[1]))


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _score_mod_signature | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
) -> Any:
    """``softmax(score_mod(query @ key.T * scale)) @ value``, [batch, heads, queries, size].

    ``score_mod(score, b, h, q_idx, kv_idx)`` gives the new score of a position. A query that sees no key gets zeros.
    The scale is by default 1 / sqrt(size). With ``enable_gqa`` the keys and values may have fewer heads. Scores are
    float32, or float64 for float64. With ``return_lse`` the logarithms of the sums of the exponentials of the scores
    follow: [batch, heads, queries]. ``kernel_options`` change nothing.

    Raises:
        ShapeError: the sizes do not fit together or to those of ``block_mask``.
        DtypeError: the operands have several dtypes.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.nn.attention.flex_attention import flex_attention
    >>> x = torch.arange(4.0).reshape(1, 1, 2, 2)
    >>> def causal(score, b, h, q_idx, kv_idx):
    ...     return torch.where(q_idx >= kv_idx, score, -float("inf"))
    >>> torch.allclose(
    ...     flex_attention(x, x, x, score_mod=causal),
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True),
    ... )
    True
    """
    operands = {"query": query, "key": key, "value": value}
    for name, x in operands.items():
        if _arguments.tensor(x, "flex_attention", name).ndim != 4:
            raise ShapeError(f"flex_attention: {name} has the axes batch, heads, length, size, not shape {x.shape}")
    if len({x.dtype for x in operands.values()}) > 1:
        dtypes = ", ".join(str(x.dtype) for x in operands.values())
        raise DtypeError(f"flex_attention: query, key and value have one dtype, not {dtypes}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2] or key.shape[1] != value.shape[1]:
        shapes = ", ".join(str(tuple(x.shape)) for x in operands.values())
        raise ShapeError(f"flex_attention: query, key and value of shapes {shapes} do not fit together")
    heads, groups = query.shape[1], key.shape[1]
    if heads != groups:
        if not enable_gqa or groups == 0 or heads % groups:
            raise ShapeError(
                f"flex_attention: {heads} heads of queries and {groups} of keys do not fit; with enable_gqa=True those "
                "of the queries are a multiple"
            )
        key, value = (ops.repeat_interleave(x, heads // groups, 1) for x in (key, value))
    wide = "float64" if query.dtype == "float64" else "float32"
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = ops.astype(ops.matmul(query, key.mT), wide) * factor
    if score_mod is not None:
        _check_function(score_mod, "score_mod")
        scores = ops.astype(_everywhere(score_mod, tuple(scores.shape), scores), wide)
    if block_mask is not None:
        scores = ops.where(block_mask._at(tuple(scores.shape)), scores, -math.inf)
    is_hidden = ops.all(scores == -math.inf, -1, True)
    shares = ops.where(is_hidden, 0.0, ops.softmax(ops.where(is_hidden, 0.0, scores), -1))
    found = ops.matmul(ops.astype(shares, query.dtype), value)
    return (found, ops.logsumexp(scores, -1)) if return_lse else found


__dir__ = _public.names(globals())
