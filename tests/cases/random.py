"""Random numbers. No other library gives the values; ``tests/ops/test_random.py`` checks their distributions."""

from typing import Any

import numpy as np
from ferrograd import _core

from tests.cases import Case, normal

X = normal(2, 3)
NOTE = "tests/ops/test_random.py"


def drawn(op: str, *inputs: Any, **kw: Any) -> Case:
    return Case(op, inputs, kw, order=0, note=NOTE)


CASES = [
    drawn("rand", shape=(2, 3)),
    drawn("randn", shape=(2, 3)),
    drawn("rand_like", X),
    drawn("randn_like", X),
    drawn("randint", low=2, high=9, shape=(2, 3)),
    drawn("randperm", n=5),
    drawn("uniform", low=-1.0, high=2.0, shape=(2, 3)),
    drawn("normal", mean=1.0, std=2.0, shape=(2, 3)),
    drawn("bernoulli", np.full((2, 3), 0.5)),
    drawn("dropout", X, p=0.5),
    drawn("manual_seed", seed=0),
    drawn("get_rng_state"),
    drawn("set_rng_state", np.array([1, 2], np.uint64)),
    drawn("mersenne.draw", law="normal", shape=(2, 3), dtype="float32", a=1.0, b=2.0),
    drawn("mersenne.draw_each", law="gamma", x=np.full((2, 3), 2.0)),
    drawn("mersenne.draw_binomial", count=np.full((2, 3), 9.0), prob=np.full((2, 3), 0.5)),
    drawn("mersenne.seed", number=0),
    drawn("mersenne.state"),
    drawn("mersenne.exchange", np.asarray(_core.native.mersenne.state())),
    drawn("mersenne.streams"),
    drawn("mersenne.set_streams", np.asarray(_core.native.mersenne.streams())),
    Case("bernoulli", (np.array([0.0, 0.0]),), ref=lambda x: x, order=0),
    Case("dropout", (X,), {"p": 0.0}, ref=lambda x, p: x),
    Case("dropout", (X,), {"p": 1.0}, ref=lambda x, p: 0 * x),
    Case("dropout", (X,), {"p": 0.3, "training": False}, ref=lambda x, p, training: x),
]
