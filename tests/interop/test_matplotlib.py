"""matplotlib plots tensors, tracked or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from tests.dialects import ALL, Dialect

mpl.use("Agg")
from matplotlib import pyplot as plt

every = pytest.mark.parametrize("d", ALL, ids=repr)
tracked = pytest.mark.parametrize("track", [False, True], ids=["plain", "tracked"])
T = np.linspace(0.0, 1.0, 5)


@pytest.fixture
def axes() -> Iterator[Any]:
    figure, axes = plt.subplots()
    yield axes
    figure.canvas.draw()
    plt.close(figure)


@every
@tracked
def test_plot(d: Dialect, track: bool, axes: Any) -> None:
    x = d.tensor(T, track)
    (line,) = axes.plot(x, d.module.sin(x), label="sin")
    np.testing.assert_array_equal(line.get_xdata(), T)
    np.testing.assert_allclose(line.get_ydata(), np.sin(T), rtol=1e-12)
    (line,) = axes.plot(x * 2)
    np.testing.assert_array_equal(line.get_ydata(), T * 2)
    columns = axes.plot(x, d.module.stack([x, x + 1], 1))
    np.testing.assert_array_equal(columns[1].get_ydata(), T + 1)
    axes.axhline(x[2])
    axes.set_xlim(x[0], x[-1])
    assert axes.get_xlim() == (0, 1)


@every
@tracked
def test_scatter(d: Dialect, track: bool, axes: Any) -> None:
    x = d.tensor(T, track)
    points = axes.scatter(x, x * x, c=x, s=x * 10 + 1)
    np.testing.assert_allclose(points.get_offsets(), np.stack([T, T * T], 1))
    np.testing.assert_array_equal(points.get_array(), T)


@every
@tracked
def test_areas(d: Dialect, track: bool, axes: Any) -> None:
    x = d.tensor(T, track)
    area = axes.fill_between(x, x - 1, x + 1, where=T > 0.1)
    corners = area.get_paths()[0].vertices
    assert corners[:, 0].min() == 0.25
    assert corners[:, 1].max() == 2
    axes.errorbar(x, x, yerr=x + 1)
    axes.bar(x, x)
    axes.vlines(x, 0.0, x)


@every
@tracked
def test_histograms_and_images(d: Dialect, track: bool, axes: Any) -> None:
    x = d.tensor(T, track)
    counts, edges, _ = axes.hist(x, bins=5)
    np.testing.assert_array_equal(counts, np.ones(5))
    np.testing.assert_allclose(edges[[0, -1]], [0, 1])
    image = axes.imshow(x.reshape([1, 5]))
    np.testing.assert_array_equal(image.get_array(), T[None])
    axes.contour(d.tensor(np.outer(T, T), track))
