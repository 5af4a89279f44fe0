"""``repr`` of tensors: NumPy's print options in the native namespace, and the formats of Paddle and torch."""

import base64
import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.paddle
import ferrograd.torch
import matplotlib.pyplot as plt
import numpy as np
import pytest
from ferrograd import _core, func
from ferrograd._kit import html
from ferrograd._tensor import repr as _repr
from ferrograd.func import vmap

from tests.project.browser import chromium

PADDLE, TORCH = 1, 2


def array_of(dtype: Any, values: Any) -> Any:
    return np.array(values, dtype)


def made(values: Any, dialect: int = 0, track: bool = False) -> Any:
    return _core.make(values, None, track, dialect)


def test_native_repr() -> None:
    assert repr(made([[1.0, 1.0]], track=True)) == "Tensor([[1., 1.]], dtype=float32, requires_grad=True)"
    assert repr(made(3)) == "Tensor(3, dtype=int64)"
    assert repr(made([True, False])) == "Tensor([ True, False], dtype=bool)"
    assert repr(made(np.zeros((0, 3)))) == "Tensor([], shape=(0, 3), dtype=float64)"
    assert repr(made([])) == "Tensor([], dtype=float32)"
    assert str(made([0.5])) == repr(made([0.5]))


def test_native_follows_the_print_options() -> None:
    t = made(np.array([1 / 3, 2 / 3]))
    with np.printoptions(precision=2):
        assert repr(t) == "Tensor([0.33, 0.67], dtype=float64)"
    with np.printoptions(threshold=3, edgeitems=1):
        assert repr(made(np.arange(9))) == "Tensor([0, ..., 8], shape=(9,), dtype=int64)"


def test_results_and_values_that_are_not_finite() -> None:
    x = made([1.0, float("nan"), float("inf")], track=True)
    assert repr(x * 2) == "Tensor([ 2., nan, inf], dtype=float32, requires_grad=True)"


@pytest.mark.parametrize("dialect", [0, PADDLE, TORCH])
def test_only_the_edges_of_a_large_array_are_read(dialect: int) -> None:
    """A broadcast array of a billion elements: reading all of them would take minutes."""
    huge = np.broadcast_to(np.float32(2.5), (10**6, 1000))
    text = _repr.show(huge, "float32", huge.shape, dialect, "Tensor", False, None, [])
    assert "2.5" in text
    assert len(text) < 1000


def test_under_vmap() -> None:
    """Inside ``vmap`` a tensor shows the whole batch and cannot be converted to values."""
    seen = []

    def f(x: Any) -> Any:
        seen.append(repr(x))
        for wrong in (float, bool, np.asarray, lambda x: x.tolist(), memoryview, lambda x: x.numpy(), fg.tensor):
            with pytest.raises((ValueError, BufferError), match="vmap"):
                wrong(x)
        return x * 2

    vmap(f)(made([1.0, 2.0]))
    assert seen == ["Tensor([1., 2.], dtype=float32, batch_shape=(2,))"]


PADDLE_TEXTS = [
    (array_of(np.float32, [[12, 18], [17, 25]]), "[[12., 18.],\n        [17., 25.]]"),
    (array_of(np.float32, [1.5, 2]), "[1.50000000, 2.        ]"),
    (np.float32(7), "7."),
    (np.float32(0.1), "0.10000000"),
    (np.array([True, False]), "[True , False]"),
    (np.arange(2000, dtype=np.float32), "[0.   , 1.   , 2.   , ..., 1997., 1998., 1999.]"),
    (array_of(np.float32, [-1, 0.5, 10]), "[-1.       , 0.50000000,  10.      ]"),
    (array_of(np.float32, [np.nan, np.inf, -np.inf]), "[ nan ,  inf., -inf.]"),
    (array_of(np.int64, [[1, -2]]), "[[ 1, -2]]"),
    (np.zeros((0, 3), np.float32), "[]"),
    (
        np.arange(8, dtype=np.float64).reshape(2, 2, 2),
        "[[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]]",
    ),
    (array_of(np.float64, [1e10, 1e-9]), "[10000000000., 0.00000000  ]"),
]


@pytest.mark.parametrize(("a", "body"), PADDLE_TEXTS, ids=lambda p: str(p)[:20])
def test_paddle_repr(a: np.ndarray, body: str) -> None:
    head = f"Tensor(shape={list(np.shape(a))}, dtype={a.dtype}, place=Place(cpu), stop_gradient=True,\n       "
    assert repr(made(a, PADDLE)) == head + body + ")"


def test_paddle_tracked() -> None:
    text = "Tensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [2.])"
    assert repr(made([2.0], PADDLE, track=True)) == text


TORCH_TEXTS = [
    (array_of(np.float32, [1, 2]), "tensor([1., 2.])"),
    (array_of(np.float32, [1, 2.5]), "tensor([1.0000, 2.5000])"),
    (np.float32(7), "tensor(7.)"),
    (array_of(np.float64, [1]), "tensor([1.], dtype=torch.float64)"),
    (array_of(np.int64, [1, -20]), "tensor([  1, -20])"),
    (array_of(np.int32, [1]), "tensor([1], dtype=torch.int32)"),
    (np.array([True, False]), "tensor([ True, False])"),
    (array_of(np.float32, [1e-5, 1]), "tensor([1.0000e-05, 1.0000e+00])"),
    (array_of(np.float32, [np.nan, np.inf, 2]), "tensor([nan, inf, 2.])"),
    (np.zeros(0, np.float32), "tensor([])"),
    (np.zeros((2, 0), np.int64), "tensor([], size=(2, 0), dtype=torch.int64)"),
    (array_of(np.float32, [[1, 2], [3, 4]]), "tensor([[1., 2.],\n        [3., 4.]])"),
    (
        np.arange(2000, dtype=np.float32),
        "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])",
    ),
]


@pytest.mark.parametrize(("a", "text"), TORCH_TEXTS, ids=lambda p: str(p)[:20])
def test_torch_repr(a: np.ndarray, text: str) -> None:
    assert repr(made(a, TORCH)) == text


def test_torch_omits_the_default_dtype() -> None:
    fg.set_default_dtype(fg.float64)
    try:
        assert repr(made([1.0], TORCH)) == "tensor([1.])"
        assert repr(made(array_of(np.float32, [1]), TORCH)) == "tensor([1.], dtype=torch.float32)"
        assert fg.__array_namespace_info__().default_dtypes()["real floating"] == np.float64
    finally:
        fg.set_default_dtype(fg.float32)


def test_torch_tracked() -> None:
    x = made([1.0, 2.0], TORCH, track=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"


def test_format() -> None:
    assert f"{made(3.14159):.3f}" == "3.142"
    assert f"{made([3.14159]):.3f}" == "3.142"
    assert f"{made(2)}" == "2"
    assert f"{made([1.0])}" == "Tensor([1.], dtype=float32)"
    with pytest.raises(TypeError, match=r"\[2\]"):
        f"{made([1.0, 2.0]):.3f}"


def test_rich_and_html() -> None:
    x = made([[1.0, float("nan")]], track=True)
    facts = dict((x * 2).__rich_repr__())
    assert facts == {"shape": (1, 2), "dtype": "float32", "requires_grad": True, "op": "multiply"}
    page = x._repr_html_()
    assert "float32" in page
    assert "not finite" in page
    assert len(made(np.zeros((500, 500)))._repr_html_()) < 2000


class Cells(HTMLParser):
    """The cells of the tables of a page, and the data of its pictures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.pictures: list[bytes] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag in ("td", "th")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "img":
            self.pictures.append(base64.b64decode((dict(attrs)["src"] or "").split(",")[1]))

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = False


def test_html_of_a_matrix() -> None:
    """Numbers stand in aligned columns with the edges of a large matrix; colours say their signs."""
    page = Cells(made(np.arange(400.0).reshape(20, 20) - 200)._repr_html_())
    assert len(page.rows) == 9
    assert page.rows[0] == ["-200.", "-199.", "-198.", "-197.", "…", "-184.", "-183.", "-182.", "-181."]
    assert page.rows[4] == ["⋮"] * 9
    (picture,) = page.pictures
    pixels = plt.imread(io.BytesIO(picture), "png")
    assert pixels.shape == (20, 20, 3)
    assert pixels[0, 0, 2] > pixels[0, 0, 0]  # below zero: blue
    assert pixels[-1, -1, 0] > pixels[-1, -1, 2]  # above zero: red
    # A picture of a large matrix shows means of blocks, and nothing that is not finite is hidden.
    values = np.ones((100, 70))
    values[0, 0] = np.nan
    (picture,) = Cells(made(values)._repr_html_()).pictures
    pixels = plt.imread(io.BytesIO(picture), "png")
    assert pixels.shape == (32, 32, 3)
    assert np.ptp(pixels[0, 0]) == 0 < np.ptp(pixels[1, 1])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (0, 4), (1, 9), (9, 1), (2, 2), (2, 3, 4), (0, 2, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64"])
def test_html_of_every_shape(shape: tuple[int, ...], dtype: str) -> None:
    assert dtype in made(np.zeros(shape, dtype))._repr_html_()


def test_html_of_other_objects() -> None:
    torch: Any = fg.torch
    paddle: Any = fg.paddle
    x = fg.tensor(np.linspace(1, 2, 40), requires_grad=True)
    with fg.profile() as profile:
        fg.backward(fg.sum(fg.sin(x)))
    rows = {row[0]: row[1:] for row in Cells(profile._repr_html_()).rows}
    assert rows["sin"][0] == rows["sin"][2] == "1"
    assert rows["op"] == ["calls", "ms forward", "calls back", "ms backward", "MB"]

    matrix = func.sparse_jacobian(lambda x: x[1:] * x[:-1], x.detach())
    text = matrix._repr_html_()
    assert "elements <b>78</b>" in text
    assert len(Cells(text).pictures) == 1

    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LazyLinear(2))
    assert [row[0].strip() for row in Cells(model._repr_html_()).rows] == ["name", "model", "0", "1"]
    assert Cells(model._repr_html_()).rows[2][2:] == ["(4, 3), (4,)", "16"]
    adam = torch.optim.Adam([torch.ones(5, requires_grad=True)], lr=0.25)
    (row,) = [dict(zip(*Cells(adam._repr_html_()).rows, strict=True))]
    assert (row["tensors"], row["numbers"], row["lr"]) == ("1", "5", "0.25")
    layer = paddle.nn.Linear(2, 3)
    sgd = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    row = dict(zip(*Cells(sgd._repr_html_()).rows, strict=True))
    assert (row["tensors"], row["numbers"], row["learning_rate"]) == ("2", "9", "0.5")
    assert Cells(layer._repr_html_()).rows[1][2:] == ["(2, 3), (3,)", "9"]


RANKED = html.ranking(["op", "calls", "ms"], [["sin", 1, "9.000"], ["<add>", 3, "0.900"], ["exp", 2, "0.000"]])


def test_a_ranking_shades_large_numbers() -> None:
    assert Cells(RANKED).rows == [
        ["op", "calls", "ms"],
        ["sin", "1", "9.000"],
        ["<add>", "3", "0.900"],
        ["exp", "2", "0.000"],
    ]
    shades = [float(part.partition(")")[0]) for part in RANKED.split("178,24,43,")[1:]]
    assert shades == [0.17, 0.5, 0.5, 0.05, 0.33, 0.0]
    assert Cells(html.ranking(["op", "calls"], [])).rows == [["op", "calls"]]


def test_a_click_on_a_head_sorts_a_ranking(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(RANKED, "utf-8")
    with chromium() as browser:
        window = browser.new_page()
        window.goto((tmp_path / "page.html").as_uri())

        def names() -> list[str]:
            return list(window.locator("tbody td:first-child").all_inner_texts())

        for head, order in [
            ("calls", ["<add>", "exp", "sin"]),
            ("calls", ["sin", "exp", "<add>"]),
            ("ms", ["sin", "<add>", "exp"]),
            ("op", ["<add>", "exp", "sin"]),
        ]:
            window.click(f"th >> text={head}")
            assert names() == order


@pytest.mark.parametrize("module", [fg, fg.torch, fg.paddle])
@pytest.mark.parametrize("shape", [(2**20, 2**20), (2**16, 2**16, 2**16)])
def test_a_broadcast_beyond_all_memory_has_a_text(module: Any, shape: tuple[int, ...]) -> None:
    for one in (module.ones([1]), module.ones([1, 1])):
        x = module.broadcast_to(one, shape)
        assert repr(x).count("1.") >= 6 ** len(shape)
        assert "1." in x._repr_html_()
