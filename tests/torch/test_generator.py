"""``torch.Generator``: streams of random numbers of their own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from ferrograd import torch as _torch

torch: Any = _torch

DRAWS: dict[str, Any] = {
    "rand": lambda g: torch.rand(2, 3, generator=g),
    "randn": lambda g: torch.randn(size=(2, 3), generator=g, dtype=torch.float64),
    "randint": lambda g: torch.randint(5, (20,), generator=g),
    "randint by name": lambda g: torch.randint(high=5, size=(20,), generator=g),
    "randperm": lambda g: torch.randperm(20, generator=g),
    "rand_like": lambda g: torch.rand_like(torch.ones(9), generator=g),
    "randn_like": lambda g: torch.randn_like(torch.ones(9), generator=g),
    "normal": lambda g: torch.normal(0.0, 1.0, (9,), generator=g),
    "normal of tensors": lambda g: torch.normal(torch.zeros(9), torch.ones(9), generator=g),
    "bernoulli": lambda g: torch.bernoulli(torch.full((40,), 0.5), generator=g),
    "uniform_": lambda g: torch.zeros(9).uniform_(generator=g),
    "normal_": lambda g: torch.zeros(9).normal_(generator=g),
    "exponential_": lambda g: torch.zeros(9).exponential_(generator=g),
    "random_": lambda g: torch.zeros(9).random_(generator=g),
    "bernoulli_": lambda g: torch.zeros(40).bernoulli_(generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_has_a_stream_of_its_own(name: str) -> None:
    draw = DRAWS[name]
    g = torch.Generator().manual_seed(3)
    torch.manual_seed(8)
    before = torch.get_rng_state().tolist()
    first, second = draw(g).tolist(), draw(g).tolist()
    assert torch.get_rng_state().tolist() == before
    assert first != second
    assert draw(g.manual_seed(3)).tolist() == first
    # The default stream of that seed has the same numbers.
    torch.manual_seed(3)
    assert draw(None).tolist() == first
    assert draw(torch.default_generator).tolist() == second
    with pytest.raises(TypeError, match="must be a torch"):
        draw(3)


def test_states_and_seeds() -> None:
    g = torch.Generator()
    assert g.initial_seed() == 67280421310721
    assert str(g.device) == "cpu"
    assert g.manual_seed(7) is g
    state = g.get_state()
    first = torch.rand(3, generator=g).tolist()
    assert g.set_state(state) is g
    for h in (g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert torch.rand(3, generator=h).tolist() == first
        assert h.initial_seed() == 7
    assert torch.rand(3, generator=g).tolist() == first
    assert g.manual_seed(-1).initial_seed() == 2**64 - 1
    torch.rand(1, generator=g)
    assert g.seed() != g.seed()
    assert g.seed() == g.initial_seed()
    assert torch.manual_seed(2**64 - 1) is torch.default_generator
    assert torch.initial_seed() == torch.default_generator.initial_seed() == 2**64 - 1
    assert torch.seed() == torch.initial_seed()
    assert g.set_state(torch.get_rng_state()).initial_seed() == torch.initial_seed()
    state = torch.get_rng_state()
    assert (state.dtype, tuple(state.shape)) == (torch.uint8, (5056,))
    first = torch.rand(2).tolist()
    torch.set_rng_state(pickle.loads(pickle.dumps(state)))
    assert torch.rand(2).tolist() == first


def test_a_draw_that_fails_leaves_the_streams_alone() -> None:
    g = torch.Generator().manual_seed(1)
    torch.manual_seed(2)
    with pytest.raises(RuntimeError):
        torch.randint(3, 3, (2,), generator=g)
    assert torch.initial_seed() == 2
    assert g.initial_seed() == 1


def test_wrong_arguments_raise() -> None:
    g = torch.Generator()
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: g.manual_seed("a"), RuntimeError, "manual_seed expected a long, but got str"),
        (lambda: g.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda: g.set_state(3), TypeError, "expected a torch.ByteTensor, but got int"),
        (lambda: g.set_state(torch.ones(2)), RuntimeError, "5056 numbers of uint8"),
        (lambda: torch.Generator(device="cuda"), RuntimeError, "the CPU is the only device"),
    ]
    for call, error, text in cases:
        with pytest.raises(error, match=text):
            call()


def test_a_seed_may_be_a_time() -> None:
    assert torch.manual_seed(12.75).initial_seed() == 12
    with pytest.raises(RuntimeError, match="expected a long, but got float"):
        torch.Generator().manual_seed(12.75)
    torch.cuda.random.manual_seed_all(1)
    assert torch.cuda.random.get_rng_state_all() == []
    with pytest.raises(RuntimeError, match="there is no GPU"):
        torch.cuda.random.get_rng_state()


def test_points_of_the_sobol_sequence() -> None:
    qmc = pytest.importorskip("scipy.stats.qmc", reason="SobolEngine draws with SciPy")
    engine = torch.quasirandom.SobolEngine(4)
    found = engine.draw(5, dtype=torch.float64)
    wanted = qmc.Sobol(4, scramble=False).random_base2(3)
    assert found.tolist() == wanted[:5].tolist()
    assert engine.num_generated == 5
    assert engine.fast_forward(1).draw().dtype == torch.float32
    out = torch.zeros(1)
    assert engine.reset().draw_base2(2, out=out) is out
    assert torch.equal(out.double(), found[:4])
    assert engine.draw(0).shape == (0, 4)
    assert repr(engine) == "SobolEngine(dimension=4)"
    torch.manual_seed(3)
    scrambled = [torch.quasirandom.SobolEngine(2, scramble=True) for _ in range(2)]
    again = torch.quasirandom.SobolEngine(2, scramble=True, seed=scrambled[0].seed)
    points = [e.draw(8) for e in (*scrambled, again)]
    assert torch.equal(points[0], points[2])
    assert not torch.equal(points[0], points[1])
    calls: list[Any] = [
        lambda: torch.quasirandom.SobolEngine(0),
        lambda: engine.draw(-1),
        lambda: (engine.draw(1), engine.draw_base2(3)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"dimensionality|negative|power of 2"):
            call()
