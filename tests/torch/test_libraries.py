"""What libraries and older programs read of torch beside its documented names."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest
from ferrograd import FerrogradError
from ferrograd.torch._tensor_str import PRINT_OPTS, _tensor_str
from ferrograd.torch._utils import _element_size, _flatten_dense_tensors, _unflatten_dense_tensors
from ferrograd.torch._vmap_internals import _vmap
from ferrograd.torch.autograd.functional import (
    _as_tuple,
    _construct_standard_basis_for,
    _grad_postprocess,
    _tuple_postprocess,
)
from ferrograd.torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe

torch: Any = _torch


def test_aten() -> None:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    aten = torch.ops.aten
    for op in (aten.relu, aten.relu.default):
        (g,) = torch.autograd.grad(op(x).sum(), x)
        assert g.tolist() == [1.0, 0.0]
    assert aten.add.Tensor(x, x, alpha=3).tolist() == [4.0, -8.0]
    assert aten.view.default(x, [2, 1]).shape == (2, 1)
    assert aten.add is aten.add
    assert aten.add.Tensor is aten.add.Tensor
    assert aten.add.Tensor.name() == "aten::add.Tensor"
    assert aten.mm.default.name() == "aten::mm"
    assert aten.add.Tensor.overloadpacket is aten.add
    with pytest.raises(FerrogradError, match=r"aten\._to_copy"):
        aten._to_copy.default(x)


def test_elements_of_a_sparse_matrix() -> None:
    values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    x = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], values, (2, 3)).coalesce()
    assert x.indices().tolist() == [[0, 1, 1], [2, 0, 1]] == x._indices().tolist()
    assert x._nnz() == 3
    assert x.is_coalesced()
    (x.values() * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert values.grad.tolist() == [1.0, 2.0, 3.0]
    assert x.crow_indices().tolist() == [0, 1, 3]
    assert x.col_indices().tolist() == [2, 0, 1]
    again = torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), x.values(), x.shape)
    assert again.tolist() == x.tolist()
    assert torch.sparse_csc_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0]).tolist() == x.t().tolist()
    assert torch.dsmm(x, torch.ones(3, 1)).tolist() == [[3.0], [9.0]]
    with pytest.raises(RuntimeError, match="matrix"):
        torch.ones(3).crow_indices()


def test_compressed_indices() -> None:
    rows = torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 4)
    assert rows.tolist() == [0, 2, 2, 3, 3]
    assert rows.dtype == torch.int64
    pairs = torch._convert_indices_from_csr_to_coo(rows, torch.tensor([1, 2, 0]), out_int32=True)
    assert pairs.tolist() == [[0, 0, 2], [1, 2, 0]]
    assert pairs.dtype == torch.int32


def test_segments_by_older_names() -> None:
    x = torch.tensor([1.0, 3.0, 2.0])
    assert torch._segment_reduce(x, "amax", lengths=torch.tensor([2, 1])).tolist() == [3.0, 2.0]


def test_vectors_of_tensors() -> None:
    parts = [torch.ones(2, 2), torch.zeros(3)]
    flat = _flatten_dense_tensors(parts)
    assert flat.shape == (7,)
    assert [x.tolist() for x in _unflatten_dense_tensors(flat, parts)] == [x.tolist() for x in parts]
    assert _element_size(torch.float64) == 8


def test_texts_of_elements() -> None:
    assert PRINT_OPTS.threshold == 1000
    assert _tensor_str(torch.tensor([[1.0], [2.0]], dtype=torch.float64), 2) == "[[1.],\n   [2.]]"
    assert _tensor_str(torch.tensor(1.5)) == "1.5000"


def test_helpers_of_minimizers() -> None:
    several, (x,) = _as_tuple(torch.ones(2))
    assert not several
    assert _tuple_postprocess((x,), several) is x
    assert _tuple_postprocess(((x,),), (True, False)) == (x,)
    left, right = _construct_standard_basis_for((torch.ones(2), torch.ones(1)), (2, 1))
    assert left.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert right.tolist() == [[0], [0], [1]]
    assert _vmap(torch.sum)(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    w = torch.ones(1, requires_grad=True)
    assert not _grad_postprocess((w * 2,), False)[0].requires_grad
    assert _grad_postprocess((w * 2,), True)[0].requires_grad


def test_search_along_a_line() -> None:
    """The parabola (x - 3)**2 has its minimum at the step 3."""
    x, d = torch.zeros(1), torch.ones(1)

    def value_and_gradient(x: Any, t: Any, d: Any) -> Any:
        at = x + t * d
        return float((at - 3) ** 2), 2 * (at - 3)

    f, g = value_and_gradient(x, 0, d)
    value, _, t, calls = _strong_wolfe(value_and_gradient, x, 1.0, d, f, g, g.dot(d))
    assert value < f
    assert abs(float(t) - 3) < 2.7
    assert calls >= 1
    slopes = torch.tensor(-6.0), torch.tensor(6.0)
    assert float(_cubic_interpolate(0.0, 9.0, slopes[0], 6.0, 9.0, slopes[1])) == pytest.approx(3.0)


def test_switches_of_compilers() -> None:
    torch._dynamo.config.suppress_errors = True
    torch._inductor.config.coordinate_descent_tuning = True
    torch._dynamo.reset()
    with torch._dynamo.config.patch(suppress_errors=False), torch._inductor.config.patch({"debug": True}):
        assert not torch._dynamo.config.suppress_errors
        assert torch._inductor.config.debug
    assert torch._dynamo.config.suppress_errors
    assert not hasattr(torch._inductor.config, "debug")
    assert torch._dynamo.config.patch("verbose", value=True)(lambda: torch._dynamo.config.verbose)()

    @torch._dynamo.optimize("eager", nopython=True)
    def double(x: Any) -> Any:
        return x * 2

    x = torch.ones(2)
    torch._dynamo.mark_dynamic(x, 0)
    with torch.compiler.set_stance("force_eager"):
        assert double(x).tolist() == [2.0, 2.0]
    torch.compiler.set_stance("default")
    assert torch.compiler.set_stance("default")(double)(x).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="eager"):
        torch.compiler.set_stance("eager")
    assert torch.compiler.list_backends() == ["inductor"]
    assert torch.compiler.assume_constant_result(double) is double
    assert torch._dynamo.list_backends() == ["inductor"]
    torch._dynamo.mark_static_address(x)
    assert isinstance(torch.compile(torch.nn.Linear(2, 2)), torch._dynamo.eval_frame.OptimizedModule)
    assert not torch._dynamo.external_utils.is_compiling()
    assert not torch.compiler.is_exporting()


def test_a_disabled_function_is_called_by_each_call() -> None:
    calls: list[int] = []

    @torch.compiler.disable(reason="it counts")
    def noted(x: Any) -> Any:
        calls.append(len(calls))
        return x

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return noted(x * 2) + 1

    f: Any = torch.compile(Model())
    with pytest.warns(UserWarning, match="Model runs uncompiled: it calls noted, which torch.compiler.disable keeps"):
        f(torch.ones(2))
    for _ in range(4):
        assert f(torch.ones(2)).tolist() == [3.0, 3.0]
    assert calls == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="it calls noted"):
        torch.compile(Model(), fullgraph=True)(torch.ones(2))


def test_a_compiled_module_tells_what_became_of_it() -> None:
    f: Any = torch.compile(torch.nn.Linear(2, 2))
    for _ in range(3):
        f(torch.ones(1, 2))
    assert f.cache_info()[:3] == (2, 1, 0)
    assert f.explain().startswith("a program of")


def test_traces_of_torchscript_are_python() -> None:
    def f(x: Any) -> Any:
        return x * 2

    with pytest.warns(UserWarning, match="TorchScript"):
        assert torch.jit.trace(f, torch.ones(1)) is f
    # The examples are tried at once.
    for wrong in ({"example_inputs": (torch.ones(1),) * 2}, {"example_kwarg_inputs": {"y": 1}}):
        with pytest.warns(UserWarning, match="TorchScript"), pytest.raises(TypeError, match="argument"):
            torch.jit.trace(f, **wrong)
    model = torch.nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="TorchScript"):
        assert torch.jit.trace_module(model, {"forward": torch.ones(1, 2)}) is model
    assert not isinstance(model, torch.jit.ScriptModule)
    assert not isinstance(f, torch.jit.ScriptFunction)
    with pytest.raises(FerrogradError, match="TorchScript"):
        torch.jit.ScriptModule()


def test_classes_that_no_value_has() -> None:
    from ferrograd.torch.distributed import autograd, rpc
    from ferrograd.torch.distributed.elastic.multiprocessing.errors import record
    from ferrograd.torch.distributed.tensor import DTensor

    x = torch.ones(1)
    assert not rpc.is_available()
    assert not autograd.is_available()
    assert record(len) is len
    assert not isinstance(x, DTensor | rpc.RRef | autograd.context | torch.cuda.FloatTensor)
    with pytest.raises(RuntimeError, match="no GPU"):
        torch.cuda.LongTensor(2)
    assert isinstance(x.untyped_storage(), torch.UntypedStorage)
    assert x.untyped_storage()._cdata == x[0].untyped_storage()._cdata
    assert x._cdata != torch.ones(1)._cdata


def test_plain_tensors_of_a_subclass_on_purpose() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Tagged(torch.Tensor):  # type: ignore[misc]
            __torch_function__ = torch._C._disabled_torch_function_impl

    assert torch._C._disabled_torch_function_impl(torch.sin, (Tagged,), (torch.zeros(1),)).tolist() == [0.0]
    with torch._C.DisableTorchFunctionSubclass():
        assert torch.ones(1).item() == 1


def test_membership() -> None:
    x = torch.tensor([1.0, 2.0])
    assert 2 in x
    assert np.float32(1) in x
    assert torch.tensor([2.0]) in x
    assert 3 not in x
    for wrong in ("params", None, [1.0]):
        with pytest.raises(RuntimeError, match="contains numbers"):
            assert wrong in x


def test_tensors_without_axes_as_numbers() -> None:
    x, y, half = torch.ones(2), torch.tensor([2.0, 4.0]), torch.tensor(0.5)
    assert x.add(half, y).tolist() == torch.add(x, y, alpha=half).tolist() == [2.0, 3.0]
    assert x.clone().sub_(half, y).tolist() == [0.0, -1.0]
    assert x.clone().addcmul_(half, y, y).tolist() == [3.0, 9.0]
    assert torch.addmv(x, torch.eye(2), y, alpha=half).tolist() == [2.0, 3.0]
    assert torch.arange(torch.tensor(3)).tolist() == [0, 1, 2]
    assert y.norm(p=torch.tensor(1)).item() == 6.0
    with pytest.raises(TypeError):
        x.add(y, y)


def test_a_gradient_does_not_end_in_a_number() -> None:
    x, slope = torch.tensor([-1.0, 1.0]), torch.tensor(0.5, requires_grad=True)
    calls: list[Any] = [
        lambda: torch.nn.functional.leaky_relu(x, slope),
        lambda: torch.nn.functional.elu(x, alpha=slope),
        lambda: torch.linspace(slope, 1, 3),
        lambda: torch.norm(x, slope),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"would end here: write x\.detach\(\)"):
            call()
        with torch.no_grad():
            call()
    assert torch.nn.functional.leaky_relu(x, slope.detach()).tolist() == [-0.5, 1.0]
    torch.full((2,), slope).sum().backward()
    assert slope.grad.item() == 2.0


def test_modules_take_their_state_by_method() -> None:
    class Kept(torch.nn.Linear):  # type: ignore[misc]
        def __setstate__(self, state: dict[str, Any]) -> None:
            super().__setstate__(state)
            self.restored = True

    model = copy.deepcopy(Kept(2, 1))
    assert model.restored
    assert model(torch.ones(1, 2)).shape == (1, 1)
    old = pickle.loads(pickle.dumps(torch.nn.Linear(2, 1)))
    del old.__dict__["_backward_hooks"]
    assert copy.copy(old)(torch.ones(1, 2)).shape == (1, 1)


def test_loaders_by_the_names_of_their_parts() -> None:
    from ferrograd.torch.utils.data import dataloader

    batches = iter(dataloader.DataLoader(range(3)))
    assert isinstance(batches, dataloader._BaseDataLoaderIter)
    assert not isinstance(batches, dataloader._MultiProcessingDataLoaderIter)
    with pytest.raises(AttributeError, match="_Other"):
        dataloader._Other  # noqa: B018


def test_checks_and_symbols() -> None:
    torch._check(True)
    torch._assert(torch.tensor(True), "no")
    for check, error in (
        (torch._check, RuntimeError),
        (torch._check_index, IndexError),
        (torch._check_value, ValueError),
        (torch._check_type, TypeError),
    ):
        with pytest.raises(error, match="2 is too many"):
            check(False, lambda: "2 is too many")
        with pytest.raises(error, match="Expected cond to be True"):
            check(False)
    with pytest.raises(AssertionError, match="no"):
        torch._assert(False, "no")
    assert torch.sym_max(2, 3) == 3
    assert torch.sym_min(2, 3) == 2
    assert torch.sym_int(2.7) == 2
    assert torch.sym_float(2) == 2.0
    assert torch.sym_not(False)
    assert torch._VF.tanh is torch.tanh


def test_branches() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    torch.cond(x.sum() > 0, lambda x: x * 3, lambda x: -x, (x,)).backward()
    assert x.grad.tolist() == [3.0]


def test_names_that_programs_of_torchscript_use() -> None:
    assert torch.jit.annotate(list, [1]) == [1]
    assert torch.jit.wait(torch.jit.fork(lambda x, y=1: x + y, 2, y=3)) == 5
    assert isinstance(torch.jit.fork(len, []), torch.jit.Future)


def test_overrides() -> None:
    class Answers:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0].answer

    x, no = Answers(4), Answers(NotImplemented)
    overrides = torch.overrides
    assert overrides.has_torch_function((torch.ones(1), x))
    assert overrides.has_torch_function_unary(x)
    assert not overrides.has_torch_function_variadic(torch.ones(1), 2.0, None)
    assert overrides.handle_torch_function(torch.sin, (x,), x) == 4
    with pytest.raises(TypeError, match="no implementation found for sin"):
        overrides.handle_torch_function(torch.sin, (no,), no)
    assert overrides.is_tensor_like(x)
    assert not overrides.is_tensor_like(2.0)


def test_more_structures() -> None:
    from ferrograd.torch.utils import _pytree as pytree

    tree = {"a": [1, 2], "b": 3}
    assert pytree.tree_structure(tree) == pytree.tree_flatten(tree)[1]
    assert pytree.tree_all(lambda leaf: leaf > 0, tree)
    assert pytree.tree_any(lambda leaf: leaf > 2, tree)
    assert not pytree.tree_any(lambda leaf: leaf > 3, tree)


def test_contexts_and_devices_that_change_nothing() -> None:
    with torch.backends.cuda.sdp_kernel(enable_flash=False, enable_math=True, enable_mem_efficient=False):
        assert torch.nn.parallel.data_parallel(torch.nn.Identity(), torch.ones(1)).item() == 1
    x = torch.ones(2, 3)
    assert (x.sparse_dim(), x.dense_dim()) == (0, 2)


def test_classes_become_structures() -> None:
    from ferrograd.torch.utils import _pytree as pytree

    class Output(dict[str, Any]):
        def __init__(self, **given: Any) -> None:
            super().__init__({key: value for key, value in given.items() if value is not None})

    pytree.register_pytree_node(
        Output,
        lambda output: (list(output.values()), list(output)),
        lambda parts, names: Output(**dict(zip(names, parts, strict=True))),
        serialized_type_name="Output",
    )
    leaves, spec = pytree.tree_flatten([Output(loss=1, logits=2), 3])
    assert leaves == [1, 2, 3]
    assert spec.num_leaves == 3
    back = pytree.tree_unflatten([4, 5, 6], spec)
    assert back == [{"loss": 4, "logits": 5}, 6]
    assert type(back[0]) is Output
    found = torch.func.vmap(lambda x: Output(twice=2 * x))(torch.ones(3))
    assert type(found) is Output
    assert found["twice"].tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Output, lambda x: ([], x), lambda parts, x: x)
    assert not isinstance(found, torch.fx.Proxy)


def test_structures_as_libraries_take_them_apart() -> None:
    from ferrograd.torch.utils import _pytree as pytree

    tree = [1, (2, {"a": 3})]
    kind = pytree._get_node_type(tree)
    assert kind in pytree.SUPPORTED_NODES
    assert int not in pytree.SUPPORTED_NODES
    parts, context = pytree.SUPPORTED_NODES[kind].flatten_fn(tree)
    assert list(parts) == tree
    spec = pytree.TreeSpec(kind, context, [pytree.LeafSpec(), pytree.tree_structure(tree[1])])
    assert pytree.tree_unflatten([4, 5, 6], spec) == [4, (5, {"a": 6})]
    assert pytree.tree_is_leaf(tree, lambda x: x is tree)
    with pytest.raises(KeyError):
        pytree.SUPPORTED_NODES[int]


def test_files_are_read_by_load() -> None:
    with pytest.raises(FerrogradError, match=r"torch\.load"):
        torch.PyTorchFileReader("file")


def test_arguments_of_to_as_libraries_read_them() -> None:
    parse = torch._C._nn._parse_to
    assert parse("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
    assert parse(dtype=torch.float16)[:2] == (None, torch.float16)
    assert parse(torch.ones(1, dtype=torch.float64))[1] == torch.float64
    with pytest.raises(ValueError, match="the only device is 'cpu'"):
        parse("cuda")


def test_types_of_containers() -> None:
    matches = torch.jit.isinstance
    assert matches([torch.ones(1)], list[torch.Tensor])
    assert matches({"a": [1]}, dict[str, list[int]])
    assert matches((1, 2.0), tuple[int, float])
    assert matches((1, 2), tuple[int, ...])
    assert matches(None, int | None)
    assert matches([], list[int])
    assert not matches([1, "a"], list[int])
    assert not matches({"a": 1}, dict[str, str])
    assert not matches((1,), tuple[int, int])
    assert not matches(1, (str, list[int]))


def test_gradients_of_samples() -> None:
    from ferrograd.torch.nn.utils._per_sample_grad import call_for_per_sample_grads

    nn = torch.nn
    for layers, shape in (
        ([nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)], (5, 3)),
        ([nn.Conv2d(1, 2, 3), nn.GroupNorm(1, 2), nn.Flatten()], (3, 1, 5, 5)),
    ):
        model, x = nn.Sequential(*layers).double(), torch.randn(*shape, dtype=torch.float64)
        call_for_per_sample_grads(model)(x).square().sum().backward()
        for i in range(shape[0]):
            wanted = torch.autograd.grad(model(x[i : i + 1]).square().sum(), list(model.parameters()))
            for p, g in zip(model.parameters(), wanted, strict=True):
                assert p.grad is None
                assert torch.allclose(p.grad_sample[i], g)
        with pytest.raises(RuntimeError, match="grad_sample"):
            call_for_per_sample_grads(model)
    layer = nn.Linear(2, 1, bias=False)
    call_for_per_sample_grads(layer, loss_reduction="mean")(torch.eye(2)).mean().backward()
    assert layer.weight.grad_sample.tolist() == [[[1.0, 0.0]], [[0.0, 1.0]]]
    with pytest.raises(RuntimeError, match="sum or mean"):
        call_for_per_sample_grads(layer, loss_reduction="max")
    with pytest.raises(RuntimeError, match="batch size"):
        call_for_per_sample_grads(nn.Bilinear(1, 1, 1))(torch.ones(2, 1), torch.ones(3, 1))


def test_transforms_that_are_modules() -> None:
    class Scaled(torch.distributions.Transform, torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(cache_size=1)
            self.layer = torch.nn.Linear(1, 1)

    assert len(list(Scaled().parameters())) == 2


def test_devices_that_are_compiled_for() -> None:
    from ferrograd.torch._dynamo import is_compile_supported

    assert is_compile_supported("cpu")
    assert not is_compile_supported("cuda")
    assert torch._dynamo.utils.is_compile_supported("cpu")
