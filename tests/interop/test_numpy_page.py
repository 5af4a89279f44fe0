"""The page on NumPy says what happens, for every function that NumPy has."""

import ferrograd as fg
import numpy as np
import pytest
from ferrograd._numpy import protocol, table
from ferrograd._numpy.functions import SPECIAL

from tests.interop.numpy_page import HEADINGS, PAGE, PLAIN, RAISES, TRACKS, VERSION, border, functions, outcomes, page

#: Functions of dates, of bits and of indices, which take no array of floats.
LEFT_OUT = {
    "busday_count",
    "busday_offset",
    "datetime_as_string",
    "isnat",
    "ravel_multi_index",
    "unpackbits",
}


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return outcomes()


def test_the_page_is_what_happens(found: dict[str, str]) -> None:
    written = PAGE.read_text()
    if f"NumPy\n{VERSION}." in written:
        assert written == page(), "write it again with: python -m tests.interop.numpy_page"
    # Another version of NumPy has other functions, but the same ones do the same.
    for name, what in found.items():
        if f"`{name}`" in written:
            section = written.partition(f"## {HEADINGS[what]}")[2].partition("\n## ")[0]
            assert f"`{name}`" in section, (name, what)


def test_every_function_of_numpy_is_on_the_page_or_takes_no_array_of_floats(found: dict[str, str]) -> None:
    assert set(found.values()) == set(HEADINGS)
    assert set(functions()) - set(found) == LEFT_OUT
    for name, f in functions().items():
        if isinstance(f, np.ufunc) or name not in found:
            continue
        known = protocol._name(f)
        if known in table.NO_DERIVATIVE:
            assert found[name] == PLAIN, name
        elif known in table.FUNCTIONS or f in SPECIAL:
            assert found[name] != RAISES, name
        elif name not in ("is_busday", "packbits", "unravel_index"):
            assert found[name] == RAISES, name


def test_the_outcomes_are_told_apart() -> None:
    x = fg.tensor([1.0], requires_grad=True) * 1.0
    assert border(lambda x: x * 2, x) == TRACKS
    assert border(lambda x: x.detach(), x) == "detaches"
    assert border(np.from_dlpack, x) == RAISES
    with pytest.raises(ZeroDivisionError):
        border(lambda x: 1 / 0, x)
