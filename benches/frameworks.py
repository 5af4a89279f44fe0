"""One interface to all frameworks, so that each row of the table is written once."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


class NumPy:
    """NumPy: kernels without gradients."""

    module: Any

    def __init__(self) -> None:
        self.module = np
        self.start()

    def start(self) -> None: ...

    def const(self, a: np.ndarray) -> Any:
        return a

    def done(self, result: Any) -> Any:
        """Waits until the result is computed."""
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def total(self, x: Any) -> Any:
        return x.sum()

    def transpose(self, x: Any) -> Any:
        return x.T


class Tape(NumPy):
    """torch and frameworks like it: they record while they compute, then you ask for gradients."""

    name = "torch"

    def start(self) -> None:
        self.module = importlib.import_module(self.name)

    def const(self, a: np.ndarray) -> Any:
        return self.module.tensor(a)

    def leaf(self, a: np.ndarray) -> Any:
        return self.module.tensor(a, requires_grad=True)

    def grad(self, out: Any, inputs: list[Any], create_graph: bool = False) -> Any:
        return self.module.autograd.grad(out, inputs, create_graph=create_graph)

    def transpose(self, x: Any) -> Any:
        return x.transpose(0, 1)

    def softmax(self, x: Any) -> Any:
        return self.module.softmax(x, -1)

    def cross_entropy(self, x: Any, labels: Any) -> Any:
        return self.module.nn.functional.cross_entropy(x, labels)

    def conv(self, x: Any, w: Any) -> Any:
        return self.module.nn.functional.conv2d(x, w, padding=1)

    def layer_norm(self, x: Any) -> Any:
        return self.module.nn.functional.layer_norm(x, x.shape[-1:])

    def adam(self, parameters: list[Any]) -> Any:
        return self.module.optim.Adam(parameters)

    def stepping(self, *arrays: np.ndarray) -> Callable[[], Any]:
        """A call that takes one step of Adam. The gradients are computed beforehand."""
        leaves = [self.leaf(a) for a in arrays]
        for leaf in leaves:
            self.total(leaf * leaf).backward()
        return self.adam(leaves).step

    def gradients(self, f: Function, *arrays: np.ndarray) -> Callable[[], Any]:
        """A call that computes a function of leaves and its gradients."""
        leaves = [self.leaf(a) for a in arrays]
        return lambda: self.grad(f(*leaves), leaves)

    def inner(self, f: Function, x: np.ndarray) -> Any:
        """A gradient that can be differentiated with respect to the outer tensors that `f` uses."""
        leaf = self.leaf(x)
        return self.grad(f(leaf), [leaf], True)[0]

    def nth(self, f: Function, order: int, x: np.ndarray) -> Callable[[], Any]:
        leaf = self.leaf(x)

        def run() -> Any:
            y = f(leaf)
            for k in range(order):
                y = self.grad(self.total(y), [leaf], k + 1 < order)[0]
            return y

        return run

    def jacobian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        leaf, eye = self.leaf(x), self.const(np.eye(len(x), dtype=x.dtype))
        return lambda: self.module.autograd.grad(f(leaf), [leaf], [eye], is_grads_batched=True)

    def jacrev(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        value = self.const(x)
        return lambda: self.module.func.jacrev(f)(value)

    def functional_jacobian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        value = self.const(x)
        return lambda: self.module.autograd.functional.jacobian(f, value)

    def hessian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        value = self.const(x)
        return lambda: self.module.func.hessian(f)(value)

    def per_sample(self, f: Function, parameters: list[np.ndarray], *data: np.ndarray) -> Callable[[], Any]:
        """A call that computes the gradients of a function of parameters and one sample, for many samples."""
        p, samples = [self.const(a) for a in parameters], [self.const(a) for a in data]
        axes = (None, *(0 for _ in data))
        return lambda: self.module.func.vmap(self.module.func.grad(f), axes)(p, *samples)

    def batched(self, f: Function, *arrays: np.ndarray) -> Callable[[], Any]:
        """A call that applies a function of single values to a whole batch."""
        values = [self.const(a) for a in arrays]
        return lambda: self.module.func.vmap(f)(*values)

    def hvp(self, f: Function, parameters: list[np.ndarray]) -> Callable[[], Any]:
        """A call that multiplies the Hessian of a function of parameters by the parameters."""
        p = [self.const(a) for a in parameters]
        return lambda: self.module.func.jvp(self.module.func.grad(f), (p,), (p,))


class Torch(Tape):
    def start(self) -> None:
        super().start()
        self.module.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


class Ferrograd(Tape):
    name = "ferrograd.torch"

    def series(self, f: Function, order: int, x: np.ndarray) -> Callable[[], Any]:
        """A call that computes the derivatives up to an order along a direction."""
        taylor, value, ones = (
            importlib.import_module("ferrograd.func").taylor,
            self.const(x),
            self.const(np.ones_like(x)),
        )
        return lambda: taylor(f, value, ones, order)


class Paddle(Tape):
    name = "paddle"

    def const(self, a: np.ndarray) -> Any:
        return self.module.to_tensor(a)

    def leaf(self, a: np.ndarray) -> Any:
        return self.module.to_tensor(a, stop_gradient=False)

    def grad(self, out: Any, inputs: list[Any], create_graph: bool = False) -> Any:
        return self.module.grad(out, inputs, create_graph=create_graph)

    def transpose(self, x: Any) -> Any:
        return x.transpose([1, 0])

    def softmax(self, x: Any) -> Any:
        return self.module.nn.functional.softmax(x, -1)

    def adam(self, parameters: list[Any]) -> Any:
        return self.module.optimizer.Adam(parameters=parameters)

    def relu(self, x: Any) -> Any:
        return self.module.nn.functional.relu(x)

    def jacobian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        leaf, rows = self.leaf(x), [self.const(r) for r in np.eye(len(x), dtype=x.dtype)]

        def run() -> Any:
            y = f(leaf)
            return [self.module.grad(y, leaf, r, retain_graph=True) for r in rows]

        return run


class Functional(NumPy):
    """Frameworks whose gradient takes a function and returns a function."""

    def grad_of(self, f: Function, count: int) -> Function:
        raise NotImplementedError

    def compiled(self, f: Function) -> Function:
        return f

    def gradients(self, f: Function, *arrays: np.ndarray) -> Callable[[], Any]:
        inputs = [self.const(a) for a in arrays]
        run = self.compiled(self.grad_of(f, len(inputs)))
        return lambda: run(*inputs)

    def inner(self, f: Function, x: Any) -> Any:
        return self.grad_of(f, 1)(x)[0]

    def nth(self, f: Function, order: int, x: np.ndarray) -> Callable[[], Any]:
        for _ in range(order):
            f = self._next(f)
        value = self.const(x)
        run = self.compiled(f)
        return lambda: run(value)

    def _next(self, f: Function) -> Function:
        derivative = self.grad_of(lambda x: self.total(f(x)), 1)
        return lambda x: derivative(x)[0]

    def softmax(self, x: Any) -> Any:
        e = self.module.exp(x - self.module.max(x, -1, keepdims=True))
        return e / self.module.sum(e, -1, keepdims=True)

    def relu(self, x: Any) -> Any:
        return self.module.maximum(x, 0)

    def cross_entropy(self, x: Any, labels: Any) -> Any:
        x = x - self.module.max(x, -1, keepdims=True)
        picked = x[self.module.arange(len(labels)), labels]
        return self.module.mean(self.module.log(self.module.sum(self.module.exp(x), -1)) - picked)


class Autograd(Functional):
    def start(self) -> None:
        self.module = importlib.import_module("autograd.numpy")
        self.root = importlib.import_module("autograd")

    def grad_of(self, f: Function, count: int) -> Function:
        return self.root.grad(f, tuple(range(count)))

    def jacobian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        run = self.root.jacobian(f)
        return lambda: run(x)


class Jax(Functional):
    def start(self) -> None:
        self.root = importlib.import_module("jax")
        self.root.config.update("jax_enable_x64", True)
        self.module = importlib.import_module("jax.numpy")

    def const(self, a: np.ndarray) -> Any:
        return self.module.asarray(a)

    def done(self, result: Any) -> Any:
        return self.root.block_until_ready(result)

    def grad_of(self, f: Function, count: int) -> Function:
        return self.root.grad(f, tuple(range(count)))

    def softmax(self, x: Any) -> Any:
        return self.root.nn.softmax(x, -1)

    def jacobian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        run, value = self.compiled(self.root.jacrev(f)), self.const(x)
        return lambda: run(value)

    def jacrev(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        return self.jacobian(f, x)

    def hessian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        run, value = self.compiled(self.root.hessian(f)), self.const(x)
        return lambda: run(value)

    def per_sample(self, f: Function, parameters: list[np.ndarray], *data: np.ndarray) -> Callable[[], Any]:
        run = self.compiled(self.root.vmap(self.root.grad(f), (None, *(0 for _ in data))))
        p, samples = [self.const(a) for a in parameters], [self.const(a) for a in data]
        return lambda: run(p, *samples)

    def batched(self, f: Function, *arrays: np.ndarray) -> Callable[[], Any]:
        run, values = self.compiled(self.root.vmap(f)), [self.const(a) for a in arrays]
        return lambda: run(*values)

    def series(self, f: Function, order: int, x: np.ndarray) -> Callable[[], Any]:
        jet, value = importlib.import_module("jax.experimental.jet").jet, self.const(x)
        along = [self.module.ones_like(value)] + [self.module.zeros_like(value)] * (order - 1)
        run = self.compiled(lambda x: jet(f, (x,), (along,)))
        return lambda: run(value)

    def hvp(self, f: Function, parameters: list[np.ndarray]) -> Callable[[], Any]:
        p = [self.const(a) for a in parameters]
        run = self.compiled(lambda p: self.root.jvp(self.root.grad(f), (p,), (p,)))
        return lambda: run(p)


class JaxJit(Jax):
    """jax with jit, for the rows that differentiate."""

    def compiled(self, f: Function) -> Function:
        return self.root.jit(f)

    def conv(self, x: Any, w: Any) -> Any:
        return self.root.lax.conv_general_dilated(x, w, (1, 1), "SAME")

    def scan(self, step: Function, carry: Any, length: int) -> Any:
        return self.root.lax.scan(step, carry, None, length)

    def logsumexp(self, x: Any, axis: int) -> Any:
        return self.root.nn.logsumexp(x, axis)


class Compiled(Functional):
    """Functions of ferrograd, compiled."""

    def start(self) -> None:
        self.root = importlib.import_module("ferrograd")
        self.func = importlib.import_module("ferrograd.func")
        self.module = importlib.import_module("ferrograd.torch")

    def const(self, a: np.ndarray) -> Any:
        return self.module.tensor(a)

    def compiled(self, f: Function) -> Function:
        return self.root.compile(f)

    def grad_of(self, f: Function, count: int) -> Function:
        return self.func.grad(f, tuple(range(count)))

    def transpose(self, x: Any) -> Any:
        return x.transpose(0, 1)

    def softmax(self, x: Any) -> Any:
        return self.module.softmax(x, -1)

    def relu(self, x: Any) -> Any:
        return self.module.relu(x)

    def cross_entropy(self, x: Any, labels: Any) -> Any:
        return self.module.nn.functional.cross_entropy(x, labels)

    def conv(self, x: Any, w: Any) -> Any:
        return self.module.nn.functional.conv2d(x, w, padding=1)

    def scan(self, step: Function, carry: Any, length: int) -> Any:
        return self.func.scan(step, carry, None, length)

    def series(self, f: Function, order: int, x: np.ndarray) -> Callable[[], Any]:
        value = self.const(x)
        run = self.compiled(lambda x: self.func.taylor(f, x, self.module.ones_like(x), order))
        return lambda: run(value)

    def hvp(self, f: Function, parameters: list[np.ndarray]) -> Callable[[], Any]:
        p = tuple(self.const(a) for a in parameters)
        gradient = self.func.grad(lambda *p: f(list(p)), tuple(range(len(p))))
        run = self.compiled(lambda *p: self.func.jvp(gradient, p, p))
        return lambda: run(*p)

    def hessian(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        run, value = self.compiled(self.func.hessian(f)), self.const(x)
        return lambda: run(value)

    def jacrev(self, f: Function, x: np.ndarray) -> Callable[[], Any]:
        run, value = self.compiled(self.func.jacrev(f)), self.const(x)
        return lambda: run(value)

    def per_sample(self, f: Function, parameters: list[np.ndarray], *data: np.ndarray) -> Callable[[], Any]:
        run = self.compiled(self.func.vmap(self.func.grad(f), (None, *(0 for _ in data))))
        p, samples = [self.const(a) for a in parameters], [self.const(a) for a in data]
        return lambda: run(p, *samples)

    def batched(self, f: Function, *arrays: np.ndarray) -> Callable[[], Any]:
        run, values = self.compiled(self.func.vmap(f)), [self.const(a) for a in arrays]
        return lambda: run(*values)


class Mlx(Functional):
    def start(self) -> None:
        self.module = importlib.import_module("mlx.core")
        self.module.set_default_device(self.module.cpu)

    def const(self, a: np.ndarray) -> Any:
        if a.dtype == np.float64:
            raise TypeError("no float64")
        return self.module.array(a)

    def done(self, result: Any) -> Any:
        self.module.eval(result)
        return result

    def grad_of(self, f: Function, count: int) -> Function:
        run = self.module.grad(f, argnums=list(range(count)))
        return lambda *xs: run(*xs)

    def softmax(self, x: Any) -> Any:
        return self.module.softmax(x, -1)


#: For each column: its class, and the package that must be installed.
FRAMEWORKS: dict[str, tuple[type[NumPy], str]] = {
    "ferrograd": (Ferrograd, "ferrograd"),
    "torch": (Torch, "torch"),
    "paddle": (Paddle, "paddle"),
    "jax": (Jax, "jax"),
    "jax jit": (JaxJit, "jax"),
    "compiled": (Compiled, "ferrograd"),
    "mlx": (Mlx, "mlx"),
    "autograd": (Autograd, "autograd"),
    "numpy": (NumPy, "numpy"),
}
