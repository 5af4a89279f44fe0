"""Classes that programs derive from have no private names but PyTorch's, two underscores, and a prefix of our own."""

from __future__ import annotations

import math
from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest
from ferrograd.torch.optim import lr_scheduler

torch: Any = _torch
#: The private names that PyTorch's classes have too, and those by which notebooks and schedulers ask.
KNOWN = [
    "_abc_impl",
    "_anneal_func_type",
    "_apply",
    "_auto_collation",
    "_backoff_factor",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_base",
    "_batch_shape",
    "_buffers",
    "_cache_size",
    "_call",
    "_call_impl",
    "_capacitance_tril",
    "_categorical",
    "_cdata",
    "_check_input_dim",
    "_component_distribution",
    "_conv_forward",
    "_device",
    "_enabled",
    "_event_dim",
    "_event_ndims",
    "_event_shape",
    "_execution_engine",
    "_extended_shape",
    "_flat_weights",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_get_abs_string_index",
    "_get_checked_instance",
    "_get_closed_form_lr",
    "_get_lr_called_within_step",
    "_get_name",
    "_get_no_batch_dim",
    "_grad",
    "_growth_factor",
    "_growth_interval",
    "_growth_tracker",
    "_index_sampler",
    "_indices",
    "_initial_step",
    "_input_metadata",
    "_inv_call",
    "_inverse",
    "_is_better",
    "_is_full_backward_hook",
    "_is_initial",
    "_is_protocol",
    "_is_view",
    "_iterator",
    "_keys",
    "_last_lr",
    "_lazy_load_hook",
    "_lims",
    "_load_from_state_dict",
    "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_log_normalizer",
    "_make_subclass",
    "_mean_carrier_measure",
    "_mixture_distribution",
    "_modules",
    "_named_members",
    "_natural_params",
    "_nnz",
    "_non_persistent_buffers_set",
    "_num_samples",
    "_opt_called",
    "_output_padding",
    "_pad",
    "_parameters",
    "_patch_step_function",
    "_qkv_same_embed_dim",
    "_reduce_lr",
    "_register_load_state_dict_pre_hook",
    "_register_state_dict_hook",
    "_repr_html_",
    "_reset",
    "_reset_parameters",
    "_save_to_state_dict",
    "_scale",
    "_scale_fn_custom",
    "_schedule_phases",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_step_count",
    "_unbroadcasted_scale_tril",
    "_update_lr",
    "_validate_args",
    "_validate_sample",
    "_values",
    "_version",
    "_wrapped_call_impl",
]
SPACES = {
    "nn": torch.nn,
    "optim": torch.optim,
    "lr_scheduler": lr_scheduler,
    "distributions": torch.distributions,
    "transforms": torch.distributions.transforms,
    "data": torch.utils.data,
}


def _classes() -> list[Any]:
    found = []
    for space in SPACES.values():
        for name in space.__all__:
            kind = getattr(space, name)
            if isinstance(kind, type) and not issubclass(kind, torch.Tensor):
                found.append(kind)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_names_of_a_class(kind: Any) -> None:
    private = [name for name in dir(kind) if name.startswith("_") and not name.startswith(("__", "_fg_", "_abc_"))]
    assert sorted({*private} - {*KNOWN}) == []


def _made() -> list[Any]:
    w = torch.nn.Parameter(torch.ones(2))
    optimizers = [
        getattr(torch.optim, name)([w])
        for name in (
            "SGD",
            "Adam",
            "AdamW",
            "RMSprop",
            "Adagrad",
            "Adadelta",
            "Adamax",
            "NAdam",
            "RAdam",
            "ASGD",
            "Rprop",
        )
    ]
    layers = [torch.nn.Linear(2, 2), torch.nn.LSTM(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Sequential(torch.nn.ReLU())]
    layers += [torch.nn.Conv2d(1, 1, 1), torch.nn.MultiheadAttention(2, 1), torch.nn.Dropout(), torch.nn.GRUCell(2, 2)]
    schedulers = [lr_scheduler.StepLR(optimizers[0], 1), lr_scheduler.ReduceLROnPlateau(optimizers[1])]
    one, zero = torch.tensor(1.0), torch.tensor(0.0)
    names = torch.distributions
    distributions = [names.Normal(zero, one), names.Gamma(one, one), names.Categorical(torch.ones(2))]
    distributions += [names.MultivariateNormal(torch.zeros(2), torch.eye(2)), names.Uniform(zero, one)]
    transforms = [names.transforms.ExpTransform(), names.transforms.StickBreakingTransform()]
    data = torch.utils.data.TensorDataset(torch.ones(4))
    return [*optimizers, *layers, *schedulers, *distributions, *transforms, torch.utils.data.DataLoader(data)]


@pytest.mark.parametrize("made", _made(), ids=lambda made: type(made).__name__)
def test_names_of_an_object(made: Any) -> None:
    known = {
        *KNOWN,
        "_all_weights",
        "_cached_x_y",
        "_flat_weights",
        "_flat_weights_names",
        "_flat_weight_refs",
        "_defaults",
        "_param",
    }
    private = [name for name in vars(made) if name.startswith("_") and not name.startswith("_fg_")]
    hooks = [name for name in private if name.startswith(("_optimizer_", "_DataLoader", "_zero_grad"))]
    assert sorted({*private} - known - {*hooks}) == []


def test_a_module_with_names_of_its_own() -> None:
    class Mine(torch.nn.Module):  # type: ignore[misc]
        _cast = "x"

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)
            self._persistent, self._before, self._axes, self._weights, self._held = range(5)

        def _walk(self) -> int:
            return 7

        def forward(self, x: Any) -> Any:
            return self.layer(x) * self._held

    module = Mine().double()
    module.load_state_dict(module.state_dict())
    assert module(torch.ones(1, 2, dtype=torch.float64)).shape == (1, 1)
    assert (module._walk(), module._cast, module._persistent) == (7, "x", 0)
    assert len(list(module.modules())) == 2


def test_an_optimizer_and_a_distribution_with_names_of_their_own() -> None:
    class Steps(torch.optim.SGD):  # type: ignore[misc]
        def _update(self) -> str:
            return "mine"

        _held = _kept = _numbers = None

    w = torch.nn.Parameter(torch.ones(1))
    optimizer = Steps([w], lr=0.5)
    w.sum().backward()
    optimizer.step()
    assert w.item() == 0.5
    assert optimizer._update() == "mine"

    class Normal(torch.distributions.Normal):  # type: ignore[misc]
        def _survival(self) -> str:
            return "mine"

        _held = _checked = None

    assert Normal(torch.zeros(1), torch.ones(1)).log_prob(torch.zeros(1)).item() < 0


def test_one_call_is_explained() -> None:
    found = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 2)
    for compiled in (torch.compile(torch.nn.Linear(2, 2)), torch.compile(lambda x: x + 1)):
        compiled(torch.ones(2))
        assert torch._dynamo.explain(compiled)(torch.ones(2)).graph_count == 1
    with pytest.warns(UserWarning, match="runs uncompiled"):
        found = torch._dynamo.explain(lambda x: x * x.sum().item())(torch.ones(2))
    assert (found.graph_count, found.graph_break_count) == (0, 1)
    assert "its numbers are read" in found.break_reasons[0]
    assert "Graph Break Count: 1" in str(found)


def test_the_base_of_tests_of_pytorch() -> None:
    from ferrograd.torch.testing._internal.common_utils import TestCase

    equal = TestCase().assertEqual
    state = {"step": 1, "name": "adam", "groups": [{"lr": 0.1, "v": torch.ones(2)}, None]}
    equal(state, {**state, "groups": [{"lr": 0.1 + 1e-12, "v": torch.ones(2) + 1e-7}, None]})
    equal(torch.tensor([math.nan]), torch.tensor([math.nan]))
    for other in (
        {**state, "step": 2},
        {**state, "name": "sgd"},
        {"step": 1},
        {**state, "groups": [None]},
        {**state, "groups": [{"lr": 0.1, "v": torch.ones(2) + 1e-3}, None]},
        {**state, "groups": [{"lr": 0.1, "v": torch.ones(2, dtype=torch.float64)}, None]},
    ):
        with pytest.raises(AssertionError):
            equal(state, other)
    equal(torch.ones(2), torch.ones(2, dtype=torch.float64), exact_dtype=False)
    equal(torch.ones(2), torch.full((2,), 1.1), atol=0.2, rtol=0)
    equal(np.ones(2), np.ones(2) + 1e-12)
    equal(1, 1.0)
    equal(1, 2, atol=1.5, rtol=0)
    for x, y in ((1, 2), (1.0, 1.1), (1j, 2j), (2**62, 2**62 + 2**40), (np.ones(2), np.zeros(2)), (True, False)):
        with pytest.raises(AssertionError):
            equal(x, y)
