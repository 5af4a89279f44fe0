"""``einsum``: random formulas against NumPy, the forms of a call, and errors."""

import string
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st


@st.composite
def calls(draw: Any) -> tuple[str, list[np.ndarray]]:
    """A formula that NumPy accepts, with its operands."""
    letters = draw(st.lists(st.sampled_from(string.ascii_letters), min_size=1, max_size=5, unique=True))
    sizes = {c: draw(st.integers(0 if draw(st.booleans()) else 1, 3)) for c in letters}
    dots = draw(st.lists(st.integers(1, 2), max_size=2)) if draw(st.booleans()) else None
    generator = np.random.default_rng(draw(st.integers(0, 9)))
    parts, operands = [], []
    for _ in range(draw(st.integers(1, 4))):
        part = draw(st.lists(st.sampled_from(letters), max_size=4))
        shape = [sizes[c] if part.count(c) > 1 or draw(st.integers(0, 4)) else 1 for c in part]
        if dots is not None and draw(st.booleans()):
            at = draw(st.integers(0, len(part)))
            own = dots[draw(st.integers(0, len(dots))) :]
            part.insert(at, "...")
            shape[at:at] = own
        parts.append("".join(part))
        operands.append(generator.integers(-3, 4, size=shape).astype(np.float64))
    text = draw(st.sampled_from([",", " , "])).join(parts)
    if draw(st.booleans()):
        present = [c for c in letters if c in text]
        out = draw(st.permutations(present))[: draw(st.integers(0, len(present)))]
        if "..." in text:
            out.insert(draw(st.integers(0, len(out))), "...")
        text += "->" + "".join(out)
    return text, operands


@given(calls())
@settings(max_examples=500, deadline=None)
def test_random_formulas_against_numpy(call: tuple[str, list[np.ndarray]]) -> None:
    text, operands = call
    try:
        want = np.einsum(text, *operands)
    except ValueError:
        return
    got = np.asarray(fg.einsum(text, *map(fg.tensor, operands)))
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def test_operands_come_one_by_one_or_as_a_list() -> None:
    x, y = np.ones((2, 3)), np.ones((3, 4))
    for result in (fg.einsum("ij,jk", x, y), fg.einsum("ij,jk", [x, y]), fg.einsum("ij,jk", (x, y))):
        assert result.shape == (2, 4)
    assert fg.einsum("ij->i", x).shape == (2,)
    assert fg.einsum("ij->i", operands=[x]).shape == (2,)  # type: ignore[call-arg]


def test_a_chain_is_multiplied_in_the_cheap_order() -> None:
    x, v = np.ones((300, 300)), np.ones(300)
    got = fg.einsum("ab,bc,cd,de,e->a", x, x, x, x, v)
    np.testing.assert_array_equal(np.asarray(got), np.full(300, 300.0**4))


def test_integers_stay_exact_and_keep_their_dtype() -> None:
    x = np.array([[2**53 + 1, 1]])
    np.testing.assert_array_equal(np.asarray(fg.einsum("ij,kj->ik", x, np.array([[1, 2]]))), [[2**53 + 3]])
    assert fg.einsum("ij->", np.ones((2, 2), np.int8)).dtype == np.int8


def test_the_gradient_of_a_diagonal_is_zero_beside_it() -> None:
    x = fg.tensor(np.array([[1.0, np.nan], [np.inf, 2.0]]))
    assert fg.einsum("ii", x).item() == 3.0


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk", [(2, 3)], "2 operands"),
        ("ij", [(2,)], "names 2 axes"),
        ("ij->ik", [(2, 3)], "no operand has the axis 'k'"),
        ("ij->ii", [(2, 3)], "twice"),
        ("ij,jk", [(2, 3), (4, 5)], "sizes 3 and 4"),
        ("ii", [(2, 3)], "repeated label"),
        ("i1", [(2, 3)], "not a letter"),
        ("i...j...", [(2,) * 5], "not a letter"),
        ("i->j->k", [(2,)], "not a letter"),
        ("", [(2,)], "names 0 axes"),
    ],
)
def test_wrong_formulas_raise(text: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(fg._core.ArgumentError, match=message):
        fg.einsum(text, *(np.ones(s) for s in shapes))


def test_truth_values_are_refused() -> None:
    with pytest.raises(fg._core.DtypeError):
        fg.einsum("i,i", np.array([True]), np.array([False]))
    with pytest.raises(fg._core.DtypeError):
        fg.matmul(np.array([True]), np.array([False]))
