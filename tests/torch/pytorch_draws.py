"""Draws whose numbers are compared with PyTorch's.

``python -m tests.torch.pytorch_draws`` in an environment with PyTorch writes its numbers to ``pytorch_numbers.json``:
those of PyTorch 2.15 on x86-64 with AVX2, on a processor that is not Intel's, where MKL draws nothing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

NUMBERS = Path(__file__).with_name("pytorch_numbers.json")
SEED = 3
#: Expressions, each evaluated after ``torch.manual_seed(SEED)``.
DRAWS = """
torch.rand(3)
torch.rand(2, 3, dtype=torch.float64)
torch.rand(3, dtype=torch.float16)
torch.rand(3, dtype=torch.bfloat16)
torch.rand(2, dtype=torch.complex64)
torch.randn(5)
torch.randn(16)
torch.randn(37)
torch.randn(3, dtype=torch.float64)
torch.randn(2, dtype=torch.complex64)
torch.randn(9, dtype=torch.complex64)
torch.randn(17, dtype=torch.float16)
torch.randn(4, dtype=torch.bfloat16)
torch.rand_like(torch.zeros(3))
torch.randn_like(torch.zeros(2, 2))
torch.randint(10, (5,))
torch.randint(-5, 7, (4,), dtype=torch.int32)
torch.randint(0, 2**27, (3,))
torch.randint(0, 2**28, (3,))
torch.randint(0, 2**40, (3,))
torch.randint(-2**62, 2**62, (3,))
torch.randint(3, (4,), dtype=torch.float32)
torch.randint_like(torch.zeros(4), 9)
torch.randperm(7)
torch.randperm(5, dtype=torch.int32)
torch.randperm(1)
torch.normal(0.5, 2.0, (4,))
torch.normal(0.5, 2.0, (18,))
torch.normal(torch.tensor([1.0, 2.0]), 0.5)
torch.normal(torch.tensor([1.0, 2.0]), torch.tensor([0.1, 0.2]))
torch.bernoulli(torch.tensor([0.1, 0.5, 0.9, 0.5]))
torch.bernoulli(torch.tensor([0.1, 0.5, 0.9, 0.5], dtype=torch.float64))
torch.bernoulli(torch.zeros(6), 0.4)
torch.empty(3).uniform_(-0.1, 0.3)
torch.empty(3, dtype=torch.float64).uniform_(-0.1, 0.3)
torch.empty(3, dtype=torch.float16).uniform_(-1, 2)
torch.empty(4).normal_(0.3, 1.7)
torch.empty(20).normal_(0.3, 1.7)
torch.empty(3).exponential_(1.5)
torch.empty(3, dtype=torch.float64).exponential_()
torch.empty(3).cauchy_(1, 2)
torch.empty(4).geometric_(0.2)
torch.empty(3).log_normal_(0.5, 0.25)
torch.empty(6).bernoulli_(0.3)
torch.empty(6, dtype=torch.int64).bernoulli_(0.3)
torch.empty(4).bernoulli_(torch.tensor([0.2, 0.8, 0.5, 0.5]))
torch.empty(3, dtype=torch.int64).random_()
torch.empty(3, dtype=torch.int32).random_()
torch.empty(3, dtype=torch.uint8).random_()
torch.empty(3, dtype=torch.float32).random_()
torch.empty(3, dtype=torch.float64).random_()
torch.empty(5, dtype=torch.bool).random_()
torch.empty(4, dtype=torch.int16).random_(100)
torch.empty(4).random_(3, 9)
torch.multinomial(torch.tensor([0.1, 0.2, 0.3, 0.4, 1.5]), 6, replacement=True)
torch.multinomial(torch.tensor([0.1, 0.2, 0.3, 0.4, 1.5]), 3)
torch.multinomial(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 3, replacement=True)
torch.multinomial(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
torch.multinomial(torch.tensor([0.1, 0.2, 0.3, 0.4, 1.5]), 1, replacement=True)
torch.multinomial(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, replacement=True)
torch.binomial(torch.tensor([5.0, 50.0, 1000.0, 30.0]), torch.tensor([0.3, 0.6, 0.9, 0.99]))
torch.binomial(torch.full((5,), 1e6, dtype=torch.float64), torch.full((5,), 0.4, dtype=torch.float64))
torch.binomial(torch.full((4,), 2e8), torch.full((4,), 0.3))
torch.distributions.Categorical(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sample()
F.dropout(torch.ones(8), 0.3)
F.dropout(torch.ones(8, dtype=torch.float64), 0.6)
F.dropout2d(torch.ones(1, 4, 1, 2), 0.5)
F.alpha_dropout(torch.ones(6), 0.4, training=True)
F.feature_alpha_dropout(torch.ones(1, 4, 2), 0.4, training=True)
F.gumbel_softmax(torch.zeros(4), 0.5)
F.rrelu(torch.tensor([-1.0, 2.0, -0.5, 0.0, -3.0]), training=True)
F.rrelu(torch.tensor([-1.0, 2.0, -3.0], dtype=torch.float64), 0.2, 0.7, training=True)
F.rrelu(torch.tensor([-1.0, 2.0, -3.0], dtype=torch.bfloat16), training=True)
torch.tensor(list(data.RandomSampler(range(6))))
torch.tensor(list(data.RandomSampler(range(6), replacement=True, num_samples=40))[:8])
torch.tensor(list(data.SubsetRandomSampler([3, 1, 5, 7])))
torch.tensor(list(data.WeightedRandomSampler([0.1, 0.9, 0.4], 5)))
torch.tensor([i.item() for i in data.DataLoader(range(6), shuffle=True)])
torch.tensor(data.random_split(range(6), [4, 2])[1].indices)
nn.init.trunc_normal_(torch.empty(4), std=0.02)
nn.init.kaiming_uniform_(torch.empty(2, 3))
nn.init.xavier_normal_(torch.empty(4, 5))
nn.init.orthogonal_(torch.empty(3, 3))
nn.init.orthogonal_(torch.empty(2, 4))
nn.init.sparse_(torch.empty(3, 2), 0.5)
nn.Linear(3, 2).weight
nn.Linear(3, 2).bias
nn.Conv2d(1, 2, 2).bias
nn.ConvTranspose1d(2, 1, 2).weight
nn.Embedding(3, 2).weight
nn.Bilinear(2, 2, 1).bias
nn.LSTM(2, 1).bias_hh_l0
nn.GRUCell(2, 1).weight_hh
nn.RNN(1, 1, num_layers=2, bidirectional=True).weight_hh_l1_reverse
nn.MultiheadAttention(2, 1).out_proj.weight
nn.MultiheadAttention(2, 1, kdim=3, vdim=2).v_proj_weight
nn.TransformerEncoderLayer(2, 1, 3).linear2.bias
nn.TransformerDecoderLayer(2, 1, 3).linear2.bias
nn.Transformer(2, 1, 1, 1, 3).decoder.layers[0].linear2.weight
nn.PReLU().weight
nn.EmbeddingBag(3, 2).weight
nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)).parametrizations.weight[0]._u
D.Normal(1.0, 2.0).sample((3,))
D.Uniform(1.0, 2.0).sample((3,))
D.Exponential(2.0).sample((3,))
D.Laplace(1.0, 2.0).sample((3,))
D.Cauchy(1.0, 2.0).sample((3,))
D.Bernoulli(0.4).sample((6,))
D.Categorical(torch.tensor([0.2, 0.3, 0.5])).sample((5,))
D.Geometric(0.3).sample((4,))
D.Gumbel(0.0, 1.0).sample((3,))
D.HalfNormal(1.5).sample((3,))
D.LogNormal(0.5, 0.25).sample((3,))
D.Weibull(1.5, 2.0).sample((3,))
D.Pareto(1.5, 2.0).sample((3,))
D.MultivariateNormal(torch.zeros(2), torch.eye(2)).sample()
D.OneHotCategorical(torch.tensor([0.2, 0.3, 0.5])).sample((2,))
D.RelaxedBernoulli(torch.tensor(0.5), torch.tensor(0.4)).sample((2,))
D.Gamma(2.0, 1.5).sample((3,))
D.Gamma(0.5, 1.5).sample((3,))
D.Beta(0.5, 1.5).sample((3,))
D.Dirichlet(torch.tensor([0.5, 1.5, 2.0])).sample((2,))
D.StudentT(3.0).sample((3,))
D.Chi2(3.0).sample((3,))
D.Poisson(2.5).sample((5,))
D.Poisson(40.0).sample((5,))
D.Binomial(10, torch.tensor(0.3)).sample((5,))
D.Binomial(100, torch.tensor(0.3)).sample((5,))
D.NegativeBinomial(5, torch.tensor(0.3)).sample((5,))
D.VonMises(0.5, 2.0).sample((3,))
D.VonMises(torch.tensor([1.0, -2.0], dtype=torch.float64), torch.tensor([1e-6, 50.0])).sample((2,))
D.Kumaraswamy(0.5, 2.0).sample((3,))
D.InverseGamma(2.0, 2.0).sample((3,))
D.Wishart(torch.tensor([3.0]), torch.eye(2)).sample()
D.Wishart(torch.tensor([3.5, 6.0]).double(), torch.eye(3).double()).sample((2,))
D.LKJCholesky(3, 1.0).sample()
D.LKJCholesky(4, torch.tensor([0.5, 3.0], dtype=torch.float64)).sample((2,))
D.LogisticNormal(torch.zeros(2), torch.ones(2)).sample()
D.FisherSnedecor(3.0, 4.0).sample((3,))
D.ContinuousBernoulli(0.3).sample((3,))
D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), torch.ones(2))).sample((3,))
""".strip().splitlines()


def drawn(expression: str, torch: Any) -> tuple[list[float], float]:
    """The numbers of an expression, and the next one of the stream."""
    torch.manual_seed(SEED)
    names = {"D": torch.distributions, "F": torch.nn.functional, "nn": torch.nn, "data": torch.utils.data}
    found = eval(expression, {"torch": torch, **names}).detach()
    found = torch.view_as_real(found) if found.is_complex() else found
    return found.double().flatten().tolist(), torch.rand(()).item()


if __name__ == "__main__":
    os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
    import torch

    lines = (f"{json.dumps(e)}: {json.dumps(drawn(e, torch))}" for e in DRAWS)
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
