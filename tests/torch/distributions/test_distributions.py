"""``torch.distributions``: densities, samples, divergences and what is refused."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest
from scipy import integrate, stats

torch: Any = _torch
D: Any = torch.distributions


def t(values: Any, tracked: bool = False) -> Any:
    return torch.tensor(np.asarray(values, np.float64), requires_grad=tracked)


# A distribution, the same one of SciPy, and where its values lie.
SCALAR: dict[str, tuple[Any, Any, tuple[float, float]]] = {
    "normal": (lambda: D.Normal(t(0.5), t(2.0)), stats.norm(0.5, 2.0), (-30, 30)),
    "laplace": (lambda: D.Laplace(t(0.5), t(2.0)), stats.laplace(0.5, 2.0), (-60, 60)),
    "exponential": (lambda: D.Exponential(t(0.5)), stats.expon(scale=2.0), (0, 80)),
    "uniform": (lambda: D.Uniform(t(-1.0), t(3.0)), stats.uniform(-1.0, 4.0), (-1, 3)),
    "log-normal": (lambda: D.LogNormal(t(0.5), t(0.4)), stats.lognorm(0.4, scale=math.exp(0.5)), (1e-9, 40)),
    "gumbel": (lambda: D.Gumbel(t(0.5), t(2.0)), stats.gumbel_r(0.5, 2.0), (-12, 80)),
    "half-normal": (lambda: D.HalfNormal(t(2.0)), stats.halfnorm(scale=2.0), (0, 30)),
    "gamma": (lambda: D.Gamma(t(1.5), t(2.0)), stats.gamma(1.5, scale=0.5), (1e-9, 30)),
    "chi2": (lambda: D.Chi2(t(3.0)), stats.chi2(3), (1e-9, 80)),
    "pareto": (lambda: D.Pareto(t(0.05), t(3.0)), stats.pareto(3.0, scale=0.05), (0.05, 40)),
    "weibull": (lambda: D.Weibull(t(2.0), t(1.5)), stats.weibull_min(1.5, scale=2.0), (1e-9, 30)),
    "kumaraswamy": (lambda: D.Kumaraswamy(t(2.0), t(1.5)), None, (1e-9, 1 - 1e-9)),
    "generalized pareto": (
        lambda: D.GeneralizedPareto(t(0.05), t(1.0), t(0.1)),
        stats.genpareto(0.1, 0.05, 1.0),
        (0.05, 1e3),
    ),
    "bounded pareto": (lambda: D.GeneralizedPareto(t(0.0), t(1.0), t(-0.3)), stats.genpareto(-0.3), (0, 1 / 0.3)),
    "continuous bernoulli": (lambda: D.ContinuousBernoulli(t(0.2)), None, (0, 1)),
    "mixture": (
        lambda: D.MixtureSameFamily(D.Categorical(t([1.0, 3.0])), D.Normal(t([-1.0, 1.0]), t([0.5, 1.5]))),
        None,
        (-30, 30),
    ),
    "decreasing": (
        lambda: D.TransformedDistribution(D.Exponential(t(0.5)), [D.AffineTransform(1.0, -2.0)]),
        None,
        (-160, 1),
    ),
    "sigmoid": (
        lambda: D.TransformedDistribution(D.Normal(t(0.3), t(1.2)), D.SigmoidTransform()),
        None,
        (1e-9, 1 - 1e-9),
    ),
}


@pytest.mark.parametrize("name", SCALAR)
def test_numbers(name: str) -> None:
    make, same, (low, high) = SCALAR[name]
    d = make()
    middle = 0.5 * (low + high) if high < 5 and low > -5 else 0.7
    whole = integrate.quad(lambda x: d.log_prob(t(x)).exp().item(), low, high, points=[middle], limit=200)[0]
    assert whole == pytest.approx(1, abs=1e-6)
    x = t(np.linspace(max(low, -2) + 0.1, min(high, 3) - 0.1, 7), True)
    (slope,) = torch.autograd.grad(d.cdf(x).sum(), x)
    np.testing.assert_allclose(slope.numpy(), d.log_prob(x).exp().detach().numpy(), rtol=1e-9)
    if same is not None:
        v = x.detach().numpy()
        np.testing.assert_allclose(d.log_prob(x).detach().numpy(), same.logpdf(v), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(d.cdf(x).detach().numpy(), same.cdf(v), rtol=1e-9, atol=1e-15)
        assert d.mean.item() == pytest.approx(same.mean())
        assert d.variance.item() == pytest.approx(same.var())
        assert d.stddev.item() == pytest.approx(same.std())
        assert d.entropy().item() == pytest.approx(same.entropy())
        assert d.perplexity().item() == pytest.approx(math.exp(same.entropy()))
    torch.manual_seed(0)
    drawn = d.sample((20_000,))
    assert not drawn.requires_grad
    assert stats.kstest(drawn.numpy(), lambda y: d.cdf(t(y)).numpy()).pvalue > 1e-3
    q = t([0.01, 0.3, 0.5, 0.99])
    if name in ("gamma", "chi2", "mixture"):
        with pytest.raises(NotImplementedError):
            d.icdf(q)
    else:
        np.testing.assert_allclose(d.cdf(d.icdf(q)).numpy(), q.numpy(), rtol=1e-9)


def test_gradients_flow_through_samples() -> None:
    loc, scale = t([0.5, -1.0], True), t([2.0, 0.5], True)
    for make in (D.Normal, D.Laplace, lambda a, b: D.Uniform(a, a + b), D.LogNormal):
        d = make(loc, scale)
        assert d.has_rsample
        torch.manual_seed(1)
        x = d.rsample((3,))
        assert x.shape == (3, 2)
        g = torch.autograd.grad(x.sum(), (loc, scale))
        step = 1e-6
        torch.manual_seed(1)
        moved = make(loc + step, scale).rsample((3,))
        np.testing.assert_allclose(((moved - x).sum(0) / step).detach().numpy(), g[0].numpy(), rtol=1e-4)
        assert g[1].shape == (2,)
    d = D.Independent(D.Normal(loc, scale), 1)
    assert d.rsample().requires_grad
    assert not d.sample().requires_grad


def test_bernoulli() -> None:
    p = t([0.2, 0.5, 0.9], True)
    by_probs, by_logits = D.Bernoulli(p), D.Bernoulli(logits=torch.log(p) - torch.log(1 - p))
    v = t([1.0, 0.0, 1.0])
    for d in (by_probs, by_logits):
        np.testing.assert_allclose(d.log_prob(v).exp().detach().numpy(), [0.2, 0.5, 0.9])
        np.testing.assert_allclose(d.entropy().detach().numpy(), stats.bernoulli(p.tolist()).entropy())
        np.testing.assert_allclose(d.variance.detach().numpy(), [0.16, 0.25, 0.09])
        (g,) = torch.autograd.grad(d.log_prob(v).sum(), p, retain_graph=True)
        np.testing.assert_allclose(g.numpy(), [5, -2, 1 / 0.9])
    torch.manual_seed(0)
    np.testing.assert_allclose(by_probs.sample((20_000,)).mean(0).numpy(), [0.2, 0.5, 0.9], atol=0.02)
    np.testing.assert_array_equal(by_probs.mode.detach().numpy(), [0, np.nan, 1])
    assert by_probs.enumerate_support().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert by_probs.enumerate_support(expand=False).shape == (2, 1)
    assert D.Bernoulli(t([0.0, 1.0])).log_prob(t([0.0, 1.0])).exp().tolist() == pytest.approx([1, 1])


def test_categorical() -> None:
    weights = t([[1.0, 0.0, 3.0], [2.0, 2.0, 4.0]], True)
    d = D.Categorical(weights)
    assert d.batch_shape == (2,)
    np.testing.assert_allclose(d.probs.detach().numpy(), [[0.25, 0, 0.75], [0.25, 0.25, 0.5]])
    np.testing.assert_allclose(d.log_prob(torch.tensor([2, 0])).exp().detach().numpy(), [0.75, 0.25])
    assert d.log_prob(torch.tensor([[0], [2], [2]])).shape == (3, 2)
    np.testing.assert_allclose(d.entropy().detach().numpy()[1], stats.entropy([0.25, 0.25, 0.5]))
    torch.manual_seed(0)
    drawn = d.sample((20_000,)).numpy()
    for row, wanted in enumerate(([0.25, 0, 0.75], [0.25, 0.25, 0.5])):
        counts = np.bincount(drawn[:, row], minlength=3) / 20_000
        np.testing.assert_allclose(counts, wanted, atol=0.02)
        assert (counts > 0).tolist() == [w > 0 for w in wanted]
    by_logits = D.Categorical(logits=t([0.0, math.log(3.0)]))
    np.testing.assert_allclose(by_logits.probs.numpy(), [0.25, 0.75])
    assert d.mode.tolist() == [2, 2]
    assert d.mean.isnan().all().item()
    assert d.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    d.log_prob(torch.tensor([2, 0])).sum().backward()
    np.testing.assert_allclose(weights.grad.numpy(), [[-0.25, -0.25, 1 / 12], [0.375, -0.125, -0.125]], atol=1e-6)


def test_multivariate_normal() -> None:
    rng = np.random.default_rng(0)
    m = rng.normal(size=(3, 3))
    covariance, loc = m @ m.T + np.eye(3), rng.normal(size=3)
    same = stats.multivariate_normal(loc, covariance)
    x = rng.normal(size=(4, 3))
    for options in (
        {"covariance_matrix": t(covariance)},
        {"precision_matrix": t(np.linalg.inv(covariance))},
        {"scale_tril": t(np.linalg.cholesky(covariance))},
    ):
        d = D.MultivariateNormal(t(loc), **options)
        np.testing.assert_allclose(d.log_prob(t(x)).numpy(), same.logpdf(x))
        np.testing.assert_allclose(d.covariance_matrix.numpy(), covariance)
        np.testing.assert_allclose(d.precision_matrix.numpy(), np.linalg.inv(covariance))
        assert d.entropy().item() == pytest.approx(same.entropy())
        np.testing.assert_allclose(d.variance.numpy(), np.diag(covariance))
    torch.manual_seed(0)
    drawn = d.sample((50_000,)).numpy()
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.15)
    wide = d.expand([5, 2])
    assert wide.log_prob(t(x[0])).shape == (5, 2)
    batch = D.MultivariateNormal(t(np.zeros((2, 3))), t(np.stack([covariance, np.eye(3)])))
    assert batch.batch_shape == (2,)
    assert batch.log_prob(t(x[:2])).shape == (2,)
    for options, text in (
        ({}, "Exactly one of covariance_matrix"),
        ({"covariance_matrix": t(-np.eye(3))}, r"constraint PositiveDefinite\(\)"),
        ({"scale_tril": t(np.ones((3, 3)))}, r"constraint LowerCholesky\(\)"),
    ):
        with pytest.raises(ValueError, match=text):
            D.MultivariateNormal(t(loc), **options)


PAIRS: dict[str, tuple[Any, Any]] = {
    "normal": (lambda: D.Normal(t(0.5), t(2.0)), lambda: D.Normal(t(-1.0), t(1.5))),
    "laplace": (lambda: D.Laplace(t(0.5), t(2.0)), lambda: D.Laplace(t(-1.0), t(1.5))),
    "exponential": (lambda: D.Exponential(t(0.5)), lambda: D.Exponential(t(1.5))),
    "uniform": (lambda: D.Uniform(t(0.0), t(1.0)), lambda: D.Uniform(t(-1.0), t(3.0))),
    "log-normal": (lambda: D.LogNormal(t(0.5), t(0.5)), lambda: D.LogNormal(t(0.0), t(0.7))),
    "bernoulli": (lambda: D.Bernoulli(t(0.2)), lambda: D.Bernoulli(t(0.6))),
    "categorical": (lambda: D.Categorical(t([1.0, 0.0, 2.0])), lambda: D.Categorical(t([1.0, 1.0, 1.0]))),
    "vectors": (
        lambda: D.MultivariateNormal(t([0.5, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
        lambda: D.MultivariateNormal(t([0.0, 0.0]), t([[1.0, -0.3], [-0.3, 2.0]])),
    ),
    "independent": (
        lambda: D.Independent(D.Normal(t([0.5, 1.0]), t([1.0, 2.0])), 1),
        lambda: D.Independent(D.Normal(t([0.0, 0.0]), t([2.0, 2.0])), 1),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name: str) -> None:
    p, q = (make() for make in PAIRS[name])
    torch.manual_seed(0)
    x = p.sample((100_000,))
    gaps = (p.log_prob(x) - q.log_prob(x)).numpy()
    found = D.kl_divergence(p, q)
    assert found.shape == ()
    assert found.item() == pytest.approx(gaps.mean(), abs=5 * gaps.std() / math.sqrt(1e5) + 1e-12)
    assert D.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-12)


def test_divergences_that_are_infinite_or_unknown() -> None:
    assert D.kl_divergence(D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)).item() == math.inf
    assert D.kl_divergence(D.Bernoulli(t(0.5)), D.Bernoulli(t(0.0))).item() == math.inf
    assert D.kl_divergence(D.Bernoulli(t(0.0)), D.Bernoulli(t(0.5))).item() == pytest.approx(math.log(2))
    assert D.kl_divergence(D.Categorical(t([1.0, 1.0])), D.Categorical(t([1.0, 0.0]))).item() == math.inf
    with pytest.raises(NotImplementedError, match=r"No KL.* p type Normal and q type Binomial"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Binomial(2, 0.5))

    class Own(D.Normal):  # type: ignore[misc]
        pass

    assert D.kl_divergence(Own(0.0, 1.0), D.Normal(2.0, 1.0)).item() == 2

    @D.register_kl(Own, D.Normal)
    def _(p: Any, q: Any) -> float:
        return 7.0

    assert D.kl_divergence(Own(0.0, 1.0), D.Normal(2.0, 1.0)) == 7
    with pytest.raises(TypeError, match="Expected a Distribution subclass"):
        D.register_kl(3, D.Normal)


@pytest.mark.parametrize(
    "make",
    [
        D.ExpTransform,
        lambda: D.AffineTransform(0.5, -2.0),
        lambda: D.AffineTransform(t(0.5), t([2.0, -3.0, 1.0])),
        D.SigmoidTransform,
        D.TanhTransform,
        D.SoftplusTransform,
        lambda: D.PowerTransform(1.5),
        lambda: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.ExpTransform()]),
        lambda: D.ExpTransform().inv,
    ],
)
def test_transforms(make: Any) -> None:
    f = make()
    x = t([0.2, 0.7, 1.3], True)
    y = f(x)
    np.testing.assert_allclose(f.inv(y).detach().numpy(), x.detach().numpy(), rtol=1e-9)
    (slope,) = torch.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(f.log_abs_det_jacobian(x, y).detach().numpy(), np.log(abs(slope.numpy())), rtol=1e-8)
    np.testing.assert_array_equal(np.sign(slope.numpy()), np.broadcast_to(np.asarray(f.sign), 3))
    assert f.codomain.check(y).all().item()
    assert repr(f.inv.inv) == repr(f)
    np.testing.assert_allclose(
        f.inv.log_abs_det_jacobian(y, x).detach().numpy(), -np.log(abs(slope.numpy())), rtol=1e-8
    )


def test_constraints() -> None:
    c = D.constraints
    for constraint, inside, outside in (
        (c.real, 3.0, math.nan),
        (c.positive, 0.1, 0.0),
        (c.nonnegative, 0.0, -0.1),
        (c.unit_interval, 1.0, 1.1),
        (c.boolean, 1.0, 0.5),
        (c.greater_than(2), 3.0, 2.0),
        (c.greater_than_eq(2), 2.0, 1.0),
        (c.less_than(2), 1.0, 2.0),
        (c.half_open_interval(0, 1), 0.0, 1.0),
        (c.integer_interval(0, 3), 3.0, 2.5),
        (c.simplex, [0.25, 0.75], [0.5, 0.6]),
        (c.real_vector, [1.0, 2.0], [1.0, math.nan]),
        (c.lower_cholesky, [[1.0, 0.0], [5.0, 2.0]], [[1.0, 1.0], [0.0, 2.0]]),
        (c.positive_definite, [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
    ):
        assert constraint.check(t(inside)).item(), constraint
        assert not constraint.check(t(outside)).item(), constraint


def test_shapes() -> None:
    d = D.Normal(t([0.0, 1.0, 2.0]), 1.0)
    assert d.batch_shape == (3,)
    assert d.event_shape == ()
    assert d.sample((2, 4)).shape == (2, 4, 3)
    assert d.expand((5, 3)).sample().shape == (5, 3)
    assert d.expand((5, 3)).log_prob(t(0.5)).shape == (5, 3)
    both = D.Independent(d.expand((5, 3)), 1)
    assert (both.batch_shape, both.event_shape) == ((5,), (3,))
    assert both.log_prob(t([0.0, 1.0, 2.0])).shape == (5,)
    assert both.entropy().shape == (5,)
    assert both.expand((2, 5)).sample().shape == (2, 5, 3)
    y = D.TransformedDistribution(both, [D.ExpTransform()])
    assert y.log_prob(y.sample()).shape == (5,)
    assert y.expand((2, 5)).batch_shape == (2, 5)
    assert D.LogNormal(t([0.0, 1.0]), 1.0).expand((3, 2)).sample().shape == (3, 2)
    assert D.Normal(0.0, 1.0).sample().dtype == torch.float32
    assert D.Normal(torch.tensor(0.0), torch.tensor([])).sample().shape == (0,)
    assert pickle.loads(pickle.dumps(d)).log_prob(t(0.0)).shape == (3,)
    assert repr(d) == "Normal(loc: torch.Size([3]), scale: torch.Size([3]))"
    assert repr(D.Independent(d, 1)).startswith("Independent(Normal(")


def test_wrong_arguments_raise() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: D.Normal(0.0, -1.0), r"Expected parameter scale .* constraint GreaterThan\(lower_bound=0.0\)"),
        (lambda: D.Normal(math.nan, 1.0), "Expected parameter loc"),
        (lambda: D.Uniform(1.0, 0.0), "Uniform is not defined when low>= high"),
        (lambda: D.Bernoulli(), "either `probs` or `logits` must be specified"),
        (lambda: D.Bernoulli(t(1.5)), "Expected parameter probs"),
        (lambda: D.Categorical(t(0.5)), "at least one-dimensional"),
        (lambda: D.Categorical(t([-1.0, 2.0])), "Expected parameter probs"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Expected reinterpreted_batch_ndims <="),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), "transforms must be a Transform"),
        (lambda: D.Exponential(1.0).log_prob(torch.tensor(-1.0)), "to be within the support"),
        (lambda: D.Normal(0.0, 1.0).log_prob(0.5), "must be a Tensor"),
        (lambda: D.Normal(t([0.0, 1.0]), 1.0).log_prob(t([0.0] * 3)), "not broadcastable"),
        (lambda: D.MultivariateNormal(t([0.0]), t([[1.0]])).log_prob(t([0.0] * 3)), "must match event_shape"),
        (lambda: D.Categorical(t([1.0, 1.0])).log_prob(torch.tensor(2)), "to be within the support"),
        (lambda: D.Distribution.set_default_validate_args(3), "True or False is wanted"),
    ]
    for call, text in cases:
        with pytest.raises(ValueError, match=text):
            call()
    unchecked = D.Exponential(1.0, validate_args=False)
    assert unchecked.log_prob(torch.tensor(-1.0)).item() == 1
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    for name, d in itertools.product(("cdf", "icdf", "rsample"), (D.Bernoulli(t(0.5)), D.Categorical(t([1.0, 1.0])))):
        with pytest.raises(NotImplementedError):
            getattr(d, name)(*([] if name == "rsample" else [t(0.0)]))


def test_cauchy() -> None:
    torch.manual_seed(0)
    loc = t(0.5, True)
    d, want = D.Cauchy(loc, t(2.0)), stats.cauchy(0.5, 2.0)
    x = np.array([-30.0, 0.5, 4.0])
    np.testing.assert_allclose(d.log_prob(t(x)).tolist(), want.logpdf(x))
    np.testing.assert_allclose(d.cdf(t(x)).tolist(), want.cdf(x))
    np.testing.assert_allclose(d.icdf(t([0.01, 0.5, 0.9])).tolist(), want.ppf([0.01, 0.5, 0.9]))
    assert d.entropy().item() == pytest.approx(want.entropy())
    assert (math.isnan(d.mean.item()), d.variance.item(), d.mode.item()) == (True, math.inf, 0.5)
    drawn = d.rsample((20_000,))
    assert stats.kstest(drawn.detach().numpy(), want.cdf).pvalue > 1e-3
    assert torch.autograd.grad(drawn.sum(), loc)[0].item() == 20_000


def test_geometric() -> None:
    torch.manual_seed(0)
    p = t([0.3, 1.0], True)
    d, want = D.Geometric(p), stats.geom(0.3, loc=-1)
    np.testing.assert_allclose(d.mean.tolist(), [want.mean(), 0])
    np.testing.assert_allclose(d.variance.tolist(), [want.var(), 0])
    np.testing.assert_allclose(d.log_prob(t([2.0, 0.0])).tolist(), [want.logpmf(2), 0])
    d.log_prob(t([2.0, 0.0])).sum().backward()
    np.testing.assert_allclose(p.grad.tolist(), [1 / 0.3 - 2 / 0.7, 1.0])
    assert D.Geometric(t(0.3)).entropy().item() == pytest.approx(float(stats.geom(0.3).entropy()))
    drawn = d.sample((4000,))
    assert abs(drawn[:, 0].mean().item() - 0.7 / 0.3) < 0.2
    assert drawn[:, 1].max().item() == 0
    with pytest.raises(ValueError, match="positive"):
        D.Geometric(t(0.0))
    with pytest.raises(ValueError, match="support"):
        d.log_prob(t([0.5, 0.0]))


def test_one_hot_categorical() -> None:
    torch.manual_seed(0)
    d = D.OneHotCategorical(logits=t(np.log([[0.2, 0.8], [1.0, 3.0]])))
    same = D.Categorical(logits=d.logits)
    assert (d.batch_shape, d.event_shape) == ((2,), (2,))
    x = d.sample((3,))
    assert x.shape == (3, 2, 2)
    assert torch.equal(x.sum(-1), torch.ones(3, 2, dtype=x.dtype))
    np.testing.assert_allclose(d.log_prob(x).tolist(), same.log_prob(x.argmax(-1)).tolist())
    np.testing.assert_allclose(d.mean.tolist(), [[0.2, 0.8], [0.25, 0.75]])
    np.testing.assert_allclose(d.entropy().tolist(), same.entropy().tolist())
    assert d.enumerate_support().shape == (2, 2, 2)
    assert d.expand([5, 2]).sample().shape == (5, 2, 2)
    assert d.mode.tolist() == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="support"):
        d.log_prob(t([[1.0, 1.0], [0.0, 1.0]]))
