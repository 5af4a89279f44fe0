"""A seed gives the numbers that it gives in PyTorch, and leaves the stream where PyTorch leaves it."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, torch as _torch

from tests.torch.pytorch_draws import DRAWS, NUMBERS, SEED, drawn

torch: Any = _torch

#: Draws whose numbers PyTorch computes with functions that are rounded otherwise.
ROUNDED = {
    "spectral_norm",
    "gumbel",
    "exponential_",
    "cauchy_",
    "log_normal_",
    "float64).normal_",
    "randn(3, dtype=torch.float64)",
}
KNOWN = json.loads(NUMBERS.read_text())


@pytest.mark.parametrize("draw", DRAWS)
def test_a_seed_gives_the_numbers_of_pytorch(draw: str) -> None:
    numbers, following = KNOWN[draw]
    found, after = drawn(draw, torch)
    exact = not (draw.startswith("D.") or "init." in draw or any(r in draw for r in ROUNDED))
    np.testing.assert_allclose(found, numbers, rtol=0 if exact else 5e-7, atol=0 if exact else 3e-7)
    assert after == following, "the stream goes on elsewhere"


#: The beginning of the checksum of PyTorch's state after a draw.
STATES = {
    "None": "76fe321e2dc1dfde",
    "torch.rand(5)": "93d528347ec25cba",
    "torch.randn(3)": "60c5d6f721840f26",
    "torch.randperm(700)": "96afb082d033b108",
    "torch.rand(624)": "5294adef869311a9",
}


@pytest.mark.parametrize("draw", STATES)
def test_the_state_is_that_of_pytorch(draw: str) -> None:
    torch.manual_seed(SEED)
    eval(draw, {"torch": torch})
    state = torch.get_rng_state()
    assert hashlib.sha256(state.numpy().tobytes()).hexdigest()[:16] == STATES[draw]
    numbers = torch.randn(3).tolist()
    torch.manual_seed(9)
    torch.set_rng_state(torch.tensor(state.tolist(), dtype=torch.uint8))
    assert torch.randn(3).tolist() == numbers


def test_large_draws_are_the_same_in_parts_and_for_any_number_of_threads() -> None:
    whole = []
    for threads in (1, 2):
        fg.set_num_threads(threads)
        torch.manual_seed(SEED)
        whole.append(torch.rand(100_003))
    torch.manual_seed(SEED)
    parts = torch.cat([torch.rand(n) for n in (1, 99_000, 2, 1000)])
    assert torch.equal(whole[0], whole[1])
    assert torch.equal(whole[0], parts)


def test_a_compiled_function_draws_the_same_numbers() -> None:
    def noisy(x: Any) -> Any:
        return torch.nn.functional.dropout(x, 0.4) + torch.randn(3) * torch.empty(3).exponential_()

    def twice(f: Any) -> Any:
        torch.manual_seed(SEED)
        return f(torch.ones(3)).tolist(), f(torch.ones(3)).tolist()

    compiled = torch.compile(noisy)
    compiled(torch.ones(3))
    assert twice(compiled) == twice(noisy)


def test_under_vmap_a_batch_draws_row_by_row_or_once() -> None:
    torch.manual_seed(SEED)
    numbers = torch.rand(4, 3)
    torch.manual_seed(SEED)
    found = func.vmap(lambda x: x + torch.rand(3), randomness="different")(torch.zeros(4, 3))
    assert torch.equal(found, numbers)
    torch.manual_seed(SEED)
    same = func.vmap(lambda x: x + torch.rand(3), randomness="same")(torch.zeros(4, 3))
    assert torch.equal(same, numbers[:1].expand(4, 3))


def test_native_draws_come_from_a_stream_of_their_own() -> None:
    torch.manual_seed(SEED)
    numbers = torch.rand(3).tolist()
    torch.manual_seed(SEED)
    fg.rand((3,))
    fg.manual_seed(5)
    assert torch.rand(3).tolist() == numbers


def test_threads_share_the_stream_and_no_number_is_drawn_twice() -> None:
    torch.manual_seed(SEED)
    drawn: list[Any] = []
    threads = [threading.Thread(target=lambda: drawn.append(torch.rand(20_000, dtype=torch.float64))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(torch.cat(drawn).numpy())) == 80_000


@pytest.mark.parametrize("shape", [(0,), (2, 0), ()])
def test_empty_draws_take_nothing_and_scalars_one_number(shape: tuple[int, ...]) -> None:
    torch.manual_seed(SEED)
    after = torch.rand(2).tolist()
    torch.manual_seed(SEED)
    assert tuple(torch.rand(shape).shape) == shape
    assert torch.randn(0).shape == (0,)
    assert torch.rand(()).item() == after[0 if 0 in shape else 1]


def test_states_that_are_none_are_refused() -> None:
    state = torch.get_rng_state()
    # What is left of the words, whether there is a seed, and where the next word is.
    for part, byte in ((slice(8, 12), 0), (slice(8, 12), 200), (slice(12, 16), 7), (slice(16, 20), 255)):
        broken = state.clone()
        broken[part] = byte
        with pytest.raises(RuntimeError, match="a state is what"):
            torch.set_rng_state(broken)
    torch.set_rng_state(state)
