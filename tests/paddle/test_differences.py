"""The methods whose meaning on a dialect's tensors differs from the native one.

Those that follow from a function are not listed: a function in ``__all__`` of a file in ``_functions/`` is a method
if its first parameter is a tensor, perhaps with an in-place form.
"""

import importlib
import pkgutil
from types import ModuleType

import ferrograd as fg
from ferrograd import paddle, torch

BOTH = """
apply_ bfloat16 bool byte cdouble cfloat char cholesky_solve coalesce cuda double exponential_ fill_diagonal_ float
half indices int is_sparse is_sparse_csr long ndimension new_empty new_full new_ones new_zeros positive random_ resize_
set_ short to_dense to_sparse_coo to_sparse_csr type type_as values
"""
PADDLE = """
_copy_gradient_from _copy_to _is_shared_underline_tensor_with _place_str _set_grad_ivar _share_buffer_to
_share_underline_tensor_to abs_ apply argwhere bitwise_and_ bitwise_or_ bitwise_xor_ cast_ cholesky_inverse
combinations complex128 complex64 cond copy_ corrcoef cov cumsum_ data_ptr eig eigvals eigvalsh eq_ equal_
fill_diagonal_tensor fill_diagonal_tensor_ float16 float32 float64 floor_divide_ fmax_ fmin_ ge_ get_strides
get_tensor _grad_ivar _grad_value greater_ greater_equal_ greater_than_ gt_ heaviside_ householder_product hypot_ imag
initialize _inplace_version int16 int32 int64 int8 is_dense _is_initialized is_same_shape _is_shared_buffer_with
is_sparse_coo ldexp_ le_ less_ less_equal_ less_than_ logical_and_ logical_not_ logical_or_ logical_xor_ lstsq lt_ lu
lu_unpack matrix_norm matrix_rank maximum_ minimum_ mod_ mul_ multi_dot multiply_ ne_ not_equal_ _numel ormqr
pca_lowrank persistable pinv polar pow_ power_ qr real remainder_ repeat set _slice slogdet solve svd svd_lowrank _to
trainable triangular_solve true_divide_ uint8 value vector_norm _zero_grads
"""
TORCH = """
as_subclass cauchy_ _cdata chalf clone col_indices contiguous cpu crow_indices dense_dim float_power_ geometric_
get_device _grad H _indices is_coalesced is_complex is_contiguous is_cpu is_cuda is_meta is_mkldnn is_mps is_nested
is_pinned is_quantized is_shared is_xpu layout log_normal_ _make_subclass map_ mH nelement new new_empty_strided
new_tensor _nnz numpy orgqr pin_memory polygamma polygamma_ resize resize_as resize_as_ share_memory_ sparse_dim
storage to to_sparse to_sparse_csc uniform_ untyped_storage _values
"""


def own(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("__")}


def functions(dialect: ModuleType) -> set[str]:
    """The functions in the rooms of a dialect."""
    rooms = importlib.import_module(f"{dialect.__name__}._functions")
    files = [importlib.import_module(f"{rooms.__name__}.{room.name}") for room in pkgutil.iter_modules(rooms.__path__)]
    return {name for file in files for name in getattr(file, "__all__", ())}


def test_methods_of_the_dialects() -> None:
    for dialect, names in ((paddle, PADDLE), (torch, TORCH)):
        told = functions(dialect)
        others = own(dialect.Tensor) - told - {f"{name}_" for name in told}
        assert others == {*BOTH.split(), *names.split()}


def test_classes() -> None:
    x = paddle.ones([2])
    assert type(x) is type(x + 1) is type(paddle.sin(x)) is paddle.Tensor
    assert type(torch.ones(2) * 2) is torch.Tensor
    assert issubclass(paddle.Tensor, fg.Tensor)
    assert issubclass(torch.Tensor, fg.Tensor)
    assert type(x + torch.ones(2)) is paddle.Tensor
