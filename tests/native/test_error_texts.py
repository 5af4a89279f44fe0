"""The text of an error says what to type next."""

import io
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func
from scipy import special

# The type checker would see these mistakes.
wrong: Any = fg


def tracked() -> Any:
    return fg.tensor([1.0, 2.0], requires_grad=True)


def leaf_write(make: Callable[[], Any]) -> Callable[[], Any]:
    def write() -> None:
        x = make()
        x.add_(1.0)

    return write


def file_of_torch() -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02ctorchvision.models.resnet\nResNet\n.")
    file.seek(0)
    return file


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a misspelled dtype": (
        lambda: fg.ones(2, dtype="flaot32"),
        fg.ArgumentError,
        "'flaot32' is no dtype. Did you mean 'float32'?",
    ),
    "a misspelled dtype of a tensor": (
        lambda: fg.tensor([1.0], dtype="flot64"),
        fg.DtypeError,
        "Did you mean 'float64'?",
    ),
    "a word that is no dtype": (lambda: fg.ones(2, dtype="quaternion"), fg.ArgumentError, "The dtypes are bool, uint8"),
    "integers that require gradients": (
        lambda: fg.tensor([1, 2], requires_grad=True),
        fg.DtypeError,
        "dtype='float32'",
    ),
    "grad of a function": (lambda: wrong.grad(lambda x: x), fg.ArgumentError, "use ferrograd.func.grad(f)(x)"),
    "a word for a truth value": (
        lambda: torch.ones(2, requires_grad="yes"),  # type: ignore[arg-type]
        TypeError,
        "requires_grad (or stop_gradient) is True or False, not str",
    ),
    "lists that do not fit": (
        lambda: fg.zeros((2**62, 0)).tolist(),
        MemoryError,
        "tolist: no memory for the lists of an array of shape [4611686018427387904, 0]",
    ),
    "an array that NumPy lacks": (
        lambda: fg.zeros((2**62, 0)).numpy(),
        fg.ShapeError,
        "NumPy has no arrays of shape [4611686018427387904, 0]",
    ),
    "an axis in a function of Paddle's": (
        lambda: paddle.transpose(paddle.ones([2, 3]), [0, 3]),
        fg.IndexOutOfRange,
        "transpose: axis 3 is out of range",
    ),
    "an index in a layer": (
        lambda: torch.nn.Embedding(3, 2)(torch.tensor([5])),
        fg.IndexOutOfRange,
        "embedding: index 5 is out of bounds",
    ),
    "torch's grad of a function": (
        lambda: torch.autograd.grad(lambda x: x, torch.ones(2)),  # type: ignore[call-overload]
        fg.ArgumentError,
        "use ferrograd.func.grad(f)(x)",
    ),
    "Paddle's grad of a function": (
        lambda: paddle.grad(lambda x: x, paddle.ones([2])),  # type: ignore[arg-type]
        fg.ArgumentError,
        "use ferrograd.func.grad(f)(x)",
    ),
    "torch's grad of a function alone": (
        lambda: torch.autograd.grad(lambda x: x),  # type: ignore[call-overload]
        fg.ArgumentError,
        "use ferrograd.func.grad(f)(x)",
    ),
    "Paddle's grad of a function alone": (
        lambda: paddle.grad(lambda x: x),  # type: ignore[arg-type]
        fg.ArgumentError,
        "use ferrograd.func.grad(f)(x)",
    ),
    "a transform in the root": (lambda: wrong.vmap, AttributeError, "it is ferrograd.func.vmap"),
    "a transform in torch's root": (lambda: wrong.torch.jvp, AttributeError, "use torch.func.jvp"),
    "a transform in Paddle's root": (lambda: wrong.paddle.vmap, AttributeError, "it is ferrograd.func.vmap"),
    "backward of an untracked tensor": (
        lambda: fg.ones(()).backward(),
        fg.ArgumentError,
        "made with requires_grad=True",
    ),
    "backward of many elements": (lambda: (tracked() * 2).backward(), fg.ArgumentError, "call .sum() first"),
    "a write to a leaf": (leaf_write(tracked), fg.LeafInplaceError, "a leaf tensor with requires_grad=True"),
    "a write to a leaf of torch's": (
        leaf_write(lambda: torch.ones(2, requires_grad=True)),
        fg.LeafInplaceError,
        "a leaf Variable that requires grad is being used in an in-place operation. Write to a new tensor (x = x + 1)",
    ),
    "a write to a leaf of Paddle's": (
        leaf_write(lambda: paddle.to_tensor([1.0], stop_gradient=False)),
        fg.LeafInplaceError,
        "Leaf Var that doesn't stop gradient can't use inplace strategy. Write to a new tensor (x = x + 1)",
    ),
    "a write to an element of a leaf": (
        lambda: tracked().__setitem__(0, 1),
        fg.LeafInplaceError,
        "y = x.clone(), then y[i] = v",
    ),
    "a float as an index": (
        lambda: tracked()[1.0],
        fg.IndexOutOfRange,
        "a float is no index (int(i) makes an integer of it)",
    ),
    "shapes of two ranks": (
        lambda: fg.ones((2, 3)) + fg.ones(4),
        fg.ShapeError,
        "shapes [2, 3] and [4] do not broadcast. The size of tensor a (3) must match the size of tensor b (4) at "
        "non-singleton dimension 1",
    ),
    "features of a linear layer": (
        lambda: torch.nn.Linear(4, 5)(torch.ones(2, 3)),
        fg.ShapeError,
        "the input [2, 3] has 3 features, the weight [5, 4] expects 4",
    ),
    "a condition under vmap": (
        lambda: fg.func.vmap(lambda x: x if x > 0 else -x)(fg.ones(3)),
        fg.VmapError,
        "where(condition, a, b) chooses for each",
    ),
    "a size that depends on values under vmap": (
        lambda: fg.func.vmap(fg.nonzero)(fg.ones((2, 3))),
        fg.VmapError,
        "use where or masked_fill, which keep the size, or a loop of Python",
    ),
    "a mask under vmap": (
        lambda: fg.func.vmap(lambda x: x[x > 0])(fg.ones((2, 3))),
        fg.VmapError,
        "use where or masked_fill",
    ),
    "a list of numbers": (lambda: wrong.stack([1.0, 2.0]), fg.ArgumentError, "element 0 is a float"),
    "a list with one number": (lambda: wrong.concat([fg.ones(1), 2]), fg.ArgumentError, "element 1 is a int"),
    "channels of a convolution": (
        lambda: fg.conv2d(fg.ones((1, 3, 5, 5)), fg.ones((4, 1, 3, 3))),
        fg.ShapeError,
        "the image has 3 channels, and the weight [4, 1, 3, 3] expects 1",
    ),
    "labels that are floats": (
        lambda: fg.cross_entropy(fg.ones((2, 3)), fg.tensor([0.0, 1.0])),
        fg.ShapeError,
        "target.astype('int64')",
    ),
    "batches of two sizes": (
        lambda: fg.func.vmap(fg.add)(fg.ones(3), fg.ones(4)),
        fg.ShapeError,
        "x of shape (3,) has 3 in axis 0, y of shape (4,) has 4 in axis 0",
    ),
    "batches of two sizes in torch's vmap": (
        lambda: torch.vmap(torch.add)(torch.ones(3), torch.ones(4)),
        fg.ShapeError,
        "input of shape (3,) has 3 in axis 0, other of shape (4,) has 4 in axis 0",
    ),
    "batches of two sizes in nested arguments": (
        lambda: fg.func.vmap(lambda a, *b: a)({"u": fg.ones(3)}, [fg.ones(4)]),
        fg.ShapeError,
        "a['u'] of shape (3,) has 3 in axis 0, argument 1[0] of shape (4,) has 4 in axis 0",
    ),
    "a tensor of another library": (
        lambda: fg.where(fg.ones(1) > 0, type("Tensor", (), {"__module__": "other"})(), 0.0),
        fg.ArgumentError,
        "not other.Tensor",
    ),
    "numbers under a mask": (
        lambda: fg.tensor(np.ma.array([1.0, 2.0], mask=[False, True])),
        fg.ArgumentError,
        "write a.filled(0) or a.compressed()",
    ),
    "numbers under a mask beside a tensor": (
        lambda: tracked() * np.ma.array([1.0, 2.0], mask=[False, True]),
        fg.ArgumentError,
        "write a.filled(0) or a.compressed()",
    ),
    "a file that names a class": (lambda: torch.load(file_of_torch()), Exception, "weights_only=False"),
    "an unknown device": (lambda: torch.zeros(2, device="gibberish"), fg.ArgumentError, "the only device is 'cpu'"),
    "a device that is not here": (
        lambda: wrong.torch.ones(2).sin(device="cuda"),
        fg.ArgumentError,
        "the only device is 'cpu'",
    ),
    "a device object": (
        lambda: torch.ones(2).to(torch.device("cuda")),
        fg.ArgumentError,
        "cuda.is_available() is False",
    ),
    "what a function returned, for the function": (
        lambda: wrong.func.grad(fg.ones(2))(fg.ones(2)),
        fg.ArgumentError,
        "grad: a function is wanted, not Tensor: pass f itself, not f(x)",
    ),
    "a Hessian of what a function returned": (
        lambda: wrong.func.hessian(fg.ones(2)),
        fg.ArgumentError,
        "hessian: a function is wanted",
    ),
    "vmap of what a function returned": (lambda: wrong.func.vmap(fg.ones(2)), fg.ArgumentError, "pass f itself"),
    "torch's vmap of what a function returned": (lambda: wrong.torch.vmap(1.0), fg.ArgumentError, "pass f itself"),
    "torch's grad of what a function returned": (lambda: wrong.torch.func.grad(1.0), fg.ArgumentError, "pass f itself"),
    "vjp without primals": (lambda: func.vjp(fg.sin), fg.ArgumentError, "the function is given no argument"),
    "grad at an integer": (lambda: func.grad(fg.sin)(fg.tensor(3)), fg.DtypeError, "dtype='float32'"),
    "grad of a vector": (lambda: func.grad(fg.sin)(fg.ones(2)), fg.ShapeError, "use jacobian"),
    "a module for its parameters": (
        lambda: torch.optim.SGD(torch.nn.Linear(1, 1), lr=0.1),
        fg.ArgumentError,
        "but got Linear: pass its parameters()",
    ),
    "a method for what it returns": (
        lambda: torch.optim.SGD(torch.nn.Linear(1, 1).parameters, lr=0.1),  # type: ignore[arg-type]
        fg.ArgumentError,
        "pass parameters(), the call, not the method",
    ),
    "a module of Paddle's for its parameters": (
        lambda: paddle.optimizer.SGD(0.1, paddle.nn.Linear(1, 1)),
        fg.ArgumentError,
        "pass its parameters()",
    ),
    "a module whose gradients are clipped": (
        lambda: torch.nn.utils.clip_grad_norm_(torch.nn.Linear(1, 1), 1.0),
        fg.ArgumentError,
        "clip_grad_norm_: parameters are Tensors, not Linear: pass its parameters()",
    ),
    "samples of two shapes": (
        lambda: torch.utils.data.default_collate([(np.ones(2), 1), (np.ones(3), 2)]),
        fg.ShapeError,
        "the shapes (2,) and (3,): pad them to one, or give the loader a collate_fn",
    ),
    "indices that are floats": (
        lambda: torch.nn.Embedding(4, 2)(torch.ones(2)),
        fg.DtypeError,
        "embedding: indices are integers, not torch.float32: x.long()",
    ),
    "indices of Paddle's that are floats": (
        lambda: paddle.nn.Embedding(4, 2)(paddle.ones([2])),
        fg.DtypeError,
        "embedding: indices are integers",
    ),
    "Paddle's GPU": (lambda: paddle.ones([1]).cuda(), fg.ArgumentError, "paddle.is_compiled_with_cuda()"),
    "jax's NumPy": (lambda: wrong.numpy, AttributeError, "it is ferrograd itself"),
    "TensorFlow's tape": (lambda: wrong.GradientTape, AttributeError, "y.backward()"),
    "a function of SciPy's": (
        lambda: special.kolmogorov(tracked()),
        TypeError,
        "scipy.special.kolmogorov has no counterpart",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_says_what_to_type(mistake: str) -> None:
    call, kind, text = MISTAKES[mistake]
    with pytest.raises(kind) as info:
        call()
    assert text in str(info.value)


def test_a_misspelled_attribute_of_a_module_is_corrected() -> None:
    with pytest.raises(AttributeError) as info:
        _ = torch.nn.Linear(1, 1).wieght
    assert info.value.name == "wieght"
    assert "weight" in dir(info.value.obj)


def test_the_cpu_is_accepted_as_a_device() -> None:
    for device in ("cpu", torch.device("cpu"), torch.device("cpu", 0), None, torch.ones(1).device):
        assert np.asarray(torch.zeros(2, device=device)).shape == (2,)
        assert torch.device(device or "cpu").type == "cpu"


def refused(x: Any) -> Any:
    return x + fg.ones(7)


X = fg.ones(2)
#: Calls that run a function of the user's, or walk a record of it.
CALLS: dict[str, Callable[[], Any]] = {
    "grad": lambda: func.grad(refused)(X),
    "value_and_grad": lambda: func.value_and_grad(refused)(X),
    "jacrev": lambda: func.jacrev(refused)(X),
    "jacfwd": lambda: func.jacfwd(refused)(X),
    "jacobian": lambda: func.jacobian(refused)(X),
    "hessian": lambda: func.hessian(refused)(X),
    "hessian_diagonal": lambda: func.hessian_diagonal(refused)(X),
    "vmap": lambda: func.vmap(refused)(fg.ones((3, 2))),
    "jit": lambda: func.jit(refused)(X),
    "jvp": lambda: func.jvp(refused, (X,), (X,)),
    "vjp": lambda: func.vjp(refused, X),
    "hvp": lambda: func.hvp(refused, (X,), (X,)),
    "vhp": lambda: func.vhp(refused, (X,), fg.ones(())),
    "linearize": lambda: func.linearize(refused, X),
    "taylor": lambda: func.taylor(refused, X, X, 2),
    "sparse_jacobian": lambda: func.sparse_jacobian(refused, X),
    "checkpoint": lambda: fg.checkpoint(refused, fg.tensor([1.0, 2.0], requires_grad=True)),
    "backward": lambda: fg.backward(fg.tensor([1.0, 2.0], requires_grad=True) * 2),
    "fg.grad": lambda: fg.grad(fg.ones(()), X),
    "torch": lambda: torch.autograd.grad(torch.ones(()), torch.ones(())),
    "paddle": lambda: paddle.grad(paddle.ones([]), paddle.ones([])),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_traceback_shows_the_lines_of_the_user(name: str) -> None:
    """IPython and pytest leave frames out that say so; those of the library do."""
    with pytest.raises(fg.FerrogradError) as caught:
        CALLS[name]()
    folder = str(Path(fg.__file__).parent)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    own = [frame for frame in frames if frame.f_code.co_filename.startswith(folder)]
    assert own
    shown = [frame.f_code.co_name for frame in own if "__tracebackhide__" not in frame.f_locals]
    assert not shown


SPACES = {
    "ferrograd": (fg, fg),
    "ferrograd.linalg": (fg.linalg, fg),
    "ferrograd.fft": (fg.fft, fg),
    "torch": (torch, torch),
    "torch.nn.functional": (torch.nn.functional, torch),
    "torch.linalg": (torch.linalg, torch),
    "torch.special": (torch.special, torch),
    "paddle": (paddle, paddle),
    "paddle.nn.functional": (paddle.nn.functional, paddle),
    "paddle.linalg": (paddle.linalg, paddle),
}
#: Functions whose errors name another one: they are other names of a function, or call one that checks its arguments.
OTHERS = {
    "as_strided_copy", "split_with_sizes_copy", "squeeze_copy", "view_copy",
    "expit", "gammaln", "multigammaln", "lp_pool1d", "lp_pool2d", "softmax_with_cross_entropy", "split_copy",
    "unsafe_split",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_an_error_names_the_function_that_was_called(
    space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some functions write files.
    monkeypatch.chdir(tmp_path)
    names, library = SPACES[space]
    make: Any = library.ones
    x, v, labels = make([2, 3]), make([4]), make([2, 5], dtype="int64")
    calls: list[tuple[Any, ...]] = [
        (x,), (labels,), (x, v), (v, x), (x, labels), (labels, x), (x, "a"), (x, -9), (x, [9]), (x, 0, labels),
        (x, 9, labels, x), ([x, v],), (x, object()), (x > 0, v),
    ]  # fmt: skip
    ops = {name for name in dir(fg._core.native) if not name.startswith("_")}
    raised, strange = 0, {}
    for name in sorted(set(getattr(names, "__all__", dir(names))) - OTHERS):
        f = getattr(names, name, None)
        # The state of the random numbers, the default dtype and the like stay as they are.
        if name.startswith("_") or "set_" in name or "seed" in name or isinstance(f, type) or not callable(f):
            continue
        for arguments in calls:
            try:
                f(*arguments)
            except (fg.ArgumentError, fg.DtypeError, fg.IndexOutOfRange, fg.ShapeError) as error:
                raised += 1
                head = str(error).split(":")[0].split(".")[-1]
                if head in ops and head not in (name, name.rstrip("_")) and getattr(names, head, None) is not f:
                    strange[name] = str(error)
            except Exception:
                # Only the texts of the library's own errors are looked at.
                continue
    assert raised > 30
    assert not strange, strange


def test_tensors_print_whose_shape_numpy_lacks() -> None:
    assert repr(fg.zeros((2**62, 0))) == "Tensor([], shape=(4611686018427387904, 0), dtype=float32)"
    assert repr(torch.zeros((2**62, 0))) == "tensor([], size=(4611686018427387904, 0))"
    assert repr(paddle.zeros([2**62, 0])).startswith("Tensor(shape=[4611686018427387904, 0], ")


@pytest.mark.parametrize("exception", [MemoryError, KeyboardInterrupt])
def test_an_exception_of_the_caller_says_nothing_about_a_list(exception: type[BaseException]) -> None:
    class Raises:
        dtype = np.dtype(float)

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise exception

    with pytest.raises(exception):
        fg.tensor([np.float64(1.0), Raises()])
    with pytest.raises(exception):
        fg.ones(3)[[np.int64(0), Raises()]]
