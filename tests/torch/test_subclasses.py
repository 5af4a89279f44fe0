"""Tensors of subclasses answer for functions of torch, and modes see the calls, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import copy, pickle, warnings
from inspect import signature
import ferrograd.torch as torch
from ferrograd.torch.nn.functional import gelu, normalize
F = torch.nn.functional
MEAN, MATMUL, CAT = torch.mean, torch.matmul, torch.cat
before = [signature(normalize), torch.where, torch.exp, torch.linalg.norm]
class Plain(torch.Tensor):
    pass
class Logged(torch.Tensor):
    log = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})
"""
PROGRAMS = {
    "methods that are called by super give the subclass": """
class Labelled(torch.Tensor):
    labels = None
    def to(self, *args, **kwargs):
        made = super().to(*args, **kwargs)
        made.labels = self.labels
        return made
    def __getitem__(self, index):
        return super().__getitem__(index)
x = torch.ones(2, 2).as_subclass(Labelled)
x.labels = "ab"
assert x.to(torch.float64).labels == "ab" and type(x.to(torch.float64)) is Labelled
assert type(x[0]) is type(x.data) is Labelled
assert [type(row) for row in x] == [Labelled, Labelled]
x.data = torch.zeros(3)
assert x.tolist() == [0.0, 0.0, 0.0]
plain = torch.ones(2)
assert type(plain.to(torch.float64)) is type(plain[0]) is torch.Tensor
""",
    "what is made of a tracked tensor has its graph": """
class Labelled(torch.Tensor):
    def __new__(cls, x, labels):
        return torch.Tensor.__new__(cls, x)
    def __init__(self, x, labels):
        self.labels = labels
x = torch.tensor([1.0, 2.0], requires_grad=True)
for made in (torch.Tensor(x), Labelled(x * 1, "ab")):
    assert made.requires_grad and not made.is_leaf
    assert torch.autograd.grad((made * made).sum(), x)[0].tolist() == [2.0, 4.0]
with torch.no_grad():
    assert not torch.Tensor(x).requires_grad
plain = torch.zeros(2)
torch.Tensor(plain)[0] = 7.0
assert plain.tolist() == [7.0, 0.0]
""",
    "results are of the subclass": """
x = torch.ones(2, 2, requires_grad=True).as_subclass(Plain)
results = [x + 1, 1 + x, x - 1, 2 / x, -x, x @ x, x[0], x.T, x.sum(0), x.max(0).values, x.to(torch.float64)]
results += [torch.sin(x), torch.cat([x, x]), torch.add(1, x), F.relu(x), F.softmax(x, 0), x.detach(), x.clone()]
results += [torch.nn.Linear(2, 2)(x), torch.linalg.norm(x), torch.fft.fft(x), torch.einsum("ij->ji", x), *x.unbind()]
assert all(type(y) is Plain for y in results), [type(y) for y in results]
assert type(x.shape) is torch.Size and type(x.tolist()) is list and x.dim() == 2
assert type(torch.ones(2) + 1) is torch.Tensor
""",
    "distributions and layers compute with functions that ask": """
D, nn = torch.distributions, torch.nn
x = torch.rand(2, 3).as_subclass(Plain)
normal = D.Normal(x, 1.0)
results = [normal.loc, normal.scale, normal.log_prob(torch.zeros(3)), normal.rsample()]
results.append(D.Normal(0.0, 1.0).log_prob(x))
many = D.MultivariateNormal(x, torch.eye(3))
for made in (D.Gamma(x, 1.0), D.Dirichlet(x), D.Poisson(x), D.Categorical(logits=x), many):
    results += [made.sample(), made.log_prob(made.sample())]
results += [nn.Flatten()(x), nn.TransformerEncoderLayer(3, 1, 4)(x), nn.GRU(3, 2)(x)[0], nn.LSTMCell(3, 2)(x)[1]]
results += [torch.group_norm(x, 1), torch.lstm_cell(x, (x, x), torch.ones(12, 3), torch.ones(12, 3))[0]]
assert all(type(y) is Plain for y in results), [type(y) for y in results]
assert type(D.Normal(0.0, 1.0).loc) is torch.Tensor
""",
    "gradients flow": """
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (torch.exp(x.as_subclass(Plain)) * 2).sum()
y.backward()
assert torch.allclose(x.grad, 2 * x.exp())
(g,) = torch.autograd.grad((x.as_subclass(Plain) ** 3).sum(), x, create_graph=True)
assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]
""",
    "parameters give tensors": """
p = torch.nn.Parameter(torch.ones(2))
class Mine(torch.nn.Parameter):
    pass
assert type(p * 2) is torch.Tensor and type(Mine(torch.ones(2)) + 1) is torch.Tensor
assert not torch.overrides.has_torch_function((p,))
""",
    "a class sees the functions": """
x = torch.ones(2).as_subclass(Logged)
y = F.softmax(torch.add(x, 1) * 2, 0)
torch.stack([y, y]).sum()
x += 1
assert Logged.log == ["add", "mul", "softmax", "stack", "sum", "add_"], Logged.log
assert type(x) is Logged and type(y) is Logged
assert torch.overrides.has_torch_function((x,)) and torch.overrides.is_tensor_like(x)
""",
    "a class answers with anything": """
class Unit(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__ if func in (torch.add, torch.Tensor.mul) else NotImplemented
x = torch.ones(2).as_subclass(Unit)
assert torch.add(x, 1) == "add" and x * 2 == "mul"
try:
    torch.sin(x)
except TypeError as e:
    assert "sin" in str(e)
else:
    raise AssertionError
""",
    "nobody is asked where it is off": """
x = torch.ones(2).as_subclass(Logged)
with torch._C.DisableTorchFunctionSubclass():
    assert type(x + 1) is torch.Tensor and type(torch.sin(x)) is torch.Tensor
assert Logged.log == []
class Off(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
assert type(torch.ones(2).as_subclass(Off) + 1) is torch.Tensor
""",
    "the subclass is asked first": """
class Deeper(Logged):
    log = []
x, y = torch.ones(2).as_subclass(Logged), torch.ones(2).as_subclass(Deeper)
assert type(x + y) is Deeper and Deeper.log == ["add"] and Logged.log == []
""",
    "a mode sees all calls": """
class Log(torch.overrides.TorchFunctionMode):
    def __init__(self):
        self.log = []
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(func.__name__)
        return func(*args, **(kwargs or {}))
plain = torch.Tensor.__add__, torch.Tensor.sum
with Log() as mode:
    x = torch.ones(2) + 1
    F.relu(x).sum()
    with Log() as inner:
        torch.sin(x)
assert mode.log == ["ones", "add", "relu", "sum", "sin"] and inner.log == ["sin"], (mode.log, inner.log)
assert (torch.Tensor.__add__, torch.Tensor.sum) == plain
x + 1
assert len(mode.log) == 5
""",
    "functions that were imported before": """
x = torch.ones(2).as_subclass(Plain)
assert type(normalize(x, dim=0)) is Plain
assert [signature(normalize), torch.where] == before[:2]
for function in (*before[1:], torch.exp, gelu, normalize, torch.linalg.cholesky):
    assert pickle.loads(pickle.dumps(function)) is function
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    F.mse_loss(torch.ones(2), torch.ones(1))
assert [w.filename for w in seen] == ["<string>"]
""",
    "copies and pickles": """
x = torch.ones(2).as_subclass(Plain)
assert type(copy.deepcopy(x)) is Plain and type(copy.copy(x)) is Plain
y = pickle.loads(pickle.dumps(x + 1))
assert type(y) is Plain and y.tolist() == [2.0, 2.0]
""",
    "functions stay the same objects": """
class Averaging:
    def __init__(self, reduce=MEAN):
        self.reduce = reduce
assert Averaging().reduce is torch.mean is pickle.loads(pickle.dumps(MEAN))
x = Logged([1.0, 3.0])
assert type(MEAN(x)) is Logged and type(MATMUL(input=torch.ones(2), other=x)) is Logged
assert type(CAT([torch.ones(2), x])) is Logged
assert Logged.log == ["mean", "matmul", "cat"]
with torch.overrides.BaseTorchFunctionMode():
    assert torch.mean is MEAN
""",
    "a compiled function and a batch": """
f = torch.compile(lambda x: torch.sin(x) * 2)
assert torch.allclose(f(torch.ones(2)), 2 * torch.sin(torch.ones(2)))
assert torch.func.vmap(torch.sin)(torch.zeros(3)).tolist() == [0.0] * 3
assert torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))[1].item() == 1.0
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEGIN + PROGRAMS[name]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
