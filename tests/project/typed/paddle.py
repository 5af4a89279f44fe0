"""What a user writes in Paddle's dialect."""

from typing import Any, assert_type

import ferrograd.paddle as paddle
import ferrograd.paddle.nn.functional as F
from ferrograd.paddle import Tensor, nn

x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
assert_type(x, Tensor)
x.stop_gradient = False
y = x * x
(dx,) = paddle.grad([y], [x], create_graph=True)
dx = paddle.grad(outputs=[y], inputs=[x], create_graph=True, retain_graph=True)[0]
assert_type(dx, Tensor)
(dx * dx + y).backward()
m = paddle.randn([3, 4])
assert_type(m.reshape([4, 3]), Tensor)
assert_type(m.sum(axis=0, keepdim=True), Tensor)
assert_type(paddle.mean(m, axis=[0, 1]), Tensor)
assert_type(paddle.matmul(m, m, transpose_y=True), Tensor)
z = paddle.zeros([2, 3], dtype="float64")
o = paddle.ones(shape=[2])
values, indices = paddle.topk(m, k=2)
c = paddle.concat([m, m], axis=0)
s = paddle.split(m, num_or_sections=2, axis=1)
assert_type(s[0], Tensor)
sh = m.shape
n = m.numpy()
it = x.sum().item()


class Net(nn.Layer):
    """A small network."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.last = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(F.relu(self.first(x)))
        return y


net = Net()
opt = paddle.optimizer.Adam(learning_rate=0.001, parameters=net.parameters())
for _ in range(2):
    loss = F.mse_loss(net(paddle.randn([5, 4])), paddle.zeros([5, 1]))
    loss.backward()
    opt.step()
    opt.clear_grad()
with paddle.no_grad():
    net(paddle.randn([5, 4]))
paddle.save(net.state_dict(), "a.pdparams")
net.set_state_dict(paddle.load("a.pdparams"))
paddle.seed(0)
g = x.grad
x.clear_gradient()
h = x.register_hook(lambda g: g * 2)
h.remove()
a = x.astype("float64")
b = x.cast("float32")
t = m.transpose([1, 0])
e = paddle.einsum("ij->i", m)
cl = x.clip(0.0, 1.0)
w = paddle.where(x > 0, x, paddle.zeros_like(x))
ar = paddle.arange(0, 10, 2)
for i in range(x.shape[0]):
    print(x[i])
ce = F.cross_entropy(paddle.randn([4, 5]), paddle.to_tensor([0, 1, 2, 3]))


class Square(paddle.autograd.PyLayer):
    """A custom rule."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @paddle.autograd.once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensor()
        slope: Tensor = 2 * x * g
        return slope


squared: Tensor = Square.apply(x)
