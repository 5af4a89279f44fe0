"""What a user writes in torch's dialect."""

from typing import Any, assert_type

import ferrograd.torch as torch
import ferrograd.torch.nn.functional as F
from ferrograd.torch import Tensor, nn, optim

x = torch.randn(4, 3, requires_grad=True)
assert_type(x, Tensor)
x = torch.randn((4, 3), dtype=torch.float64, requires_grad=True)
w = torch.zeros(3, requires_grad=True)
o = torch.ones(2, 3, dtype=torch.float32)
assert_type(x.reshape(12, 1), Tensor)
assert_type(x.view(-1), Tensor)
assert_type(x.sum(dim=0, keepdim=True), Tensor)
assert_type(x.mean(1), Tensor)
assert_type(torch.sum(x, dim=(0, 1)), Tensor)
values, indices = x.max(dim=1)
mx = x.max(dim=1)
assert_type(mx.values, Tensor)
assert_type(x.max(), Tensor)
assert_type(x @ w, Tensor)
assert_type(x.permute(1, 0), Tensor)
assert_type(x.transpose(0, 1), Tensor)
assert_type(x.unsqueeze(0), Tensor)
assert_type(x.softmax(dim=-1), Tensor)
(g,) = torch.autograd.grad(x.pow(2).sum(), x, create_graph=True)
assert_type(g, Tensor)
gs = torch.autograd.grad(x.sum() + w.sum(), [x, w])
assert_type(gs[0], Tensor)
x.sum().backward()
assert x.grad is not None
x.grad.zero_()
item = x.sum().item()
n = x.detach().cpu().numpy()
s: int = x.size(0)
sh = x.shape
a = x.shape[0]
b = x.to(torch.float32)
dev = x.device
print(x.dtype == torch.float32)


class Net(nn.Module):
    """A small network."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.last = nn.Linear(8, 1)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(torch.relu(self.first(x)))
        return y * self.scale


net = Net()
assert_type(next(iter(net.parameters())), nn.Parameter)
opt = optim.Adam(net.parameters(), lr=1e-3)
sched = optim.lr_scheduler.StepLR(opt, step_size=10)
for _ in range(2):
    opt.zero_grad()
    loss = F.mse_loss(net(torch.randn(4, 3)), torch.zeros(4, 1))
    loss.backward()
    opt.step()
    sched.step()
seq = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
out: Tensor = seq(torch.randn(4, 3))
ce = F.cross_entropy(torch.randn(4, 5), torch.tensor([0, 1, 2, 3]))
crit = nn.CrossEntropyLoss()
l2 = crit(torch.randn(4, 5), torch.tensor([0, 1, 2, 3]))
with torch.no_grad():
    for p in net.parameters():
        p -= 0.1 * torch.ones_like(p)
        p.data.add_(1.0)
torch.save(net.state_dict(), "a.pt")
net.load_state_dict(torch.load("a.pt"))
jac = torch.autograd.functional.jacobian(lambda x: x.sin(), w)
hess = torch.func.hessian(lambda x: x.sin().sum())(w)


class Exp(torch.autograd.Function):
    """A custom rule."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        slope: Tensor = g * y
        return slope


e = Exp.apply(x)
c = torch.cat([x, x], dim=0)
d = torch.stack([w, w], dim=1)
i = torch.arange(0, 10, 2)
ein = torch.einsum("ij,j->i", x, w)
cl = x.clamp(min=0.0)
cl2 = torch.clamp(x, min=0.0, max=1.0)
wh = torch.where(x > 0, x, torch.zeros_like(x))
u, sv, vt = torch.linalg.svd(x)
tk = torch.topk(w, 2)
srt, order = torch.sort(w)
std = x.std(dim=0, unbiased=False)
nrm = x.norm(dim=1)
ds = torch.utils.data.TensorDataset(x, x)
dl = torch.utils.data.DataLoader(ds, batch_size=2, shuffle=True)
for bx, by in dl:
    print(bx.shape, by.shape)
torch.manual_seed(0)
x.retain_grad()
hk = w.register_hook(lambda g: g * 2)
y = torch.tensor([1.0, 2.0], requires_grad=True)
y.requires_grad_(False)
z = torch.from_numpy(n)


def energy(x: Tensor, scale: float = 1.0) -> Tensor:
    return (x * scale).sum()


assert_type(torch.func.grad(energy)(x, scale=2.0), Tensor)
assert_type(torch.func.hessian(energy)(x), Tensor)
assert_type(torch.func.jacrev(energy)(x), Tensor)
assert_type(torch.vmap(energy)(x), Tensor)
assert_type(torch.compile(energy)(x, scale=2.0), Tensor)
assert_type(torch.compile(nn.Linear(3, 1)), nn.Linear)


@torch.compile
def step(x: Tensor) -> Tensor:
    return x * 2


assert_type(step(x), Tensor)


@torch.compile(fullgraph=True)
def whole(x: Tensor) -> Tensor:
    return x * 2


assert_type(whole(x), Tensor)
torch.nn.utils.clip_grad_norm_(nn.Linear(3, 1).parameters(), 1.0)
nn.utils.parameters_to_vector(nn.Linear(3, 1).parameters())
size: torch.Size = x.shape
norm: Tensor = nn.utils.clip_grad_norm_([x], 1.0)


class Pairs(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """Pairs of a tensor and its number."""

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.ones(2), index

    def __len__(self) -> int:
        return 3


pairs = Pairs()
loader = torch.utils.data.DataLoader(pairs, batch_size=2)
assert_type(loader, torch.utils.data.DataLoader[tuple[Tensor, int]])
numbers: torch.utils.data.DataLoader[int] = torch.utils.data.DataLoader(range(4))
parts = torch.utils.data.random_split(pairs, [2, 1])
assert_type(parts[0][0], tuple[Tensor, int])
