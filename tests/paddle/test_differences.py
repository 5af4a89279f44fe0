"""The list of all methods whose meaning on a dialect's tensors differs from the native one."""

from __future__ import annotations

import ferrograd as fg
from ferrograd import paddle, torch

BOTH = """bfloat16 bool byte char double float half int is_floating_point long positive set_ short type_as"""
PADDLE = """
cdouble cfloat complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 _grad_ivar _inplace_version
_is_initialized _numel _slice _to _zero_grads add addmm allclose apply apply_ argmax argmin argwhere as_strided assign
atan2 bernoulli bitwise_left_shift bitwise_right_shift broadcast_tensors bucketize cast_ cauchy_ cdist cholesky_inverse
cholesky_solve combinations concat cond corrcoef cov crop cross cuda cummax cummin cumsum_ diag div divide dsplit eig
eigvals eigvalsh equal_all exponential_ fill_diagonal_ fill_diagonal_tensor floor_mod frac frexp full_like gather
gather_nd geometric_ get_strides get_tensor set histogram histogram_bin_edges histogramdd householder_product imag
hsplit increment index_add initialize index_fill index_put index_sample index_select is_complex is_dense is_empty
is_integer is_same_shape isin isneginf isposinf log_normal_ logcumsumexp logit lstsq lu lu_unpack masked_scatter matmul
matrix_norm matrix_rank median multi_dot multinomial nanmedian nanquantile nansum ndimension new_empty new_full
new_ones new_zeros nonzero norm normal_ ones_like ormqr pca_lowrank pinv poisson polygamma put_along_axis qr quantile
randint_like random_ real reduce_as renorm repeat repeat_interleave reshape resize_ reverse scale scatter
scatter_nd_add select_scatter shard_index slice slice_scatter slogdet softmax solve split squeeze stack standard_gamma
stanh std strided_slice sub subtract sum svd svd_lowrank swapaxes swapdims t take take_along_axis take_along_dim
tensor_split tensordot to_dlpack topk transpose triangular_solve unbind unfold uniform_ unique unique_consecutive
unsqueeze unstack vander var vector_norm view vsplit zeros_like add_n dot atleast_1d atleast_2d atleast_3d block_diag
cumulative_trapezoid is_tensor persistable polar scatter_nd trainable trapezoid where where_ get_device value coalesce
data_ptr indices is_sparse is_sparse_coo is_sparse_csr to_dense to_sparse_coo to_sparse_csr type values
_is_shared_buffer_with copysign masked_fill
"""
TORCH = """
_cdata _grad _indices _make_subclass _nnz _values add addbmm addcdiv addcmul addmm addmv addr adjoint aminmax apply_
argwhere as_strided as_strided_scatter as_subclass baddbmm bernoulli bernoulli_ bucketize cauchy_ cdouble cfloat chalf
cholesky_inverse cholesky_solve clamp_max clamp_min clone coalesce col_indices conj constant_pad_nd contiguous cpu
cross crow_indices cuda cummax cummin dense_dim div divide dot dsplit equal exponential_ fill fill_diagonal_
float_power_ frexp gather geometric_ geqrf ger get_device gradient H histc histogram histogramdd hsplit index_add
index_put indices inner is_coalesced is_complex is_conj is_contiguous is_cpu is_cuda is_meta is_mkldnn is_mps is_neg
is_nested is_nonzero is_pinned is_quantized is_same_size is_shared is_signed is_sparse is_sparse_csr is_xpu isneginf
isposinf kthvalue layout log_normal_ log_softmax logit lu lu_solve map_ max median mH min mm mode multinomial nanmean
nanmedian narrow_copy ndimension nelement new new_empty new_empty_strided new_full new_ones new_tensor new_zeros
nonzero nonzero_static norm normal_ numpy orgqr ormqr outer pin_memory pinverse polygamma polygamma_ put random_
repeat resize resize_as repeat_interleave resize_ resize_as_ roll rsub scatter sgn share_memory_ sign slogdet softmax
sort sparse_dim split square squeeze std std_mean stft storage sub sum_to_size svd t take_along_dim tensor_split to
to_dense to_sparse to_sparse_coo to_sparse_csc to_sparse_csr topk trace transpose triangular_solve true_divide type
unbind unfold uniform_ unique unique_consecutive unsafe_chunk unsafe_split untyped_storage values vander var var_mean
vdot view view_as vsplit where hash_tensor subtract swapaxes swapdims native_norm imag real view_as_complex
view_as_real
"""
#: Those whose in-place forms are the dialect's own too.
IN_PLACE = {
    paddle: """
    abs add addmm as_strided atan2 bernoulli bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    copysign div divide eq equal fill_diagonal_tensor floor_divide floor_mod fmax fmin frac ge greater greater_equal
    greater_than gt heaviside hypot index_add index_fill index_put ldexp le less less_equal less_than logcumsumexp
    logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter maximum minimum mod mul multiply
    ne not_equal polygamma pow power put_along_axis remainder renorm reshape scale scatter softmax squeeze sub subtract
    swapaxes swapdims t transpose true_divide unsqueeze view
    """,
    torch: """
    add addbmm addcdiv addcmul addmm addmv addr as_strided baddbmm clamp_max clamp_min conj div divide index_add
    index_put log_softmax logit put scatter sgn sign softmax square squeeze sub subtract swapaxes swapdims t
    transpose true_divide view
    """,
}


def own(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("__")}


def test_methods_of_the_dialects() -> None:
    for dialect, names in ((paddle, PADDLE), (torch, TORCH)):
        in_place = {f"{name}_" for name in IN_PLACE[dialect].split()}
        assert own(dialect.Tensor) == {*BOTH.split(), *names.split()} | in_place


def test_classes() -> None:
    x = paddle.ones([2])
    assert type(x) is type(x + 1) is type(paddle.sin(x)) is paddle.Tensor
    assert type(torch.ones(2) * 2) is torch.Tensor
    assert issubclass(paddle.Tensor, fg.Tensor)
    assert issubclass(torch.Tensor, fg.Tensor)
    assert type(x + torch.ones(2)) is paddle.Tensor
