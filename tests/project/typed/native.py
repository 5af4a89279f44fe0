"""What a user writes with the native functions."""

from collections.abc import Callable
from typing import Any, assert_type

import ferrograd as fg
import numpy as np
from ferrograd import Tensor, func

x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
assert_type(x, Tensor)
assert_type(x.reshape(3, 1), Tensor)
assert_type(x.reshape((3, 1)), Tensor)
assert_type(x.reshape([3, -1]), Tensor)
assert_type(fg.reshape(x, (3, 1)), Tensor)
m = fg.ones((3, 3)).requires_grad_()
z = fg.zeros((2, 3), dtype=fg.float64)
r = fg.randn(3, 3)
assert_type(fg.sum(m, axis=0, keepdims=True), Tensor)
assert_type(m.sum(axis=(0, 1)), Tensor)
assert_type(m.mean(axis=-1, keepdims=True), Tensor)
assert_type(m @ x, Tensor)
assert_type(2.0 * x + 1 - x / 3**0.5, Tensor)
assert_type(x**2, Tensor)
assert_type(-x, Tensor)
assert_type(x[0], Tensor)
assert_type(m[:, None, ..., 0], Tensor)
assert_type(m[x > 1.5], Tensor)
assert_type(x > 1.0, Tensor)
value: float = x.sum().item()
number = float(x[0])
if x.sum() > 0:
    pass
y = fg.sum(fg.sin(x) * x)
dx = fg.grad(y, x, create_graph=True)
assert_type(dx, Tensor)
(a, b) = fg.grad(fg.sum(m @ x), [m, x])
assert_type(a, Tensor)
fg.backward(y)
y2 = fg.sum(x * x)
y2.backward()
g = x.grad
if g is not None:
    print(g.tolist())
array: np.ndarray[Any, Any] = m.detach().numpy()
np.asarray(m.detach())


def f(x: Tensor) -> Tensor:
    return fg.sum(fg.sin(x) ** 2)


def loss(w: Tensor, scale: float = 1.0) -> Tensor:
    return fg.sum(w * scale)


df = func.grad(f)
assert_type(df(x), Tensor)
assert_type(func.grad(loss)(x, scale=2.0), Tensor)
v, s = func.value_and_grad(f)(x)
assert_type(v, Tensor)
assert_type(s, Tensor)
assert_type(func.hessian(f)(x), Tensor)
jac: Tensor = func.jacobian(lambda x: fg.sin(x))(x)
assert_type(func.vmap(f)(m), Tensor)
out, pulled = func.vjp(f, x)
out, tangent = func.jvp(f, (x,), (fg.ones(3),))
jitted = func.jit(f)
assert_type(jitted(x), Tensor)


@fg.compile
def step(w: Tensor, g: Tensor) -> Tensor:
    return w - 0.1 * g


assert_type(step(x, x), Tensor)


@func.vmap
def row(w: Tensor) -> Tensor:
    return w.sum()


w: Tensor = row(m)
with fg.no_grad():
    x[0] = 3.0
    x += 1.0


@fg.no_grad()
def evaluate(x: Tensor, k: int) -> Tensor:
    return x * k


assert_type(evaluate(x, 3), Tensor)
u, sv, vt = fg.linalg.svd(m)
assert_type(u, Tensor)
val, idx = fg.topk(m, 2)
assert_type(fg.linalg.eigh(m).eigenvalues, Tensor)
assert_type(fg.linalg.svd(m).S, Tensor)
assert_type(fg.unique_counts(x).counts, Tensor)
q, rr = fg.linalg.qr(m)
h = x.register_hook(lambda g: g * 2)
h.remove()
for rowt in m:
    assert_type(rowt, Tensor)
parts = fg.split(m, 3)
assert_type(parts[0], Tensor)
cat = fg.concat([m, m], axis=0)
st = fg.stack([x, x])
wh = fg.where(x > 0, x, 0.0)
mx = fg.maximum(x, 0.0)
cl = fg.clip(x, 0, 1)
shape: tuple[int, ...] = x.shape
n: int = x.shape[0]
k: int = x.ndim
d: np.dtype[np.float32] = np.dtype("float32")
t = x.cast(fg.float64)
assert_type(x.T, Tensor)
assert_type(m.mT, Tensor)
e = fg.einsum("ij,j->i", m, x)


class Square(fg.Function):
    """A custom rule."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        slope: Tensor = 2 * x * g
        return slope


square: Tensor = Square.apply(x)
np_sin = np.sin(x)
np_sum = np.sum(x)
fn: Callable[[Tensor], Tensor] = func.grad(f)
graph = fg.graph(y)
graph.save("a.html")
ck = fg.checkpoint(f, x)
with fg.profile() as p:
    pass
print(p)
params = {"w": x, "b": [m]}
gp = func.grad(lambda p: fg.sum(p["w"]))(params)


def net(p: dict[str, Tensor]) -> Tensor:
    return fg.sum(p["w"] * 2)


gq = func.grad(net)(params)
tr = func.tree_map(lambda a: a * 2, {"w": x})
