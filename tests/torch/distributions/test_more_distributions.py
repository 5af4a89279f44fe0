"""Distributions without a simple ``cdf``, samples with implicit gradients, transforms, constraints and divergences."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest
from scipy import special, stats

torch: Any = _torch
D: Any = torch.distributions
C: Any = D.constraints


def t(values: Any, tracked: bool = False) -> Any:
    return torch.tensor(np.asarray(values, np.float64), requires_grad=tracked)


MATRIX = [[1.0, 0.2], [0.2, 2.0]]
# A distribution, the same one of SciPy.
DENSITIES: dict[str, tuple[Any, Any]] = {
    "beta": (lambda: D.Beta(t(0.5), t(2.5)), stats.beta(0.5, 2.5)),
    "inverse gamma": (lambda: D.InverseGamma(t(4.5), t(2.0)), stats.invgamma(4.5, scale=2.0)),
    "half cauchy": (lambda: D.HalfCauchy(t(2.0)), stats.halfcauchy(scale=2.0)),
    "student": (lambda: D.StudentT(t(5.0), t(1.0), t(2.0)), stats.t(5, 1, 2)),
    "fisher": (lambda: D.FisherSnedecor(t(3.0), t(9.0)), stats.f(3, 9)),
    "von mises": (lambda: D.VonMises(t(0.5), t(2.0)), stats.vonmises(2.0, loc=0.5)),
    "poisson": (lambda: D.Poisson(t(2.5)), stats.poisson(2.5)),
    "binomial": (lambda: D.Binomial(7, t(0.3)), stats.binom(7, 0.3)),
    "negative binomial": (lambda: D.NegativeBinomial(t(3.0), t(0.4)), stats.nbinom(3, 0.6)),
    "dirichlet": (lambda: D.Dirichlet(t([0.5, 2.0, 3.0])), stats.dirichlet([0.5, 2.0, 3.0])),
    "multinomial": (lambda: D.Multinomial(5, t([0.2, 0.3, 0.5])), stats.multinomial(5, [0.2, 0.3, 0.5])),
    "wishart": (lambda: D.Wishart(t(4.0), t(MATRIX)), stats.wishart(4, np.array(MATRIX))),
    "low rank": (
        lambda: D.LowRankMultivariateNormal(t([0.5, 1.0]), t([[1.0], [2.0]]), t([1.0, 0.5])),
        stats.multivariate_normal([0.5, 1.0], [[2.0, 2.0], [2.0, 4.5]]),
    ),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_and_samples(name: str) -> None:
    make, same = DENSITIES[name]
    d = make()
    torch.manual_seed(0)
    drawn = d.sample((20_000,))
    x = drawn.numpy()
    assert d.support.check(drawn).all().item()
    log = same.logpmf if name in ("poisson", "binomial", "negative binomial", "multinomial") else same.logpdf
    few = x[:20]
    wanted = [log(v) for v in few] if few.ndim > 1 else log(few)
    np.testing.assert_allclose(d.log_prob(t(few)).numpy(), wanted, rtol=1e-9, atol=1e-9)
    if name == "half cauchy":
        np.testing.assert_allclose(d.cdf(t(few)).numpy(), same.cdf(few))
        np.testing.assert_allclose(d.icdf(d.cdf(t(few))).numpy(), few)
        assert d.mean.item() == d.variance.item() == math.inf
    elif name != "von mises":
        centered = x - d.mean.numpy()
        spread = np.sqrt(d.variance.numpy())
        np.testing.assert_allclose(centered.mean(0) / spread, np.zeros(x.shape[1:]), atol=0.05)
        np.testing.assert_allclose((centered**2).mean(0) / spread**2, np.ones(x.shape[1:]), rtol=0.35)
    else:
        assert np.exp(1j * x).mean() == pytest.approx(special.ive(1, 2) / special.ive(0, 2) * np.exp(0.5j), abs=0.02)
        assert d.variance.item() == pytest.approx(1 - special.ive(1, 2) / special.ive(0, 2))
    if name in ("poisson", "negative binomial", "fisher", "von mises"):
        with pytest.raises(NotImplementedError):
            d.entropy()
    else:
        assert d.entropy().item() == pytest.approx(same.entropy(), rel=1e-9)
    wide = d.expand([3, 2])
    assert wide.sample().shape == (3, 2, *d.event_shape)
    assert wide.log_prob(drawn[0]).shape == (3, 2)
    assert copy.deepcopy(d).mean.tolist() == d.mean.tolist()
    torch.manual_seed(0)
    assert torch.equal(d.sample((20_000,)), drawn)


@pytest.mark.parametrize("a", [0.01, 0.7, 3.0, 39.0, 60.0, 2000.0])
def test_gradients_of_gamma_samples_keep_the_probability(a: float) -> None:
    concentration = t(np.full(50, a), True)
    torch.manual_seed(1)
    x = D.Gamma(concentration, t(2.0)).rsample()
    x.sum().backward()
    v, h = 2 * x.detach().numpy(), 1e-5 * a
    keep = v > 1e-250
    moved = [special.gammaincinv(a + step, special.gammainc(a, v[keep])) for step in (-h, h)]
    # SciPy's inverse has fewer digits in the upper tail.
    wanted = (moved[1] - moved[0]) / (2 * h) / 2
    np.testing.assert_allclose(concentration.grad.numpy()[keep], wanted, rtol=2e-4)


def test_gradients_flow_through_samples() -> None:
    makes: list[Any] = [
        lambda a, b: D.Beta(a, b),
        lambda a, b: D.StudentT(a, b, b),
        lambda a, b: D.FisherSnedecor(a, b),
        lambda a, b: D.InverseGamma(a, b),
        lambda a, b: D.Weibull(a, b),
        lambda a, b: D.Pareto(a, b),
        lambda a, b: D.Kumaraswamy(a, b),
        lambda a, b: D.GeneralizedPareto(a, b, b),
        lambda a, b: D.Dirichlet(torch.stack([a, b], -1)),
        lambda a, b: D.RelaxedBernoulli(a, logits=b),
        lambda a, b: D.RelaxedOneHotCategorical(t(0.5), logits=torch.stack([a, b], -1)),
        lambda a, b: D.LogisticNormal(a, b),
        lambda a, b: D.OneHotCategoricalStraightThrough(logits=torch.stack([a, b], -1)),
    ]
    for make in makes:
        a, b = t([1.5, 2.0], True), t([0.7, 3.0], True)
        d = make(a, b)
        assert d.has_rsample
        x = d.rsample((3,))
        assert x.shape == (3, *d.batch_shape, *d.event_shape)
        assert all(torch.isfinite(g).all().item() for g in torch.autograd.grad((x * x).sum(), (a, b)))
    a = t(2.0, True)
    (g,) = torch.autograd.grad(D.Gamma(a, a).rsample(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        torch.autograd.grad(g, a)


def test_correlations() -> None:
    d = D.LKJCholesky(3, t(1.0))
    torch.manual_seed(0)
    x = d.sample((20_000,))
    assert C.corr_cholesky.check(x).all().item()
    # With the concentration 1 correlations are uniform over matrices: each has a beta distribution on (-1, 1).
    r = (x.numpy() @ np.swapaxes(x.numpy(), -1, -2))[:, 0, 1]
    assert stats.kstest((r + 1) / 2, stats.beta(1.5, 1.5).cdf).pvalue > 1e-3
    # The volume of correlation matrices of three rows is pi**2 / 2. The density of the factor has a jacobian more.
    eye = t(np.eye(3))
    assert d.log_prob(eye).item() == pytest.approx(math.log(2 / math.pi**2), rel=1e-9)


BIJECTIONS: dict[str, tuple[Any, Any]] = {
    "exp": (D.ExpTransform(), [[0.3, -1.0, 2.0]]),
    "sigmoid": (D.SigmoidTransform(), [[0.3, -1.0, 2.0]]),
    "tanh": (D.TanhTransform(), [[0.3, -1.0, 2.0]]),
    "softplus": (D.SoftplusTransform(), [[0.3, -1.0, 2.0]]),
    "power": (D.PowerTransform(t(1.5)), [[0.3, 1.0, 2.0]]),
    "affine": (D.AffineTransform(t(1.0), t(-2.0)), [[0.3, -1.0, 2.0]]),
    "sticks": (D.StickBreakingTransform(), [0.3, -1.0, 2.0]),
    "correlations": (D.CorrCholeskyTransform(), [0.3, -1.0, 2.0]),
    "reshaped": (D.ReshapeTransform((4,), (2, 2)), [0.3, -1.0, 2.0, 1.0]),
    "independent": (D.IndependentTransform(D.ExpTransform(), 1), [0.3, -1.0]),
    "composed": (D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.StickBreakingTransform()]), [0.3, -1.0]),
    "cumulative": (D.CumulativeDistributionTransform(D.Normal(t(0.0), t(1.0))), [[0.3, -1.0]]),
}


@pytest.mark.parametrize("name", BIJECTIONS)
def test_bijections(name: str) -> None:
    transform, values = BIJECTIONS[name]
    x = t(values, True)
    y = transform(x)
    assert y.shape == transform.forward_shape(x.shape)
    assert transform.inverse_shape(y.shape) == x.shape
    np.testing.assert_allclose(transform.inv(y).detach().numpy(), x.detach().numpy(), rtol=1e-9)
    found = transform.log_abs_det_jacobian(x, y).detach().numpy()
    jacobian = torch.autograd.functional.jacobian(transform, x).numpy()
    if transform.domain.event_dim == 0:
        slopes = np.einsum("ijij->ij", jacobian)
        np.testing.assert_allclose(found, np.log(np.abs(slopes)), rtol=1e-9)
    else:
        n = x.numel()
        places = {"correlations": [3, 6, 7]}.get(name, list(range(n)))
        square = jacobian.reshape(-1, n)[places]
        assert found == pytest.approx(np.linalg.slogdet(square)[1], rel=1e-9)
    assert transform.inv.inv is transform
    assert transform.bijective


def test_transforms_of_constraints() -> None:
    x = t(np.sin(np.arange(9.0)).reshape(3, 3))
    for constraint, values in (
        (C.positive, x),
        (C.greater_than(2.0), x),
        (C.less_than(-1.0), x),
        (C.interval(-1.0, 3.0), x),
        (C.simplex, x),
        (C.corr_cholesky, x),
        (C.independent(C.unit_interval, 1), x),
        (C.stack([C.positive, C.real, C.unit_interval], 0), x),
        (C.cat([C.positive, C.real], 0, [1, 2]), x),
    ):
        for registry in (D.biject_to, D.transform_to):
            transform = registry(constraint)
            y = transform(values)
            assert constraint.check(y).all().item()
            again = transform(transform.inv(y))
            np.testing.assert_allclose(again.numpy(), y.numpy(), rtol=1e-9)
    for constraint in (C.lower_cholesky, C.positive_definite):
        transform = D.transform_to(constraint)
        assert constraint.check(transform(x)).all().item()
        np.testing.assert_allclose(transform(transform.inv(transform(x))).numpy(), transform(x).numpy(), rtol=1e-9)
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        D.biject_to(C.boolean)


def test_a_cache_gives_the_exact_argument() -> None:
    for size in (0, 1):
        squash = D.TanhTransform(cache_size=size)
        x = t(30.0)
        assert (squash.inv(squash(x)).item() == 30) == bool(size)
    policy = D.TransformedDistribution(D.Normal(t([0.0, 0.0]), t([1.0, 2.0])), [D.TanhTransform(cache_size=1)])
    assert torch.isfinite(D.Independent(policy, 1).log_prob(policy.rsample())).item()


def test_a_transform_of_the_users() -> None:
    class Square(D.Transform):  # type: ignore[misc]
        domain = codomain = C.positive
        bijective, sign = True, 1

        def _call(self, x: Any) -> Any:
            return x * x

        def _inverse(self, y: Any) -> Any:
            return y.sqrt()

        def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
            return (2 * x).log()

    d = D.TransformedDistribution(D.Exponential(t(1.0)), Square())
    x = t([0.5, 2.0])
    wanted = -np.sqrt(x.numpy()) - np.log(2 * np.sqrt(x.numpy()))
    np.testing.assert_allclose(d.log_prob(x).numpy(), wanted)
    np.testing.assert_allclose(d.cdf(x).numpy(), 1 - np.exp(-np.sqrt(x.numpy())))


def test_mixtures_of_vectors() -> None:
    parts = D.Independent(D.Normal(t([[0.0, 2.0], [4.0, 1.0]]), t([[1.0, 0.5], [1.0, 2.0]])), 1)
    d = D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), parts)
    assert (d.batch_shape, d.event_shape) == ((), (2,))
    torch.manual_seed(0)
    x = d.sample((20_000,))
    np.testing.assert_allclose(x.numpy().mean(0), d.mean.numpy(), atol=0.05)
    np.testing.assert_allclose(x.numpy().var(0), d.variance.numpy(), rtol=0.05)
    point = t([1.0, 1.0])
    logs = parts.log_prob(point).exp().numpy()
    assert d.log_prob(point).exp().item() == pytest.approx(0.3 * logs[0] + 0.7 * logs[1])
    with pytest.raises(ValueError, match="does not equal"):
        D.MixtureSameFamily(D.Categorical(t([1.0, 1.0, 1.0])), parts)


KINDS: dict[str, Any] = {
    "beta": lambda: D.Beta(t(2.0), t(3.5)),
    "gamma": lambda: D.Gamma(t(3.0), t(2.0)),
    "exponential": lambda: D.Exponential(t(1.5)),
    "normal": lambda: D.Normal(t(0.5), t(1.5)),
    "laplace": lambda: D.Laplace(t(-0.5), t(2.0)),
    "gumbel": lambda: D.Gumbel(t(0.5), t(2.5)),
    "uniform": lambda: D.Uniform(t(0.2), t(0.9)),
    "pareto": lambda: D.Pareto(t(0.1), t(6.5)),
    "continuous bernoulli": lambda: D.ContinuousBernoulli(t(0.3)),
}
OTHERS: dict[str, Any] = {
    **KINDS,
    "gamma": lambda: D.Gamma(t(1.5), t(1.0)),
    "uniform": lambda: D.Uniform(t(-0.5), t(1.5)),
    "normal": lambda: D.Normal(t(-0.5), t(2.5)),
}
KNOWN = [
    *[(a, "normal") for a in KINDS],
    *[(a, "exponential") for a in ("beta", "gamma", "pareto", "uniform", "continuous bernoulli")],
    *[(a, "gamma") for a in ("gamma", "beta", "exponential", "pareto", "uniform")],
    *[(a, "gumbel") for a in ("gumbel", "exponential", "gamma", "normal", "uniform")],
    *[(a, "uniform") for a in ("beta", "continuous bernoulli")],
    *[(a, "continuous bernoulli") for a in ("beta", "uniform")],
    *[("uniform", b) for b in ("beta", "pareto")],
    ("normal", "laplace"),
]


@pytest.mark.parametrize(("a", "b"), KNOWN)
def test_divergences_are_means_over_samples(a: str, b: str) -> None:
    p, q = KINDS[a](), OTHERS[b]()
    torch.manual_seed(0)
    x = p.sample((40_000,))
    gaps = (p.log_prob(x) - q.log_prob(x)).numpy()
    assert D.kl_divergence(p, q).item() == pytest.approx(gaps.mean(), abs=6 * gaps.std() / 200 + 1e-9)


def test_divergences_of_a_class_from_itself() -> None:
    pairs = [
        (D.Dirichlet(t([0.5, 2.0, 3.0])), D.Dirichlet(t([1.5, 1.0, 3.0]))),
        (D.Poisson(t(2.0)), D.Poisson(t(3.0))),
        (D.Binomial(5, t(0.3)), D.Binomial(5, t(0.5))),
        (D.Geometric(t(0.3)), D.Geometric(t(0.5))),
        (D.HalfNormal(t(1.0)), D.HalfNormal(t(2.0))),
        (D.HalfCauchy(t(1.0)), D.HalfCauchy(t(2.0))),
        (D.Cauchy(t(1.0), t(1.0)), D.Cauchy(t(0.0), t(2.0))),
        (D.OneHotCategorical(t([0.2, 0.8])), D.OneHotCategorical(t([0.4, 0.6]))),
        (D.Wishart(t(5.0), t(MATRIX)), D.Wishart(t(6.0), t(np.eye(2)))),
        (
            D.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [2.0]]), t([1.0, 0.5])),
            D.MultivariateNormal(t([0.0, 0.0]), t(MATRIX)),
        ),
        (D.LogNormal(t(0.0), t(1.0)), D.LogNormal(t(0.5), t(1.5))),
        (D.Bernoulli(t(0.3)), D.Poisson(t(0.5))),
    ]
    for p, q in pairs:
        torch.manual_seed(0)
        x = p.sample((40_000,))
        gaps = (p.log_prob(x) - q.log_prob(x)).numpy()
        assert D.kl_divergence(p, q).item() == pytest.approx(gaps.mean(), abs=6 * gaps.std() / 200 + 1e-9)
    for p, q in (("normal", "gamma"), ("gamma", "uniform"), ("pareto", "beta"), ("gumbel", "exponential")):
        assert D.kl_divergence(KINDS[p](), OTHERS[q]()).item() == math.inf
    with pytest.raises(NotImplementedError, match="same transforms"):
        D.kl_divergence(D.LogNormal(t(0.0), t(1.0)), D.Weibull(t(1.0), t(1.0)))


def test_beta_and_dirichlet_gradients_are_those_of_the_quantiles() -> None:
    # x with F(x; a, b) = p moves with a by dx/da, which differences of quantiles give.
    h = 1e-5
    for a, b in ((0.3, 0.2), (0.5, 2.0), (1.0, 1.0), (3.0, 0.4), (30.0, 7.0)):
        pair = [torch.full((50,), v, dtype=torch.float64, requires_grad=True) for v in (a, b)]
        x = D.Beta(*pair).rsample()
        x.sum().backward()
        p, upper = stats.beta(a, b).cdf(x.detach().numpy()), stats.beta(a, b).sf(x.detach().numpy())
        inside = (p > 1e-6) & (upper > 1e-6)
        for i, (da, db) in enumerate(((h, 0.0), (0.0, h))):
            slope = (stats.beta(a + da, b + db).ppf(p) - stats.beta(a - da, b - db).ppf(p)) / (2 * h)
            np.testing.assert_allclose(pair[i].grad.numpy()[inside], slope[inside], rtol=1e-3, atol=1e-6)
    c = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    D.Dirichlet(c).rsample()[0].backward()
    torch.manual_seed(1)
    pair = [v.detach().requires_grad_() for v in c]
    D.Beta(*pair).rsample().backward()
    np.testing.assert_allclose(c.grad.numpy(), [v.grad.item() for v in pair], rtol=1e-12)


def test_samples_of_small_concentrations_stay_inside() -> None:
    for dtype in (torch.float32, torch.float64):
        x = D.Beta(torch.tensor(0.01, dtype=dtype), torch.tensor(0.01, dtype=dtype)).sample((4000,))
        assert x.min() > 0
        assert x.max() < 1
        assert 0.45 < (x > 0.5).double().mean() < 0.55
    assert torch.isfinite(D.Dirichlet(torch.full((3,), 1e-3)).sample((100,))).all()
    assert D.Dirichlet(torch.ones(0, 3)).sample().shape == (0, 3)


def test_subclasses_expand_to_themselves_and_classes_have_supports() -> None:
    cases: list[tuple[Any, Any]] = [
        (D.Multinomial, lambda K: K(3, torch.ones(2))),
        (D.OneHotCategorical, lambda K: K(torch.ones(2))),
        (D.OneHotCategoricalStraightThrough, lambda K: K(torch.ones(2))),
        (D.Independent, lambda K: K(D.Normal(torch.zeros(2), 1.0), 0)),
        (D.MixtureSameFamily, lambda K: K(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), 1.0))),
    ]
    for kind, made in cases:
        own: Any = type("Own", (kind,), {})
        assert type(made(own).expand([4, 2] if kind is D.Independent else [4])) is own
        assert made(own).expand([4, 2] if kind is D.Independent else [4]).batch_shape[0] == 4
        assert isinstance(kind.support, D.constraints.Constraint)
    for kind in (D.Uniform, D.Categorical, D.Independent, D.TransformedDistribution, D.Binomial):
        assert isinstance(kind.support, D.constraints.Constraint)


def test_idioms_of_distributions() -> None:
    # Values of gamma variables may be numbers.
    assert D.Gamma(2.0, 1.0).log_prob(1).item() == pytest.approx(-1)
    assert D.Chi2(t(2.0)).log_prob(1).item() == pytest.approx(stats.chi2(2).logpdf(1))
    # The gradient at logits of 0 is that of the sigmoid.
    x = torch.tensor(0.0, requires_grad=True)
    D.Binomial(1.0, logits=x).log_prob(torch.tensor(0.0)).backward()
    assert x.grad.item() == -0.5

    class Lazy:
        x = torch.ones(1, requires_grad=True)

        @D.utils.lazy_property
        def doubled(self) -> Any:
            return self.x * 2

    lazy = Lazy()
    with torch.no_grad():
        assert lazy.doubled.item() == 2
    lazy.doubled.backward()
    assert Lazy.x.grad.item() == 2


def test_supports_that_depend_on_the_object_do_not_say_their_axes() -> None:
    assert (D.Uniform.support.event_dim, D.Uniform.support.is_discrete) == (0, False)
    assert (D.Multinomial.support.event_dim, D.Multinomial.support.is_discrete) == (1, True)
    for name in ("event_dim", "is_discrete"):
        with pytest.raises(NotImplementedError, match="cannot be determined statically"):
            getattr(D.Independent.support, name)
    assert D.Independent(D.Normal(torch.zeros(2), 1.0), 1).support.event_dim == 1


def test_extreme_and_wrong_parameters() -> None:
    # The density at 1 for large logits l is l.
    for logits in (30.0, 1e4, -1e4, 1e9):
        x = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
        y = D.ContinuousBernoulli(logits=x).log_prob(t(1.0 if logits > 0 else 0.0))
        y.backward()
        assert y.item() == pytest.approx(math.log(abs(logits)), rel=1e-5)
        assert x.grad.item() == pytest.approx(1 / logits, rel=1e-4)
    with pytest.raises(ValueError, match="Expected parameter df"):
        D.Chi2(torch.tensor([1.0, -1.0]))


def test_the_gradient_of_normal_is_zero_and_that_of_a_sample_is_not() -> None:
    mean = torch.ones(3, requires_grad=True)
    assert torch.autograd.grad(torch.normal(mean, 1.0).sum(), mean)[0].tolist() == [0.0] * 3
    D.Normal(mean, 1.0).rsample().sum().backward()
    assert mean.grad.tolist() == [1.0] * 3


def test_an_ill_conditioned_precision_is_inverted_as_a_factor() -> None:
    x = torch.linspace(-1.0, 1.0, 10)
    precision = torch.exp(-((x - x[:, None]) ** 2)) + 3e-6 * torch.eye(10)
    zeros = torch.zeros(10)
    for found in (
        D.MultivariateNormal(zeros, precision_matrix=precision).scale_tril,
        D.Wishart(torch.tensor(10.0), precision_matrix=precision).scale_tril,
    ):
        wanted = np.linalg.cholesky(np.linalg.inv(precision.double().numpy()))
        np.testing.assert_allclose(found.numpy(), wanted, atol=0.05 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["Kumaraswamy", "Pareto", "Weibull"])
def test_a_larger_batch_of_a_subclass_is_of_it(kind: str) -> None:
    class Own(getattr(D, kind)):  # type: ignore[misc]
        pass

    assert type(Own(torch.tensor(1.0), torch.tensor(2.0)).expand([3])) is Own


@pytest.mark.parametrize(
    "make",
    [
        lambda x: D.Normal(x, 1 + x),
        lambda x: D.Pareto(1 + x, 1 + x),
        lambda x: D.Weibull(1 + x, 1 + x),
        lambda x: D.Kumaraswamy(1 + x, 1 + x),
        lambda x: D.Independent(D.Normal(x[..., None], torch.ones(1)), 1),
        lambda x: D.TransformedDistribution(D.Normal(x, 1 + x), D.ExpTransform()),
        lambda x: D.OneHotCategorical(probs=1 + x[..., None] + torch.arange(3)),
        lambda x: D.Multinomial(3, probs=1 + x[..., None] + torch.arange(3)),
        lambda x: D.MultivariateNormal(x[..., None] + torch.zeros(2), torch.eye(2)),
    ],
)
def test_a_subclass_fills_an_instance_of_its_own_when_it_is_expanded(make: Any) -> None:
    plain = make(torch.tensor(0.5))

    class Own(type(plain)):  # type: ignore[misc]
        def __init__(self, note: str) -> None:
            self.__dict__.update(vars(make(torch.tensor(0.5))))
            self.note = note

        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(Own, _instance)
            new.note = self.note + "!"
            return super().expand(batch_shape, _instance=new)

    with pytest.raises(NotImplementedError, match="constructor of its own"):
        type(
            "Silent", (Own,), {"__init__": lambda self: Own.__init__(self, ""), "expand": type(plain).expand}
        )().expand([4])
    larger = Own("kept").expand([4])
    assert (type(larger), larger.note) == (Own, "kept!")
    assert larger.batch_shape == (4,)
    torch.manual_seed(1)
    x = larger.sample()
    assert larger.log_prob(x).tolist() == plain.expand([4]).log_prob(x).tolist()


def test_the_shape_of_samples_joins_with_tuples() -> None:
    shape = D.Normal(torch.zeros(3), 1.0)._extended_shape((2,))
    assert type(shape) is torch.Size
    assert torch.ones(2, 3, 1).expand(shape + (-1,)).shape == shape[:-1] + (3, 1)  # noqa: RUF005


def test_a_distribution_without_support_warns_and_takes_the_value() -> None:
    class Point(D.Distribution):  # type: ignore[misc]
        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return -(value**2)

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        point = Point(validate_args=True)
    with pytest.warns(UserWarning, match="does not define `support`"):
        assert point.log_prob(t(2.0)).item() == -4


def test_a_distribution_that_names_its_constraints_or_checks_nothing_does_not_warn() -> None:
    class Point(D.Distribution):  # type: ignore[misc]
        pass

    class Named(D.Distribution):  # type: ignore[misc]
        arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    class Sharper(D.Normal):  # type: ignore[misc]
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Point(validate_args=False)
        Named(validate_args=True)
        Sharper(0.0, 1.0, validate_args=True)


@pytest.mark.parametrize(("n", "diag"), [(1, 0), (3, 0), (3, -1), (4, 1), (4, 3), (4, -3)])
def test_triangles_as_vectors(n: int, diag: int) -> None:
    from ferrograd.torch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

    m: Any = torch.randn(2, n, n, dtype=torch.float64, requires_grad=True)
    v = tril_matrix_to_vec(m, diag)
    rows, columns = np.tril_indices(n, diag)
    assert v.tolist() == m.detach().numpy()[:, rows, columns].tolist()
    assert torch.equal(vec_to_tril_matrix(v, diag), m.tril(diag))
    assert torch.equal(torch.autograd.grad(vec_to_tril_matrix(v, diag).sum(), m)[0], torch.ones_like(m).tril(diag))
    with pytest.raises(ValueError, match="outside"):
        tril_matrix_to_vec(m, n)
    with pytest.raises(ValueError, match="cannot be expressed"):
        vec_to_tril_matrix(torch.ones(4))


def test_classes_of_constraints_have_the_names_that_libraries_use() -> None:
    for constraint, name in (
        (C.positive, "_GreaterThan"),
        (C.simplex, "_Simplex"),
        (C.positive_integer, "_IntegerGreaterThan"),
    ):
        assert isinstance(constraint, getattr(C, name))


def test_the_density_of_wishart_is_differentiated_by_each_element_of_a_matrix() -> None:
    density = D.Wishart(t(4.0), t(MATRIX), validate_args=False).log_prob
    assert torch.autograd.gradcheck(density, (t([[2.0, 0.5], [0.3, 1.0]], tracked=True),))


def test_whole_degrees_of_freedom_get_the_dtype_of_the_matrix() -> None:
    whole = D.Wishart(torch.tensor(4), t(MATRIX))
    assert whole.df.dtype == t(MATRIX).dtype
    assert torch.equal(whole.log_prob(t(MATRIX)), D.Wishart(t(4.0), t(MATRIX)).log_prob(t(MATRIX)))


def test_the_place_of_a_one_has_a_distribution() -> None:
    held = D.OneHotCategorical(t([0.2, 0.8]))._categorical
    assert held.log_prob(torch.tensor(1)).exp().item() == pytest.approx(0.8)
