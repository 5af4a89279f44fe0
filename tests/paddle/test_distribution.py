"""``paddle.distribution``: Paddle's arguments, names and conventions, and the gradients."""

from __future__ import annotations

import copy
import importlib
import math
import pickle
import warnings
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest
from scipy import stats

paddle: Any = _paddle
D: Any = paddle.distribution


def t(values: Any, tracked: bool = False) -> Any:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=not tracked)


# Arguments, and the same distribution of SciPy.
SCALAR: dict[str, tuple[tuple[float, ...], Any]] = {
    "Normal": ((0.5, 2.0), stats.norm(0.5, 2.0)),
    "Uniform": ((-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "Laplace": ((0.5, 2.0), stats.laplace(0.5, 2.0)),
    "Cauchy": ((0.5, 2.0), stats.cauchy(0.5, 2.0)),
    "Gumbel": ((0.5, 2.0), stats.gumbel_r(0.5, 2.0)),
    "LogNormal": ((0.5, 0.4), stats.lognorm(0.4, scale=np.exp(0.5))),
    "Exponential": ((2.0,), stats.expon(scale=0.5)),
    "Gamma": ((1.5, 2.0), stats.gamma(1.5, scale=0.5)),
    "Chi2": ((3.0,), stats.chi2(3)),
    "Beta": ((0.5, 2.5), stats.beta(0.5, 2.5)),
    "StudentT": ((5.0, 1.0, 2.0), stats.t(5, 1, 2)),
    "Bernoulli": ((0.3,), stats.bernoulli(0.3)),
    "Geometric": ((0.3,), stats.geom(0.3, loc=-1)),
    "Poisson": ((3.0,), stats.poisson(3.0)),
}


@pytest.mark.parametrize("name", SCALAR)
def test_densities_moments_and_samples(name: str) -> None:
    numbers, same = SCALAR[name]
    d = getattr(D, name)(*[t(v) for v in numbers])
    is_count = hasattr(same, "pmf") and not hasattr(same.dist, "_pdf")
    value = 1.0 if is_count or name in ("Bernoulli", "Geometric", "Poisson") else 0.3
    log = same.logpmf(value) if name in ("Bernoulli", "Geometric", "Poisson") else same.logpdf(value)
    assert d.log_prob(t(value)).item() == pytest.approx(log)
    assert d.prob(t(value)).item() == pytest.approx(np.exp(log))
    assert d.entropy().item() == pytest.approx(float(same.entropy()), rel=1e-6)
    if name != "Cauchy":
        assert d.mean.item() == pytest.approx(same.mean())
        assert d.variance.item() == pytest.approx(same.var())
        assert d.sample([20000]).mean().item() == pytest.approx(same.mean(), abs=5 * same.std() / 20000**0.5)
    for made in (d, getattr(D, name)(*numbers), pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        for shape in ((), (2,), (3, 0)):
            drawn = made.sample(shape)
            assert type(drawn) is paddle.Tensor
            assert drawn.stop_gradient
            assert drawn.shape == [*shape, *made.batch_shape]
            assert made.log_prob(drawn).shape == drawn.shape


def test_arguments() -> None:
    assert D.Normal(0, 1).loc.dtype == paddle.float32
    assert D.Normal([0.5, 1.5], [1.0, 2.0]).batch_shape == (2,)
    assert D.Normal(np.zeros(3), 1.0).loc.dtype == paddle.float64
    assert D.Normal(t(0.0), 1.0).scale.dtype == paddle.float64
    assert D.Poisson(0.5).batch_shape == (1,)
    assert D.ContinuousBernoulli(0.5).batch_shape == (1,)
    assert D.MultivariateNormal(0.5, covariance_matrix=t([[1.0]])).event_shape == (1,)
    assert D.Binomial(3, t([0.5, 0.2])).total_count.tolist() == [3.0, 3.0]
    counts, chances = [0, 3, 5], [0.3, 0.4, 1.0]
    entropies = D.Binomial(t(counts), t(chances)).entropy()
    np.testing.assert_allclose(entropies.numpy(), stats.binom.entropy(counts, chances), rtol=1e-5)
    assert D.Beta(0.5, 0.2).alpha.item() == 0.5
    assert D.Normal(0.0, 1.0).sample([2], seed=7).tolist() == D.Normal(0.0, 1.0).sample([2], seed=7).tolist()
    for bad in ("a", None, [1j]):
        with pytest.raises((TypeError, ValueError)):
            D.Normal(bad, 1.0)
    for shape in (3, "x", [-1], [1.5]):
        with pytest.raises((TypeError, ValueError)):
            D.Normal(0.0, 1.0).sample(shape)
    with pytest.raises(ValueError, match="no mean"):
        _ = D.Cauchy(0.0, 1.0).mean
    with pytest.raises(ValueError, match="positive"):
        D.Chi2(-1.0)
    with pytest.raises(ValueError, match="total_count"):
        D.Multinomial(0, t([0.5, 0.5]))
    with pytest.raises(ValueError, match="reinterpreted"):
        D.Independent(D.Normal(0.0, 1.0), 1)
    with pytest.raises(TypeError, match="Distribution"):
        D.TransformedDistribution(1.0, [])


def test_categorical_takes_logits_for_shares_as_paddle_does() -> None:
    d = D.Categorical(t([[0.3, 0.5, 0.2], [1.0, 2.0, 3.0]]))
    np.testing.assert_allclose(d.probs(paddle.to_tensor([1, 2])).numpy(), [[0.5, 0.2], [1 / 3, 0.5]])
    np.testing.assert_allclose(d.log_prob(paddle.to_tensor([[0], [1]])).numpy(), np.log([[0.3], [1 / 3]]))
    soft = np.exp([1.0, 2.0, 3.0]) / np.exp([1.0, 2.0, 3.0]).sum()
    assert d.entropy()[1].item() == pytest.approx(stats.entropy(soft))
    assert d.kl_divergence(d).shape == [2, 1]
    assert d.sample([4]).shape == [4, 2]
    shares = D.Categorical(t([1.0, 3.0])).probs(paddle.to_tensor([[0, 1]]))
    assert shares.tolist() == [[0.25, 0.75]]


def test_several_axes() -> None:
    x = t([0.3, -0.2])
    same = stats.multivariate_normal([0.5, -1.0], [[1.0, 0.2], [0.2, 2.0]])
    d = D.MultivariateNormal(t([0.5, -1.0]), covariance_matrix=t([[1.0, 0.2], [0.2, 2.0]]))
    assert d.log_prob(x).item() == pytest.approx(same.logpdf([0.3, -0.2]))
    whole = D.Independent(D.Normal(t([0.5, -1.0]), t([1.0, 2.0])), 1)
    assert whole.event_shape == (2,)
    assert whole.prob(x).item() == pytest.approx(stats.norm([0.5, -1.0], [1.0, 2.0]).pdf([0.3, -0.2]).prod())
    counts = D.Multinomial(3, t([2.0, 1.0, 1.0]))
    assert counts.probs.tolist() == [0.5, 0.25, 0.25]
    assert counts.prob(t([1.0, 2.0, 0.0])).item() == pytest.approx(
        stats.multinomial(3, [0.5, 0.25, 0.25]).pmf([1, 2, 0])
    )
    assert counts.sample([5]).sum(-1).tolist() == [3.0] * 5
    assert D.Dirichlet(t([1.0, 2.0])).sample([4]).shape == [4, 2]
    assert D.LKJCholesky(3, 2.0, "cvine").sample([4]).shape == [4, 3, 3]


def test_samples_carry_gradients() -> None:
    loc, scale = t(0.5, True), t(2.0, True)
    (D.Normal(loc, scale).rsample([4]) - loc).sum().backward()
    assert loc.grad.item() == 0.0
    assert scale.grad is not None
    rate = t([1.0, 2.0], True)
    D.Gamma(rate, rate).rsample([3]).sum().backward()
    assert np.isfinite(rate.grad.numpy()).all()
    p = t(0.3, True)
    D.Bernoulli(p).rsample([3], temperature=0.5).sum().backward()
    assert p.grad.item() == pytest.approx(3 / 0.5 / (0.3 * 0.7))
    y = D.TransformedDistribution(D.Normal(loc, scale), [D.ExpTransform(), D.AffineTransform(t(0.0), t(2.0))])
    assert not y.rsample([2]).stop_gradient
    assert y.log_prob(t(3.0)).item() == pytest.approx(stats.lognorm(2.0, scale=2 * np.exp(0.5)).logpdf(3.0))


def test_divergences() -> None:
    p, q = D.Beta(t(0.5), t(1.5)), D.Beta(t(2.0), t(1.0))
    drawn = p.sample([200000])
    estimate = (p.log_prob(drawn) - q.log_prob(drawn)).mean().item()
    assert D.kl_divergence(p, q).item() == pytest.approx(estimate, abs=0.05)
    assert p.kl_divergence(q).item() == D.kl_divergence(p, q).item()

    class Mine(D.ExponentialFamily):  # type: ignore[misc]
        # The exponential distribution by its natural parameter.
        def __init__(self, rate: Any) -> None:
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_parameters(self) -> Any:
            return (-self.rate,)

        _mean_carrier_measure = 0

        def _log_normalizer(self, x: Any) -> Any:
            return -paddle.log(-x)

    a, b = t([0.5, 2.0], True), t([1.5, 1.0], True)
    whole = D.kl_divergence(Mine(a), Mine(b)) + Mine(a).entropy()
    same = D.kl_divergence(D.Exponential(a), D.Exponential(b)) + D.Exponential(a).entropy()
    np.testing.assert_allclose(whole.numpy(), same.numpy())
    for x, y in zip(paddle.grad(whole.sum(), [a, b]), paddle.grad(same.sum(), [a, b]), strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy())

    @D.register_kl(Mine, D.Exponential)
    def _found(p: Any, q: Any) -> Any:
        return p.rate - q.rate

    assert D.kl_divergence(Mine(a), D.Exponential(b)).tolist() == [-1.0, 1.0]
    with pytest.raises(NotImplementedError):
        D.kl_divergence(Mine(a), D.LKJCholesky(2, 1.0))


X = [[0.3, 0.5, 0.8], [0.1, 0.4, 0.2]]
TRANSFORMS: dict[str, Any] = {
    "affine": lambda: D.AffineTransform(t(1.0), t(-2.0)),
    "exp": lambda: D.ExpTransform(),
    "power": lambda: D.PowerTransform(t(2.0)),
    "sigmoid": lambda: D.SigmoidTransform(),
    "tanh": lambda: D.TanhTransform(),
    "chain": lambda: D.ChainTransform([D.ExpTransform(), D.AffineTransform(t(0.0), t(2.0))]),
    "two": lambda: D.ExpTransform()(D.TanhTransform()),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    transform, x = TRANSFORMS[name](), t(X, True)
    y = transform.forward(x)
    np.testing.assert_allclose(transform.inverse(y).numpy(), X)
    (slope,) = paddle.grad(y.sum(), [x])
    wanted = np.log(np.abs(slope.numpy()))
    np.testing.assert_allclose(np.broadcast_to(transform.forward_log_det_jacobian(x).numpy(), (2, 3)), wanted)
    np.testing.assert_allclose(np.broadcast_to(transform.inverse_log_det_jacobian(y).numpy(), (2, 3)), -wanted)
    assert tuple(transform.forward_shape((2, 3))) == (2, 3)


def test_more_transforms() -> None:
    x = t(X)
    assert D.ReshapeTransform((3,), (3, 1)).forward(x).shape == [2, 3, 1]
    assert D.SigmoidTransform().inverse(t([0.0, 0.5, 1.0])).tolist() == [-np.inf, 0.0, np.inf]
    assert tuple(D.StickBreakingTransform().forward_shape((2, 3))) == (2, 4)
    low, high = D.AbsTransform().inverse(x)
    assert low.tolist() == (-high).tolist()
    with pytest.raises(NotImplementedError, match="injective"):
        D.SoftmaxTransform().forward_log_det_jacobian(x)
    with pytest.raises(ValueError, match="dimensions"):
        D.SoftmaxTransform().forward(t(1.0))
    with pytest.raises(TypeError, match="Tensor"):
        D.ExpTransform().forward(1.0)
    both = D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0)
    np.testing.assert_allclose(both.forward(x).numpy(), [np.exp(X[0]), np.tanh(X[1])])
    assert D.IndependentTransform(D.ExpTransform(), 1).forward_log_det_jacobian(x).shape == [2]

    class Cube(D.Transform):  # type: ignore[misc]
        _type = D.transform.Type.BIJECTION

        def _forward(self, x: Any) -> Any:
            return x**3

        def _inverse(self, y: Any) -> Any:
            return y ** (1 / 3)

        def _forward_log_det_jacobian(self, x: Any) -> Any:
            return paddle.log(3 * x**2)

    d = Cube()(D.Uniform(t(1.0), t(2.0)))
    assert d.log_prob(t(3.0)).item() == pytest.approx(np.log(1 / (3 * 3 ** (2 / 3))))


def test_shapes_of_transforms_are_tuples_and_families_have_modules() -> None:
    reshape = paddle.distribution.ReshapeTransform((2, 3), (3, 2))
    shapes = [reshape.forward_shape((1, 2, 3)), paddle.distribution.StickBreakingTransform().forward_shape((3,))]
    assert repr(shapes) == "[(1, 3, 2), (4,)]"
    gumbel = importlib.import_module("ferrograd.paddle.distribution.gumbel")
    assert gumbel.Gumbel is paddle.distribution.Gumbel


def test_a_value_of_another_float_dtype_is_converted_with_a_warning() -> None:
    p = paddle.distribution.Normal(0.0, 1.0)
    value = paddle.to_tensor([0.5], dtype="float64")
    for function in (p.log_prob, p.prob, p.probs):
        with pytest.warns(UserWarning, match="dtype of input 'value' needs to be the same as parameters"):
            assert function(value).dtype == paddle.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.log_prob(paddle.to_tensor([0.5]))
        p.log_prob(0.5)
        p.log_prob(paddle.to_tensor([1]))


def test_conditions_of_variables() -> None:
    constraint, variable = paddle.distribution.constraint, paddle.distribution.variable
    assert constraint.real.check(paddle.to_tensor([1.0, float("nan")])).tolist() == [True, False]
    assert constraint.positive.check(paddle.to_tensor([1.0, -1.0])).tolist() == [True, False]
    assert constraint.simplex.check(paddle.to_tensor([[0.5, 0.5], [0.5, 0.6]])).tolist() == [True, False]
    assert constraint.Range(0, 1).check(0.5)
    with pytest.raises(NotImplementedError):
        constraint.Constraint().check(1.0)
    whole = variable.Independent(variable.positive, 1)
    assert (whole.event_rank, whole.is_discrete) == (1, False)
    assert whole.constraint(paddle.to_tensor([[1.0, -1.0], [1.0, 1.0]])).tolist() == [False, True]
    with pytest.raises(ValueError, match="at least 1 axes"):
        whole.constraint(paddle.to_tensor(1.0))
    both = variable.Stack([variable.real, variable.positive], -1)
    assert both.event_rank == 1
    assert both.constraint(paddle.to_tensor([-1.0, -1.0])).tolist() == [True, False]


def test_transforms_say_their_variables_and_subclasses_define_them() -> None:
    d, variable = paddle.distribution, paddle.distribution.variable
    assert isinstance(d.ExpTransform()._codomain, variable.Positive)
    assert isinstance(d.SoftmaxTransform()._domain, variable.Independent)
    assert d.StickBreakingTransform()._codomain.event_rank == 1
    assert isinstance(d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0)._domain, variable.Stack)
    assert d.ReshapeTransform([2, 3], [6])._domain.event_rank == 2
    assert d.AffineTransform(0.0, 1.0)._type is d.transform.Type.BIJECTION

    class Flip(d.Transform):  # type: ignore[misc,name-defined]
        @property
        def _domain(self) -> Any:
            return variable.Independent(variable.real, 1)

        @property
        def _codomain(self) -> Any:
            return variable.Independent(variable.real, 1)

        def _forward(self, x: Any) -> Any:
            return paddle.flip(x, [-1])

        _inverse = _forward

        def _forward_log_det_jacobian(self, x: Any) -> Any:
            return paddle.zeros(x.shape[:-1], x.dtype)

    flip = Flip()
    assert flip.domain.event_dim == 1
    y = d.TransformedDistribution(d.Independent(d.Normal(paddle.zeros([3]), 1.0), 1), [flip, d.ExpTransform()])
    assert y.event_shape == (3,)
    value = paddle.to_tensor([1.0, 2.0, 3.0])
    wanted = d.Independent(d.LogNormal(paddle.zeros([3]), 1.0), 1).log_prob(value)
    assert y.log_prob(value).item() == pytest.approx(wanted.item(), rel=1e-6)


def test_lower_triangles() -> None:
    module = paddle.distribution.lkj_cholesky
    matrix = paddle.to_tensor([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 5.0, 6.0]])
    assert module.tril_matrix_to_vec(matrix, -1).tolist() == [2.0, 4.0, 5.0]
    again = module.vec_to_tril_matrix(paddle.to_tensor([2.0, 4.0, 5.0]), 3, 3, 3, (1,))
    assert again.tolist() == [[[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 5.0, 0.0]]]]
    with pytest.raises(ValueError, match="outside"):
        module.tril_matrix_to_vec(matrix, 3)


@pytest.mark.parametrize(("dtype", "eps"), [("float32", 2.0**-23), ("float64", 2.0**-52)])
@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_outcomes_have_finite_logarithms(p: float, dtype: str, eps: float) -> None:
    d = D.Bernoulli(paddle.to_tensor(p, dtype=dtype))
    rare = paddle.to_tensor(1 - p, dtype=dtype)
    assert d.mean.item() == abs(p - eps)
    assert d.log_prob(rare).item() == pytest.approx(math.log(eps), rel=1e-6)
    assert d.log_prob(1 - rare).item() == pytest.approx(-eps, rel=1e-6)
    assert d.entropy().item() == pytest.approx(eps * (1 - math.log(eps)), rel=1e-5)
    assert d.kl_divergence(D.Bernoulli(rare)).item() == pytest.approx(-math.log(eps), rel=1e-5)


def test_numbers_of_failures_have_zero_gradients() -> None:
    p = paddle.to_tensor([0.3, 0.6], stop_gradient=False)
    count = D.Geometric(p).rsample([1000])
    assert bool((count == count.floor()).all())
    assert count.mean(0).tolist() == pytest.approx([0.7 / 0.3, 0.4 / 0.6], rel=0.3)
    assert paddle.grad(count, p)[0].tolist() == [0, 0]


def test_shapes_of_transforms_are_sequences() -> None:
    t = D.ExpTransform()
    assert t.forward_shape([2]) == t.inverse_shape([2]) == [2]
    for shape in (t.forward_shape, t.inverse_shape):
        with pytest.raises(TypeError, match="Sequence"):
            shape(2)


def complex_normal(*parameters: Any) -> Any:
    return paddle.distribution.Normal(*parameters)


def test_a_complex_mean_makes_a_normal_distribution_of_complex_numbers() -> None:
    loc = paddle.to_tensor([1 + 2j, -1j], stop_gradient=False)
    scale = paddle.to_tensor([0.5, 2.0], stop_gradient=False)
    p = complex_normal(loc, scale)
    assert isinstance(p, paddle.distribution.Normal)
    paddle.seed(7)
    drawn = p.rsample([40_000])
    assert drawn.dtype == paddle.complex64
    for part in (drawn.real(), drawn.imag()):
        np.testing.assert_allclose(part.var(0).numpy(), scale.numpy() ** 2 / 2, rtol=0.05)
    np.testing.assert_allclose(drawn.mean(0).numpy(), loc.numpy(), atol=0.05)
    value = np.array([1 + 1j, 0.5], np.complex64)
    # Each part has the density of a real normal distribution.
    deviation = scale.numpy() / np.sqrt(2)
    wanted = stats.norm(loc.numpy().real, deviation).logpdf(value.real)
    wanted = wanted + stats.norm(loc.numpy().imag, deviation).logpdf(value.imag)
    found = p.log_prob(paddle.to_tensor(value))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(p.entropy().numpy(), 2 * stats.norm(0, deviation).entropy(), rtol=1e-5)
    found.sum().backward()
    np.testing.assert_allclose(loc.grad.numpy(), 2 * (value - loc.numpy()) / scale.numpy() ** 2, rtol=1e-5)


def test_divergences_of_complex_normal_distributions() -> None:
    p, q = complex_normal(1 + 2j, 0.5), complex_normal(1j, 2.0)
    parts = [(1.0, 0.0), (2.0, 1.0)]
    normal = paddle.distribution.Normal
    wanted = sum(normal(a, 0.5 / 2**0.5).kl_divergence(normal(b, 2 / 2**0.5)).item() for a, b in parts)
    assert abs(p.kl_divergence(q).item() - wanted) < 1e-5
    real = paddle.distribution.Normal(0.0, 1.0)
    for first, second in ((p, real), (real, p), (paddle.distribution.Laplace(0.0, 1.0), p)):
        with pytest.raises(NotImplementedError, match="complex"):
            first.kl_divergence(second)
    with pytest.raises(TypeError, match="no order"):
        p.cdf(1j)
    copied = pickle.loads(pickle.dumps(p))
    assert copied.entropy().item() == p.entropy().item()
