"""Counts how many of thirty common functions each library differentiates four times. Lists where the others stop.

``python benches/orders.py`` tests ferrograd, and torch and paddle if they are installed.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

ORDERS = 4
#: Each takes the top-level module, its ``nn.functional`` and a vector of four elements.
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "exp": lambda m, f, x: m.exp(x),
    "log": lambda m, f, x: m.log(x),
    "sin": lambda m, f, x: m.sin(x),
    "tanh": lambda m, f, x: m.tanh(x),
    "sinh": lambda m, f, x: m.sinh(x),
    "asin": lambda m, f, x: m.asin(x),
    "atan": lambda m, f, x: m.atan(x),
    "sqrt": lambda m, f, x: m.sqrt(x),
    "erf": lambda m, f, x: m.erf(x),
    "pow": lambda m, f, x: x**2.5,
    "abs": lambda m, f, x: m.abs(x),
    "maximum": lambda m, f, x: m.maximum(x * x, x),
    "where": lambda m, f, x: m.where(x > 0.2, x * x, x),
    "sigmoid": lambda m, f, x: f.sigmoid(x),
    "relu": lambda m, f, x: f.relu(x),
    "gelu": lambda m, f, x: f.gelu(x),
    "silu": lambda m, f, x: f.silu(x),
    "softplus": lambda m, f, x: f.softplus(x),
    "softmax": lambda m, f, x: f.softmax(x, -1),
    "log_softmax": lambda m, f, x: f.log_softmax(x, -1),
    "logsumexp": lambda m, f, x: m.logsumexp(x, -1),
    "prod": lambda m, f, x: m.prod(x),
    "cumsum": lambda m, f, x: m.cumsum(x, 0),
    "max": lambda m, f, x: m.max(x),
    "norm": lambda m, f, x: m.norm(x),
    "var": lambda m, f, x: m.var(x),
    "matmul": lambda m, f, x: m.matmul(x.reshape([2, 2]), x.reshape([2, 2])),
    "det": lambda m, f, x: m.linalg.det(x.reshape([2, 2])),
    "inv": lambda m, f, x: m.linalg.inv(x.reshape([2, 2])),
    "gather": lambda m, f, x: x[m.arange(2)],
}


def reached(x: Any, exp: Callable[[Any], Any], grad: Callable[[Any, Any], Any], f: Callable[[Any], Any]) -> int:
    """The highest order, up to ``ORDERS``, to which ``f(exp(x) / 4)`` can be differentiated.

    With ``exp(x) / 4`` as argument, no derivative is zero.
    """
    y = f(exp(x) / 4)
    for order in range(ORDERS):
        try:
            y = grad(y.sum(), x)
        except Exception:
            return order
    return ORDERS


def main() -> None:
    os.environ.setdefault("GLOG_minloglevel", "4")
    values = [0.1, 0.2, 0.3, 0.5]
    for name in ("ferrograd.torch", "torch", "ferrograd.paddle", "paddle"):
        if importlib.util.find_spec(name.split(".")[0]) is None:
            continue
        m: Any = importlib.import_module(name)
        is_torch = name.endswith("torch")

        def leaf(m: Any = m, is_torch: bool = is_torch) -> Any:
            x = m.tensor(values, dtype=m.float64) if is_torch else m.to_tensor(values, dtype="float64")
            if is_torch:
                x.requires_grad = True
            else:
                x.stop_gradient = False
            return x

        def grad(y: Any, x: Any, m: Any = m, is_torch: bool = is_torch) -> Any:
            return (m.autograd.grad if is_torch else m.grad)(y, x, create_graph=True)[0]

        def order(f: Callable[[Any, Any, Any], Any], m: Any = m, leaf: Any = leaf, grad: Any = grad) -> int:
            return reached(leaf(), m.exp, grad, lambda x: f(m, m.nn.functional, x))

        orders = {n: order(f) for n, f in FUNCTIONS.items()}
        stops = [f"{n} after {k}" for n, k in orders.items() if k < ORDERS]
        print(
            f"{name} {m.__version__}: {len(orders) - len(stops)} of {len(orders)}",
            *(f"({', '.join(stops)})" for _ in stops[:1]),
        )


if __name__ == "__main__":
    main()
