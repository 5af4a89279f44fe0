"""Where a tensor gives plain numbers away: silently, with a warning or not at all, and never inside a transform."""

import copy
import io
import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch

from tests.waiting import LONG

# What asks a tensor of one element for its number.
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "complex": complex,
    "item": lambda x: x.item(),
    "item at a position": lambda x: x.item(0),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "asarray": np.asarray,
    "array": np.array,
    "__array__": lambda x: x.__array__(),
    "list": lambda x: np.array([x, 1.0]),
    "float64": np.float64,
    "assignment": lambda x: np.zeros(1).__setitem__(slice(None), x),
    "dot": lambda x: np.ones(1).dot(x),
    "math": lambda x: __import__("math").sin(x),
    "save": lambda x: np.save(io.BytesIO(), x),
    "linalg": lambda x: __import__("scipy.linalg").linalg.norm(x),
}
# What copies its values.
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
}
# Decisions and text, of which no derivative is lost.
DECISIONS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "comparison": lambda x: bool(x > 0) and float(x > 0),
    "repr": repr,
    "str": str,
    "html": lambda x: x._repr_html_(),
    "format": lambda x: f"{x:.2f} {x}",
    "allclose": lambda x: np.allclose(x, 2.0),
    "argsort": lambda x: np.argsort(x.reshape(1)),
    "array2string": np.array2string,
    "range": lambda x: list(range(int(x))),
    "detach": lambda x: float(x.detach()),
    "no_grad": lambda x: fg.no_grad()(lambda x: float(x))(x),
}
TRANSFORMS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "grad": lambda f, x: func.grad(f)(x),
    "value_and_grad": lambda f, x: func.value_and_grad(f)(x),
    "vjp": lambda f, x: func.vjp(f, x),
    "jvp": lambda f, x: func.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: func.linearize(f, x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "jacobian": lambda f, x: func.jacobian(f)(x),
    "hessian": lambda f, x: func.hessian(f)(x),
    "hvp": lambda f, x: func.hvp(f, (x,), (x,)),
    "vhp": lambda f, x: func.vhp(f, (x,), (x,)),
    "taylor": lambda f, x: func.taylor(f, x, x, order=2),
    "sparse_jacobian": lambda f, x: func.sparse_jacobian(f, x.reshape(1)),
    "torch": lambda f, x: torch.func.grad(f)(torch.tensor(2.0)),
    "torch.autograd.functional": lambda f, x: torch.autograd.functional.jacobian(f, torch.tensor(2.0)),
    "paddle": lambda f, x: paddle.incubate.autograd.vjp(f, paddle.to_tensor(2.0)),
    "vmap": lambda f, x: func.vmap(func.grad(f))(fg.stack([x, x])),
}


def of(name: str, x: Any) -> Any:
    """The tensor in the shape that a conversion takes."""
    return x.reshape(1) if name in ("dot", "linalg") else x.sum()


@pytest.mark.parametrize("name", NUMBERS)
def test_a_setting_says_what_a_number_of_a_tracked_tensor_is_outside_a_transform(name: str) -> None:
    convert = NUMBERS[name]
    x = of(name, fg.tensor([2.0], requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = convert(x)
        with fg.numpy_conversion("raise"):
            np.testing.assert_equal(convert(x.detach()), want)
            with fg.no_grad():
                np.testing.assert_equal(convert(x), want)
    said = r" at .*:[0-9]+: the numbers of .*no gradient flows.*detach\(\)"
    with fg.numpy_conversion("warn"), pytest.warns(UserWarning, match=said):
        np.testing.assert_equal(convert(x), want)
    with fg.numpy_conversion("raise"), pytest.raises(fg.ConversionError, match=said):
        convert(x)
    np.testing.assert_equal(convert(x), want)


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_and_text_are_allowed_everywhere(name: str) -> None:
    decide = DECISIONS[name]
    x = fg.tensor(2.0, requires_grad=True)
    want = decide(x.detach()) if name not in ("repr", "str", "html", "format") else None
    for mode in ("warn", "raise"):
        with warnings.catch_warnings(), fg.numpy_conversion(mode):
            warnings.simplefilter("error")
            found = decide(x)
            if want is not None:
                np.testing.assert_equal(found, want)

    def f(x: Any) -> Any:
        decide(x)
        return x * x

    assert func.grad(f)(x).item() == 4.0
    assert func.grad(func.grad(f))(x).item() == 2.0


@pytest.mark.parametrize("name", [*NUMBERS, *COPIES])
def test_a_value_with_derivatives_of_a_running_transform_gives_no_numbers(name: str) -> None:
    convert = {**NUMBERS, **COPIES}[name]

    def f(x: Any) -> Any:
        convert(of(name, x * 3.0))
        return (x * x).sum()

    for mode in ("allow", "warn", "raise"):
        with fg.numpy_conversion(mode):
            with pytest.raises(fg.ConversionError, match=r"what grad differentiates.*x\.detach\(\)"):
                func.grad(f)(fg.tensor(2.0))
            with fg.no_grad(), pytest.raises(fg.ConversionError, match="what grad differentiates"):
                func.grad(f)(fg.tensor(2.0))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_refuses(name: str) -> None:
    x = fg.tensor(2.0)

    def f(x: Any) -> Any:
        y = x * x
        return (y * float(y)).sum()

    with pytest.raises((fg.ConversionError, fg.VmapError)) as error:
        TRANSFORMS[name](f, x)
    if name != "vmap":
        assert "float at " in str(error.value)
        assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(error.value)
    # A result that is no tensor has lost its derivative, too.
    with pytest.raises((fg.ConversionError, fg.VmapError)):
        TRANSFORMS[name](float, x)


def test_a_copy_of_a_tensor_keeps_the_graph_or_raises_in_a_transform() -> None:
    x = fg.tensor(2.0)
    copies: dict[str, Callable[[Any], Any]] = {
        "a list": lambda x: fg.tensor([x, x]).sum() / 2,
        "asarray": lambda x: fg.asarray(x),
        "a copy": lambda x: fg.asarray(x, copy=True),
        "another dtype": lambda x: fg.asarray(x, dtype=fg.float64, copy=True),
        "clone": lambda x: x.clone(),
    }
    for name, f in copies.items():
        assert func.grad(lambda x, f=f: f(x) * x)(x).item() == 4.0, name
        assert f(x) is x or name != "asarray"
    for make in (fg.tensor, lambda x: fg.tensor(x, dtype=fg.float64), torch.tensor):
        with pytest.raises(fg.ConversionError, match=r"^tensor at .*what grad differentiates"):
            func.grad(lambda x, make=make: make(x) * x)(x)
        assert func.grad(lambda x, make=make: make(x.detach()) * x)(x).item() == 2.0
    # Outside, and where a leaf is asked for, the copy is a constant on purpose.
    w = fg.tensor(2.0, requires_grad=True)
    assert not fg.tensor(w * w).requires_grad
    assert func.grad(lambda x: fg.tensor(x, requires_grad=True) * x)(x).item() == 2.0


def test_a_memoryview_is_refused_with_its_own_error() -> None:
    view: Any = memoryview
    with pytest.raises(BufferError, match="what grad differentiates"):
        func.grad(lambda x: x * len(view(x)))(fg.tensor(2.0))
    x = fg.tensor([2.0], requires_grad=True)
    with fg.numpy_conversion("raise"), pytest.raises(BufferError, match=r"detach\(\)"):
        view(x)
    assert view(x).readonly


def test_a_value_that_only_an_outer_transform_differentiates_is_refused_in_the_inner_one() -> None:
    def outer(x: Any) -> Any:
        return func.grad(lambda y: y * y * float(x))(fg.tensor(3.0))

    with pytest.raises(fg.ConversionError, match="what grad differentiates"):
        func.grad(outer)(fg.tensor(2.0))
    # Inside the outer transform alone, the inner one has ended.
    with pytest.raises(fg.ConversionError):
        func.grad(lambda x: float(func.grad(lambda y: y * y * x)(fg.tensor(3.0))) * x)(fg.tensor(2.0))
    constant = func.grad(lambda x: float(func.grad(lambda y: y * y)(fg.tensor(3.0))) * x)(fg.tensor(2.0))
    assert constant.item() == 6.0


def test_a_tracked_value_that_no_transform_differentiates_gives_its_numbers() -> None:
    w = fg.tensor(3.0, requires_grad=True)
    y = fg.exp(w)

    def f(x: Any) -> Any:
        return x * float(w) * y.item()

    np.testing.assert_allclose(float(func.grad(f)(fg.tensor(2.0))), 3.0 * np.exp(np.float32(3.0)), rtol=1e-6)
    copied = func.grad(lambda x: x * copy.copy(w) * pickle.loads(pickle.dumps(w)))(fg.tensor(2.0))
    assert copied.item() == 9.0


def test_a_value_that_left_its_transform_is_an_ordinary_one() -> None:
    kept: list[Any] = []

    def keeps(x: Any) -> Any:
        kept.append(x * x)
        return x / (1 - len(kept) // 2)

    func.grad(keeps)(fg.tensor(2.0))
    assert float(kept[0]) == 4.0
    with pytest.raises(TypeError):
        func.grad(lambda x: (keeps(x), None + x))(fg.tensor(2.0))
    assert float(kept[1]) == 4.0


def test_another_thread_refuses_too_and_has_a_setting_of_its_own() -> None:
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(fg.ConversionError):
            func.grad(lambda x: x * pool.submit(float, x * x).result())(fg.tensor(2.0))
        with fg.numpy_conversion("raise"):
            assert pool.submit(float, fg.tensor(2.0, requires_grad=True)).result() == 2.0


def test_transforms_of_several_threads_do_not_disturb_each_other() -> None:
    w = fg.tensor(2.0, requires_grad=True)
    inside, done = threading.Event(), threading.Event()

    def slow(x: Any) -> Any:
        inside.set()
        assert done.wait(LONG)
        return x * x

    thread = threading.Thread(target=lambda: func.grad(slow)(w))
    thread.start()
    assert inside.wait(LONG)
    try:
        # The other thread differentiates a copy of `w`, not `w`.
        assert float(w * w) == 4.0
    finally:
        done.set()
        thread.join()


def test_checkpoints_generators_and_hooks_inside_a_transform() -> None:
    x = fg.tensor(2.0)
    with pytest.raises(fg.ConversionError):
        func.grad(lambda x: fg.checkpoint(lambda v: v * float(v), x))(x)

    def steps(x: Any) -> Any:
        yield float(x)

    with pytest.raises(fg.ConversionError):
        func.grad(lambda x: x * next(steps(x)))(x)

    def hooked(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: g * float(g))
        return y * y

    # In a first-order pass nothing is lost: 2 y * (2 y) * 2 x. In a pass that an outer transform differentiates it is.
    assert func.grad(hooked)(x).item() == 256.0
    with pytest.raises(fg.ConversionError):
        func.grad(func.grad(hooked))(x)


def test_forward_of_a_custom_function_may_compute_with_numpy_in_any_transform() -> None:
    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return fg.tensor(np.asarray(x) ** 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    x = fg.tensor([1.0, 2.0])
    assert func.jacrev(Square.apply)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert func.hessian(lambda x: Square.apply(x).sum())(x).tolist() == [[2.0, 0.0], [0.0, 2.0]]


# A backward that computes with NumPy


def numpy_square(base: Any, once: Callable[[Any], Any] = lambda backward: backward) -> Any:
    """A function of a dialect whose backward reads the numbers of a saved tensor."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensor() if base is paddle.autograd.PyLayer else ctx.saved_tensors
        return g * (2 * np.array(x))

    rules = {"forward": staticmethod(forward), "backward": staticmethod(once(backward))}
    return type("Square", (base,), rules)


FUNCTIONS = {"native": fg.Function, "torch": torch.autograd.Function, "paddle": paddle.autograd.PyLayer}
SECOND: dict[str, Callable[[Any, Any], Any]] = {
    "hessian": lambda f, x: func.hessian(lambda x: f(x).sum())(x),
    "jacrev of jacrev": lambda f, x: func.jacrev(func.jacrev(f))(x),
    "jacfwd of jacfwd": lambda f, x: func.jacfwd(func.jacfwd(f))(x),
    "hvp": lambda f, x: func.hvp(lambda x: f(x).sum(), (x,), (x,)),
    "vmap of hessian": lambda f, x: func.vmap(func.hessian(f))(x),
    "create_graph": lambda f, x: fg.grad(f(x.requires_grad_()).sum(), x, create_graph=True),
}


def tensor_of(library: str) -> Any:
    make: Any = {"native": fg.tensor, "torch": torch.tensor, "paddle": paddle.to_tensor}[library]
    return make([1.0, 2.0])


@pytest.mark.parametrize("library", FUNCTIONS)
@pytest.mark.parametrize("second", SECOND)
def test_a_backward_that_computes_with_numpy_is_refused_when_it_is_recorded(library: str, second: str) -> None:
    square, x = numpy_square(FUNCTIONS[library]), tensor_of(library)
    with pytest.raises(fg.ConversionError, match=r"numpy.asarray at .*test_conversion\.py:[0-9]+: .*Square") as error:
        SECOND[second](square.apply, x)
    (line,) = {t.lineno for t in error.traceback if t.name == "backward"}
    assert f"test_conversion.py:{line + 1}:" in str(error.value)
    assert any("Error message in backward of Square" in note for note in error.value.__notes__)


@pytest.mark.parametrize("library", FUNCTIONS)
def test_first_derivatives_through_a_backward_that_computes_with_numpy(library: str) -> None:
    square, x = numpy_square(FUNCTIONS[library]), tensor_of(library)
    want = np.diag([2.0, 4.0])
    np.testing.assert_array_equal(func.jacrev(square.apply)(x), want)
    np.testing.assert_array_equal(func.jacfwd(square.apply)(x), want)
    np.testing.assert_array_equal(np.diag(func.vmap(func.grad(square.apply))(x).numpy()), want)
    y = tensor_of(library)
    y.stop_gradient = False
    square.apply(y).sum().backward()
    np.testing.assert_array_equal(np.asarray(y.grad.detach()), [2.0, 4.0])


@pytest.mark.parametrize("library", ["native", "torch"])
def test_once_differentiable_is_the_way_for_first_order_only(library: str) -> None:
    once = {"native": fg.once_differentiable, "torch": torch.autograd.function.once_differentiable}[library]
    square, x = numpy_square(FUNCTIONS[library], once), tensor_of(library)
    x.requires_grad_()
    g = fg.grad(square.apply(x).sum(), x, create_graph=True)
    assert g.detach().tolist() == [2.0, 4.0]
    with pytest.raises(fg.NotDifferentiableError, match="once_differentiable"):
        fg.grad(g.sum(), x)
    with pytest.raises(fg.NotDifferentiableError, match="once_differentiable"):
        func.hessian(lambda x: square.apply(x).sum())(x.detach())


# The setting


def test_the_setting_is_set_at_once_restored_and_checked() -> None:
    x = fg.tensor(2.0, requires_grad=True)
    before = fg.numpy_conversion("raise")
    try:
        with pytest.raises(fg.ConversionError):
            float(x)
        with fg.numpy_conversion("allow"):
            assert float(x) == 2.0
            with pytest.raises(ZeroDivisionError), fg.numpy_conversion("raise"):
                _ = 1 / 0
            assert float(x) == 2.0
        with pytest.raises(fg.ConversionError):
            float(x)
        with before:
            pass
    finally:
        fg.numpy_conversion("allow")
    assert float(x) == 2.0

    @fg.numpy_conversion("raise")
    def strict(x: Any) -> float:
        return float(x)

    assert float(x) == 2.0
    with pytest.raises(fg.ConversionError):
        strict(x)
    assert float(x) == 2.0
    for bad in ("never", "", None, 1):
        with pytest.raises((fg.ArgumentError, TypeError)):
            fg.numpy_conversion(bad)  # type: ignore[arg-type]
    assert float(x) == 2.0


def test_a_warning_that_is_an_error_is_raised() -> None:
    x = fg.tensor([2.0], requires_grad=True)
    with warnings.catch_warnings(), fg.numpy_conversion("warn"):
        warnings.simplefilter("error")
        for convert in (np.asarray, float, lambda x: x.tolist()):
            with pytest.raises(UserWarning, match="no gradient flows"):
                convert(x)


def test_the_dialects_keep_their_numpy() -> None:
    t = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        t.numpy()
    p = paddle.to_tensor([1.0], stop_gradient=False)
    assert p.numpy().tolist() == [1.0]
    with fg.numpy_conversion("raise"), pytest.raises(fg.ConversionError):
        p.numpy()


def test_the_library_itself_works_where_conversions_raise() -> None:
    with fg.numpy_conversion("raise"):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        optimizer = torch.optim.LBFGS([w])

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        torch.nn.utils.clip_grad_norm_([w], 1.0)
        fg.testing.check(lambda x: fg.sin(x) * x, [fg.tensor([0.5, 1.5], dtype=fg.float64)], 2)
        x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(torch.sin, (x,))
        assert torch.autograd.gradgradcheck(torch.sin, (x,))
        y = fg.tensor([0.5], requires_grad=True)
        with fg.spill_saved():
            z = fg.sin(y) * y
        assert fg.grad(z, y).tolist() == fg.grad(fg.sin(y) * y, y).tolist()
        assert "0.5" in repr(y)
        assert func.sparse_jacobian(fg.sin, y.detach()).values.shape == (1,)
        assert fg.graph(z).to_text() if hasattr(fg.graph(z), "to_text") else str(fg.graph(z))
