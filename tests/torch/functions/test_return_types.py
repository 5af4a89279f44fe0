"""Named tuples that print as PyTorch's do."""

import pickle
from collections.abc import Callable
from typing import Any

import ferrograd.torch as torch
import pytest
from ferrograd.torch import return_types

SQUARE = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("max", lambda x: x.max(1)),
        ("min", lambda x: torch.min(x, 0)),
        ("median", lambda x: x.median(0)),
        ("nanmedian", lambda x: x.nanmedian(0)),
        ("mode", lambda x: x.mode(0)),
        ("sort", lambda x: x.sort()),
        ("topk", lambda x: x.topk(1)),
        ("kthvalue", lambda x: x.kthvalue(1)),
        ("cummax", lambda x: x.cummax(0)),
        ("cummin", lambda x: x.cummin(0)),
        ("aminmax", lambda x: x.aminmax()),
        ("frexp", torch.frexp),
        ("slogdet", torch.slogdet),
        ("svd", torch.svd),
        ("linalg_slogdet", torch.linalg.slogdet),
        ("linalg_eigh", torch.linalg.eigh),
        ("linalg_qr", torch.linalg.qr),
        ("linalg_svd", torch.linalg.svd),
        ("linalg_lu", torch.linalg.lu),
        ("linalg_inv_ex", torch.linalg.inv_ex),
        ("linalg_ldl_factor", torch.linalg.ldl_factor),
    ],
)
def test_names_and_text(name: str, call: Callable[[torch.Tensor], Any]) -> None:
    found = call(SQUARE)
    assert type(found) is getattr(return_types, name)
    fields = ",\n".join(f"{field}={getattr(found, field)!r}" for field in found._fields)
    assert repr(found) == f"torch.return_types.{name}(\n{fields})"
    loaded = pickle.loads(pickle.dumps(found))
    assert type(loaded) is type(found)
    assert repr(loaded) == repr(found)


def test_several_results_are_written_to_out_or_none_is() -> None:
    x = torch.tensor([2.0, 1.0])
    sort: Any = torch.sort
    values, indices = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    for wrong, error in (
        ((values, indices.bool()), TypeError),
        ((values, torch.zeros(4, dtype=torch.int64)[1:]), ValueError),
        ((values, 5), ValueError),
        ((values, torch.zeros(2, requires_grad=True)), RuntimeError),
        ((torch.zeros(0), indices.bool()), TypeError),
    ):
        shape = wrong[0].shape
        with pytest.raises(error, match="out"):
            sort(x, out=wrong)
        assert wrong[0].shape == shape
        assert not values.any()
    found = sort(x, out=(values, indices))
    assert (found.values is values, found.indices is indices) == (True, True)
    assert (values.tolist(), indices.tolist()) == ([1.0, 2.0], [1, 0])
