"""Jacobians and Hessians against closed forms and central differences, in both modes and in chunks."""

from __future__ import annotations

import sys
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.func import hessian, jacfwd, jacobian, jacrev

from tests.func.tools import differences, same, sample

FUNCTIONS = {
    "vector": (lambda x: fg.tanh(fg.cumsum(x) * x), (4,)),
    "matrix to scalar": (lambda x: fg.linalg.det(x), (3, 3)),
    "scalar to matrix": (lambda x: fg.outer(fg.stack([x, x * x]), fg.stack([x, fg.exp(x)])), ()),
    "matrix to vector": (lambda x: fg.softmax(x.sum(axis=0) * x[0], axis=-1), (2, 3)),
    "one element": (lambda x: x.reshape([1, 1]) ** 3, (1,)),
    "nothing in": (lambda x: x.sum() + fg.ones(2, dtype="float64"), (0,)),
    "nothing out": (lambda x: x[:0], (3,)),
    "permuted": (lambda x: fg.permute_dims(fg.sin(x), (2, 0, 1)), (2, 1, 3)),
}
every = pytest.mark.parametrize("name", FUNCTIONS)


@every
@pytest.mark.parametrize("of", [jacrev, jacfwd, jacobian])
@pytest.mark.parametrize("chunk", [None, 1, 2])
def test_jacobian(name: str, of: Any, chunk: int | None) -> None:
    f, shape = FUNCTIONS[name]
    x = sample(*shape)
    same(of(f, chunk_size=chunk)(x), differences(f, x), 1e-7)


@every
def test_hessian(name: str) -> None:
    f, shape = FUNCTIONS[name]
    x = sample(*shape)
    want = differences(jacrev(f), x)
    same(hessian(f)(x), want, 1e-6)
    same(hessian(f, chunk_size=2)(x), want, 1e-6)
    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev):
            same(outer(inner(f))(x), want, 1e-6)


def test_modes_are_chosen_by_shape() -> None:
    ran: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        ran.append((done, total))

    x = sample(3)
    jacobian(lambda x: fg.outer(x, x), progress=note, chunk_size=2)(x)
    assert ran == [(2, 3), (3, 3)]
    ran.clear()
    jacobian(lambda x: x[:2], progress=note)(x)
    assert ran == [(2, 2)]
    ran.clear()
    jacobian(lambda x: fg.outer(x, x), mode="reverse", progress=note)(x)
    assert ran == [(9, 9)]


def test_progress_by_tqdm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Without an interval tqdm starts no thread of its own.
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)
    jacrev(lambda x: x * x, chunk_size=2, progress=True)(sample(3))
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.startswith("jacrev: 100%")
    assert "3/3" in last


def test_progress_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ModuleNotFoundError, match="pass a function"):
        jacrev(lambda x: x * x, progress=True)(sample(3))


def test_structures_out_and_in() -> None:
    p = {"a": sample(2), "b": sample(3, seed=1)}

    def f(p: Any) -> Any:
        return [fg.outer(p["a"], p["b"]), p["a"].sum()]

    for of in (jacrev, jacfwd, jacobian):
        j = of(f)(p)
        assert [sorted(part) for part in j] == [["a", "b"], ["a", "b"]]
        same(j[0]["a"], np.einsum("ik,j->ijk", np.eye(2), p["b"]))
        same(j[0]["b"], np.einsum("i,jk->ijk", p["a"], np.eye(3)))
        same(j[1]["a"], np.ones(2))
        same(j[1]["b"], np.zeros(3))
    h = hessian(lambda p: f(p)[0].sum())(p)
    same(h["a"]["b"], np.ones((2, 3)))
    same(h["a"]["a"], np.zeros((2, 2)))


def test_two_arguments_and_aux() -> None:
    x, y = sample(2), sample(3, seed=1)
    for of in (jacrev, jacfwd):
        (jx, jy), aux = of(lambda x, y: (fg.outer(x, y), x), argnums=(0, 1), has_aux=True)(x, y)
        same(jx, np.einsum("ik,j->ijk", np.eye(2), y))
        same(jy, np.einsum("i,jk->ijk", x, np.eye(3)))
        same(aux, x)


@pytest.mark.parametrize("of", [jacrev, jacfwd, hessian])
def test_a_closed_over_tensor_keeps_its_gradient(of: Any) -> None:
    w, x = sample(3, track=True), sample(3, seed=1)
    total = (of(lambda x: w * x**3)(x) ** 2).sum()
    got = fg.grad(total, w)
    slope = {jacrev: 3 * np.asarray(x) ** 2, jacfwd: 3 * np.asarray(x) ** 2, hessian: 6 * np.asarray(x)}[of]
    same(got, 2 * np.asarray(w) * slope**2)


def test_float32_stays_float32() -> None:
    x = fg.tensor([1.0, 2.0])
    for of in (jacrev, jacfwd, hessian):
        assert of(lambda x: x**3)(x).dtype == fg.float32


def test_integer_outputs_are_constant() -> None:
    assert np.array_equal(jacrev(lambda x: (x > 0).astype("int64"))(sample(3)), np.zeros((3, 3)))


@pytest.mark.parametrize("of", [jacobian, jacrev, jacfwd])
def test_auxiliary_results(of: Any) -> None:
    x = sample(3)
    j, aux = of(lambda x: (x**2, {"x": x}), has_aux=True)(x)
    same(j, np.diag(2 * np.asarray(x)))
    same(aux["x"], x)
    assert not aux["x"].requires_grad
    h, aux = hessian(lambda x: ((x**3).sum(), "aux"), has_aux=True)(x)
    same(h, np.diag(6 * np.asarray(x)))
    assert aux == "aux"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_unit_vectors_only_scale(dtype: str) -> None:
    # The seeds of a Jacobian are the rows of the identity, and products with a diagonal matrix only scale.
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(40, 48)).astype(dtype), rng.normal(size=(48, 40)).astype(dtype)
    x = fg.tensor(rng.normal(size=48).astype(dtype))
    slope = 1 - np.tanh(w @ np.asarray(x)) ** 2
    for of in (jacrev, jacfwd):
        same(of(lambda x: fg.tanh(fg.tensor(w) @ x))(x), slope[:, None] * w, 1e-5)
        same(of(lambda x: fg.tanh(x @ fg.tensor(v)))(x), (1 - np.tanh(np.asarray(x) @ v) ** 2)[:, None] * v.T, 1e-5)
        same(of(lambda x: fg.tensor(v) @ fg.tanh(fg.tensor(w) @ x))(x), v @ (slope[:, None] * w), 1e-5)


def test_wrong_arguments_raise() -> None:
    x = sample(3)
    for bad in (0, -1, 1.5):
        with pytest.raises(fg.ArgumentError, match="chunk_size must be None or a positive int"):
            jacrev(lambda x: x, chunk_size=bad)(x)
    with pytest.raises(fg.ArgumentError, match="mode must be"):
        jacobian(lambda x: x, mode="sideways")
