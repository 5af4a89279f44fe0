"""The examples of torch's page "Extending PyTorch", as a reader would type them."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
from typing import Any

import numpy as np
import pytest
from ferrograd import FerrogradError, torch
from ferrograd.torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(input: Any, weight: Any, bias: Any) -> Any:
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class MulConstant(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, constant: float) -> Any:
        ctx.set_materialize_grads(False)
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None


class MulAdd(Function):
    """Saves intermediate results and returns them too, so that they can be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x**2
        ctx.save_for_backward(x, y)
        return y, y.exp()

    @staticmethod
    def backward(ctx: Any, gy: Any, ge: Any) -> Any:
        x, y = ctx.saved_tensors
        return 2 * x * (gy + ge * y.exp())


def test_the_examples_of_extending_pytorch() -> None:
    rng = np.random.default_rng(0)
    x: Any
    w: Any
    b: Any
    x, w, b = (torch.tensor(rng.normal(size=s), requires_grad=True) for s in ((4, 3), (2, 3), (2,)))
    y = LinearFunction.apply(x, w, b)
    plain = x @ w.t() + b
    for got, wanted in zip(
        torch.autograd.grad((y**2).sum(), [x, w, b]), torch.autograd.grad((plain**2).sum(), [x, w, b]), strict=True
    ):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted))
    assert LinearFunction.apply(x, w, None).shape == (4, 2)
    (dx,) = torch.autograd.grad((LinearFunction.apply(x, w, b) ** 2).sum(), x, create_graph=True)
    (ref,) = torch.autograd.grad(((x @ w.t() + b) ** 2).sum(), x, create_graph=True)
    for one, other in zip(
        torch.autograd.grad((dx**2).sum(), [x, w, b]), torch.autograd.grad((ref**2).sum(), [x, w, b]), strict=True
    ):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other))
    assert torch.autograd.grad(MulConstant.apply(x, 5.0).sum(), x)[0].tolist() == [[5.0] * 3] * 4
    z = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    for use in (0, 1):
        (got,) = torch.autograd.grad(MulAdd.apply(z)[use].sum(), z, create_graph=True)
        (ref,) = torch.autograd.grad((z**2, (z**2).exp())[use].sum(), z, create_graph=True)
        np.testing.assert_allclose(got.tolist(), ref.tolist())
        np.testing.assert_allclose(torch.autograd.grad(got, z)[0].tolist(), torch.autograd.grad(ref, z)[0].tolist())


def test_overrides_of_dispatch_are_not_called_and_a_warning_says_so() -> None:
    with pytest.warns(UserWarning, match="Traced.__torch_dispatch__ is not called") as caught:

        class Traced(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, *args: Any) -> Any:
                raise AssertionError

    assert caught[0].filename == __file__
    assert (Traced(torch.ones(2)) + 1).tolist() == [2.0, 2.0]
    assert list(reversed(torch.arange(3))) == [2, 1, 0]


def test_modules_that_libraries_import_have_what_they_read() -> None:
    assert torch.nn.Sequential().insert(0, torch.nn.ReLU())[0]._get_name() == "ReLU"
    reduction = importlib.import_module("ferrograd.torch.nn._reduction")
    assert [reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    assert (reduction.legacy_get_string(False, None), reduction.legacy_get_string(None, False)) == ("sum", "none")
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        reduction.get_enum("most")
    assert "ferrograd" in torch.__config__.show()
    assert str(torch.get_num_threads()) in torch.__config__.parallel_info()
    with pytest.raises(FerrogradError, match="nothing is downloaded here"):
        torch.utils.model_zoo.load_url("https://example.org/weights.pth")


def test_asarray_without_a_gradient_has_no_graph() -> None:
    x = torch.ones(2, requires_grad=True) + 1
    assert torch.asarray(x) is x
    assert torch.asarray(x, requires_grad=True) is x
    assert not torch.asarray(x, requires_grad=False).requires_grad
    assert torch.asarray([1.0], requires_grad=True).requires_grad


library: Any = torch


class Diagonal:
    """A matrix by its diagonal, which is no tensor: functions of torch ask it for their results."""

    handled: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, values: Any) -> None:
        self.values = values

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert types == (cls,)
        return cls.handled[func](*args, **(kwargs or {})) if func in cls.handled else NotImplemented


def test_objects_that_are_no_tensors_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    values = library.tensor([1.0, 2.0], requires_grad=True)
    x = Diagonal(values)

    def product(a: Any, b: Any) -> Any:
        return b * a.values[:, None] if isinstance(a, Diagonal) else a * b.values

    def stacked(tensors: Any, dim: int = 0) -> Any:
        return Diagonal(library.stack([t.values for t in tensors], dim=dim))

    handled = {
        library.matmul: product,
        library.stack: stacked,
        library.sub: lambda a, b, alpha=1: Diagonal(a.values - b.values),
        library.linalg.det: lambda a: library.prod(a.values),
        library.Tensor.matmul: product,
    }
    monkeypatch.setattr(Diagonal, "handled", handled)
    assert library.matmul(x, library.ones(2, 1)).tolist() == [[1.0], [2.0]]
    assert library.matmul(library.ones(1, 2), x).tolist() == library.ones(1, 2).matmul(x).tolist() == [[1.0, 2.0]]
    assert library.stack([x, x], dim=1).values.shape == (2, 2)
    assert library.sub(x, x).values.tolist() == [0.0, 0.0]
    library.linalg.det(x).backward()
    assert values.grad.tolist() == [2.0, 1.0]
    with pytest.raises(TypeError, match="no implementation found for torch's sin on types"):
        library.sin(x)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("div", (2,)),
        ("divide", (2,)),
        ("transpose", (0, 1)),
        ("swapaxes", (0, 1)),
        ("squeeze", ()),
        ("clone", ()),
        ("numel", ()),
        ("subtract", (1,)),
        ("linalg.solve", (1,)),
        ("linalg.eigh", ()),
        ("linalg.svd", ()),
        ("exp", ()),
    ],
)
def test_objects_that_are_no_tensors_are_asked_for_the_function_that_was_called(name: str, args: Any) -> None:
    class Names:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    f = eval(f"torch.{name}", {"torch": library})
    assert f(Names(), *args) is f
    if args:
        assert f(library.ones(2, 2), Names(), *args[1:]) is f


def test_objects_that_are_no_tensors_are_refused_where_they_do_not_answer() -> None:
    with pytest.raises(TypeError, match="must be a Tensor, not object"):
        library.sin(object())


class Measured(library.Tensor):  # type: ignore[misc]
    """A tensor with a unit, which its constructor wants."""

    def __new__(cls, values: Any, *, unit: str) -> Any:
        made = library.Tensor._make_subclass(cls, values, True)
        made.unit = unit
        return made


class MeasuredParameter(Measured, library.nn.Parameter):  # type: ignore[misc]
    pass


@pytest.mark.parametrize("kind", [Measured, MeasuredParameter])
def test_copies_and_pickles_of_a_subclass_are_of_that_class(kind: Any) -> None:
    def saved(x: Any) -> Any:
        file = io.BytesIO()
        library.save({"x": x}, file)
        file.seek(0)
        return library.load(file, weights_only=False)["x"]

    x = kind(library.tensor([1.0, 2.0]), unit="m")
    pickled = [lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for copied in (copy.copy, *([copy.deepcopy] if kind is Measured else []), *pickled, saved):
        y = copied(x)
        assert type(y) is kind
        assert (y.unit, y.tolist(), y.requires_grad, y.is_leaf) == ("m", [1.0, 2.0], True, True)
        y.detach().fill_(3.0)
        assert x.tolist() == [1.0, 2.0]
    same = copy.deepcopy([Measured(library.ones(1), unit="s")] * 2)
    assert same[0] is same[1]


@pytest.mark.parametrize("name", ["prod", "logsumexp", "aminmax"])
def test_no_axes_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="dim has no axes; leave it out"):
        getattr(torch, name)(library.ones(2, 2), dim=())
    assert library.sum(library.ones(2, 2), dim=()).item() == 4.0
