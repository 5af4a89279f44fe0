"""Ops that move, repeat or cast elements."""

import itertools
from typing import Any

import numpy as np
from scipy import linalg

from tests.cases import Case, normal


def pad(x: np.ndarray, pad_width: Any, mode: str = "constant", value: float = 0) -> np.ndarray:
    if mode == "constant":
        return np.pad(x, pad_width, mode="constant", constant_values=value)
    return np.pad(x, pad_width, mode={"replicate": "edge", "circular": "wrap"}.get(mode, mode))  # type: ignore[call-overload]


def flatten(x: np.ndarray, start_axis: int = 0, stop_axis: int = -1) -> np.ndarray:
    start, stop = start_axis % x.ndim, stop_axis % x.ndim
    return x.reshape(*x.shape[:start], -1, *x.shape[stop + 1 :])


def diag_embed(x: np.ndarray, offset: int = 0, axis1: int = -2, axis2: int = -1) -> np.ndarray:
    flat = x.reshape(-1, x.shape[-1])
    made = np.stack([np.diag(row, offset) for row in flat])
    return np.moveaxis(made.reshape(*x.shape[:-1], *made.shape[-2:]), (-2, -1), (axis1, axis2))


def diagonal_scatter(x: np.ndarray, y: np.ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> np.ndarray:
    out = x.copy()
    seen = np.diagonal(out, offset, axis1, axis2)
    seen.flags.writeable = True
    seen[...] = y
    return out


def split_sizes(x: np.ndarray, sizes: list[int], axis: int = 0) -> list[np.ndarray]:
    full = [s if s >= 0 else x.shape[axis] - sum(t for t in sizes if t >= 0) for s in sizes]
    return np.split(x, np.cumsum(full)[:-1], axis)


def split_every(x: np.ndarray, length: int, axis: int = 0) -> list[np.ndarray]:
    return np.split(x, range(length, x.shape[axis], length), axis)


def unbind(x: np.ndarray, axis: int = 0) -> list[np.ndarray]:
    return list(np.moveaxis(x, axis, 0))


def as_strided(x: np.ndarray, shape: Any, strides: Any, offset: int = 0) -> np.ndarray:
    flat = x.ravel()
    places = sum(
        (
            np.arange(n).reshape([-1 if a == b else 1 for b in range(len(shape))]) * s
            for a, (n, s) in enumerate(zip(shape, strides, strict=True))
        ),
        np.full((1,) * len(shape), offset),
    )
    return np.asarray(flat[np.broadcast_to(places, shape)])


def as_strided_scatter(x: np.ndarray, y: np.ndarray, shape: Any, strides: Any, offset: int = 0) -> np.ndarray:
    flat = x.ravel().copy()
    flat[as_strided(np.arange(x.size), shape, strides, offset)] = y
    return flat.reshape(x.shape)


X = normal(2, 3, 4)
WIDTHS = ((0, 0), (2, 1), (3, 2))


def crop_and_pad(x: Any, pad_width: Any, mode: str = "constant") -> Any:
    """NumPy's padding after the elements of negative widths are cut off."""
    cut = tuple(slice(max(-a, 0), n + min(b, 0)) for n, (a, b) in zip(x.shape, pad_width, strict=True))
    return np.pad(x[cut], [(max(a, 0), max(b, 0)) for a, b in pad_width], mode=mode)  # type: ignore[call-overload]


def cartesian_prod(xs: Any) -> Any:
    return np.stack([g.ravel() for g in np.meshgrid(*xs, indexing="ij")], 1)


def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(chosen(x, r)))


CASES = [
    Case("cast", (normal(2, 3),), {"dtype": "float64"}, ref=lambda x, dtype: x.astype(dtype)),
    Case("cast", (normal(2, 3),), {"dtype": "int32"}, ref=lambda x, dtype: x.astype(dtype), order=0),
    Case("reshape", (normal(2, 6),), {"shape": (3, -1)}, ref=lambda x, shape: np.reshape(x, shape)),
    Case("reshape", (normal(2, 6).T,), {"shape": (3, 4)}, ref=lambda x, shape: np.reshape(x, shape)),
    Case("reshape_as", (normal(2, 6), normal(4, 3)), wrt=(0,), ref=lambda x, y: np.reshape(x, y.shape)),
    Case("flatten", (X,), ref=flatten),
    Case("flatten", (X,), {"start_axis": 1}, ref=flatten),
    Case("flatten", (X,), {"start_axis": -3, "stop_axis": -2}, ref=flatten),
    Case("flatten", (normal(),), ref=lambda x: x.reshape(1)),
    Case("ravel", (X,), ref=np.ravel),
    Case("unflatten", (X,), {"axis": -1, "shape": (2, -1)}, ref=lambda x, axis, shape: x.reshape(2, 3, 2, 2)),
    Case("squeeze", (normal(1, 3, 1),), ref=np.squeeze),
    Case("squeeze", (normal(1, 3, 1),), {"axis": -1}, ref=np.squeeze),
    Case("squeeze", (normal(1, 3, 1),), {"axis": (0, 2)}, ref=np.squeeze),
    Case("expand_dims", (X,), {"axis": 1}, ref=np.expand_dims),
    Case("expand_dims", (X,), {"axis": (0, -1)}, ref=np.expand_dims),
    Case("as_strided", (X,), {"shape": (2, 3), "strides": (1, 8), "offset": 3}, ref=as_strided),
    Case("as_strided", (normal(6),), {"shape": (4, 3), "strides": (1, 1)}, ref=as_strided),
    Case("as_strided", (normal(6),), {"shape": (2, 3), "strides": (0, -2), "offset": 5}, ref=as_strided),
    Case("as_strided", (normal(2, 3).T,), {"shape": (), "strides": (), "offset": 4}, ref=as_strided),
    Case("as_strided", (normal(3),), {"shape": (2, 0), "strides": (9, 9), "offset": 1}, ref=as_strided),
    Case(
        "as_strided_scatter",
        (X, normal(2, 3, seed=1)),
        {"shape": (2, 3), "strides": (12, 4), "offset": 3},
        ref=as_strided_scatter,
    ),
    Case(
        "as_strided_scatter", (normal(2, 3), normal(seed=1)), {"shape": (2,), "strides": (4,)}, ref=as_strided_scatter
    ),
    Case("permute_dims", (X,), {"axes": (2, 0, 1)}, ref=lambda x, axes: np.transpose(x, axes)),
    Case("permute_dims", (X,), {"axes": (-1, -2, -3)}, ref=lambda x, axes: np.transpose(x, axes)),
    Case("transpose", (X,), ref=np.transpose),
    Case("transpose", (X,), {"axes": (1, 2, 0)}, ref=np.transpose),
    Case("matrix_transpose", (X,), ref=lambda x: np.swapaxes(x, -1, -2)),
    Case("swapaxes", (X,), {"axis1": 0, "axis2": -1}, ref=np.swapaxes),
    Case("moveaxis", (X,), {"source": 0, "destination": -1}, ref=np.moveaxis),
    Case("moveaxis", (X,), {"source": (0, 2), "destination": (1, 0)}, ref=np.moveaxis),
    Case("expand", (normal(3, 1),), {"shape": (2, -1, 4)}, ref=lambda x, shape: np.broadcast_to(x, (2, 3, 4))),
    Case("expand", (normal(),), {"shape": (2, 0)}, ref=np.broadcast_to),
    Case("expand_as", (normal(3, 1), X[:, :, :1]), wrt=(0,), ref=lambda x, y: np.broadcast_to(x, y.shape)),
    Case("broadcast_tensors", ([normal(2, 1), normal(3), normal()],), ref=lambda xs: np.broadcast_arrays(*xs)),
    Case("tile", (normal(2, 3),), {"repeats": (2,)}, ref=lambda x, repeats: np.tile(x, repeats)),
    Case("tile", (normal(2, 3),), {"repeats": (2, 1, 3)}, ref=lambda x, repeats: np.tile(x, repeats)),
    Case("tile", (normal(2, 3),), {"repeats": (0, 2)}, ref=lambda x, repeats: np.tile(x, repeats)),
    Case("repeat_interleave", (normal(2, 3),), {"repeats": 2}, ref=np.repeat),
    Case("repeat_interleave", (normal(2, 3),), {"repeats": (2, 0, 3), "axis": 1}, ref=np.repeat),
    Case("meshgrid", ([normal(2), normal(3), normal(4)],), ref=lambda xs: np.meshgrid(*xs)),
    Case(
        "meshgrid",
        ([normal(2), normal(3)],),
        {"indexing": "ij"},
        ref=lambda xs, indexing: np.meshgrid(*xs, indexing=indexing),
    ),
    Case("diagonal", (normal(3, 4),), ref=np.diagonal),
    Case("diagonal", (X,), {"offset": -1, "axis1": 2, "axis2": 0}, ref=np.diagonal),
    Case("diagonal", (X,), {"offset": 9}, ref=np.diagonal),
    Case("trace", (normal(3, 4),), ref=np.trace),
    Case("trace", (X,), {"offset": -1, "axis1": 2, "axis2": 0}, ref=np.trace),
    Case("trace", (X,), {"offset": 9}, ref=np.trace),
    Case("diag", (normal(3),), {"k": -1}, ref=np.diag),
    Case("diag", (normal(3, 4),), {"k": 1}, ref=np.diag),
    Case("diag_embed", (X,), {"offset": 1}, ref=diag_embed),
    Case("diag_embed", (normal(2, 3),), {"axis1": 0, "axis2": 2}, ref=diag_embed),
    Case("diagflat", (normal(2, 2),), {"k": 2}, ref=np.diagflat),
    Case("tril", (X,), ref=np.tril),
    Case("tril", (X,), {"k": -1}, ref=np.tril),
    Case("triu", (X,), {"k": 2}, ref=np.triu),
    Case("triu", (normal(4, 3),), {"k": -2}, ref=np.triu),
    Case("diagonal_scatter", (X, normal(4, 2, seed=1)), ref=diagonal_scatter),
    Case("diagonal_scatter", (normal(3, 4), normal(3, seed=1)), {"offset": 1}, ref=diagonal_scatter),
    Case("concat", ([normal(2, 3), normal(2, 0), normal(2, 1)],), {"axis": 1}, ref=np.concatenate),
    Case("concat", ([normal(2, 3), normal(1, 3)],), {"axis": None}, ref=np.concatenate),
    Case("concat", ([normal(2), normal(1)],), ref=np.concatenate),
    Case("stack", ([normal(2, 3), normal(2, 3, seed=1)],), {"axis": -1}, ref=np.stack),
    Case("stack", ([normal(), normal(seed=1)],), ref=np.stack),
    Case("hstack", ([normal(2), normal(3)],), ref=np.hstack),
    Case("hstack", ([normal(2, 1), normal(2, 3)],), ref=np.hstack),
    Case("vstack", ([normal(3), normal(2, 3)],), ref=np.vstack),
    Case("dstack", ([normal(3), normal(1, 3)],), ref=np.dstack),
    Case("column_stack", ([normal(2), normal(2, 3)],), ref=np.column_stack),
    Case("split", (X,), {"sections": 3, "axis": 1}, ref=lambda x, sections, axis: np.split(x, sections, axis)),
    Case(
        "split", (X,), {"sections": [1, 3, 2, 9], "axis": 2}, ref=lambda x, sections, axis: np.split(x, sections, axis)
    ),
    Case(
        "tensor_split",
        (X,),
        {"sections": 3, "axis": 2},
        ref=lambda x, sections, axis: np.array_split(x, sections, axis),
    ),
    Case("split_sizes", (X,), {"sizes": [1, -1], "axis": -1}, ref=split_sizes),
    Case("split_every", (X,), {"length": 3, "axis": 2}, ref=split_every),
    Case("chunk", (X,), {"chunks": 3, "axis": 2}, ref=lambda x, chunks, axis: split_every(x, 2, axis)),
    Case("unbind", (X,), {"axis": 1}, ref=unbind),
    # Only one output is used: the cotangents of the others are zero.
    Case("unbind", (X,), ref=unbind, pick=lambda parts: parts[1]),
    Case(
        "split",
        (normal(4),),
        {"sections": 2},
        ref=lambda x, sections: np.split(x, sections),
        pick=lambda parts: parts[0],
    ),
    Case("meshgrid", ([normal(2), normal(3)],), ref=lambda xs: np.meshgrid(*xs), pick=lambda grid: grid[0]),
    Case("pad", (X,), {"pad_width": WIDTHS}, ref=pad),
    Case("pad", (X,), {"pad_width": 1, "value": 2.5}, ref=pad),
    Case("pad", (X,), {"pad_width": (2, 0), "value": -1}, ref=pad),
    *[Case("pad", (X,), {"pad_width": WIDTHS, "mode": m}, ref=pad) for m in ("reflect", "symmetric", "edge", "wrap")],
    *[
        Case("pad", (normal(3),), {"pad_width": (7, 8), "mode": m}, ref=pad)
        for m in ("reflect", "circular", "replicate")
    ],
    Case("flip", (X,), ref=np.flip),
    Case("flip", (X,), {"axis": (0, -1)}, ref=np.flip),
    Case("roll", (X,), {"shifts": 5}, ref=lambda x, shifts: np.roll(x, shifts)),
    Case("roll", (X,), {"shifts": (1, -2), "axis": (0, 2)}, ref=lambda x, shifts, axis: np.roll(x, shifts, axis)),
    Case("roll", (normal(0, 3),), {"shifts": 1, "axis": 0}, ref=lambda x, shifts, axis: np.roll(x, shifts, axis)),
    *[Case("rot90", (normal(2, 3),), {"k": k}, ref=np.rot90) for k in (0, 1, 2, 3, -1)],
    Case("pad", (X,), {"pad_width": ((-1, 0), (2, -1), (0, -2))}, ref=crop_and_pad),
    Case("pad", (X,), {"pad_width": ((-1, 0), (2, -1), (0, 0)), "mode": "edge"}, ref=crop_and_pad),
    Case("flipud", (X,), ref=np.flipud),
    Case("fliplr", (X,), ref=np.fliplr),
    Case("block_diag", ([normal(2, 3), normal(2, seed=1), normal(seed=2)],), ref=lambda xs: linalg.block_diag(*xs)),
    Case("cartesian_prod", ([normal(2), normal(3, seed=1)],), ref=cartesian_prod),
    Case("combinations", (normal(4),), ref=combinations),
    Case("combinations", (normal(3),), {"r": 3, "with_replacement": True}, ref=combinations),
    Case("combinations", (normal(2),), {"r": 3}, ref=lambda x, r: np.zeros((0, 3)), order=0),
    Case("sum_to_size", (X,), {"shape": (1, X.shape[2])}, ref=lambda x, shape: x.sum((0, 1)).reshape(shape)),
]
