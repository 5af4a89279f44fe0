"""Batch normalization."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd._layers import blocks
from ferrograd.torch._base.process_groups import GroupMember, ProcessGroup
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init
from ferrograd.torch.nn.modules.linear import optional
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Scales, shifts and running statistics of channels."""

    _version = 2
    #: The numbers of axes that an input may have.
    _fg_ranks: tuple[int, ...] = ()
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: object = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if affine or track_running_stats:
            _arguments.sizes(self, num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", optional(affine, [num_features], dtype, device))
        self.register_parameter("bias", optional(affine and bias, [num_features], dtype, device))
        tracked = track_running_stats
        self.register_buffer("running_mean", ops.zeros([num_features], dtype) if tracked else None)
        self.register_buffer("running_var", ops.ones([num_features], dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", ops.zeros([], "int64") if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Sets the running means to zero and the running variances to one."""
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets the running statistics, the scales and the shifts to their initial values."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if self._fg_ranks and input.ndim not in self._fg_ranks:
            wanted = " or ".join(f"{rank}D" for rank in self._fg_ranks)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        """The arguments."""
        shown = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{shown}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        key = f"{prefix}num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.num_batches_tracked is not None and key not in state_dict:
            # States of PyTorch before version 0.4.1 lack the number of batches.
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Normalizes each channel over the batch."""

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input. In training the running statistics are updated."""
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = self._fg_equal_share(self.num_batches_tracked)
        fresh = self.training or (self.running_mean is None and self.running_var is None)
        used = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if used else (None, None)
        return self._fg_normalized(input, mean, var, fresh, share)

    def _fg_equal_share(self, count: Tensor) -> Any:
        """The share of each of ``count`` batches. It is a number, and a tensor where a compiled function is traced."""
        mean = self.running_mean
        if _core.is_tracing() and mean is not None and mean.dtype.itemsize > 2:
            return 1.0 / ops.cast(count, "float64")
        return 1.0 / float(count)

    def _fg_normalized(self, input: Tensor, mean: Tensor | None, var: Tensor | None, fresh: bool, share: Any) -> Tensor:
        """The normalized input. ``mean`` and ``var`` are updated if ``fresh``, and used otherwise."""
        return F.batch_norm(input, mean, var, self.weight, self.bias, fresh, share, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of vectors [batch, channels] or sequences [batch, channels, length].

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.BatchNorm1d(2)
    >>> layer(torch.tensor([[1.0, 5.0], [3.0, 5.0]])).tolist(), layer.running_mean.tolist()
    ([[-0.999994..., 0.0], [0.999994..., 0.0]], [0.2000000..., 0.5])
    """

    _fg_ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images [batch, channels, height, width]."""

    _fg_ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes [batch, channels, depth, height, width]."""

    _fg_ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of inputs with any number of axes, by the statistics of the batches of all processes.

    ``process_group`` is the default group of ``torch.distributed`` if it is None. Without a group, in a group of one
    process and in evaluation it is the ordinary batch normalization.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: object = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if self.training:
            # It raises before the batch is counted.
            blocks.current()

    def _fg_normalized(self, input: Tensor, mean: Tensor | None, var: Tensor | None, fresh: bool, share: Any) -> Tensor:
        group, together = self.process_group or GroupMember.WORLD, blocks.current() if fresh else None
        if not fresh or (together is None and (group is None or group.size() == 1)):
            return super()._fg_normalized(input, mean, var, fresh, share)
        from ferrograd.distributed._batch_norm import normalize

        comm: Any = together or group.communicator  # type: ignore[union-attr]
        return normalize(input, 1, comm, (mean, var), (self.weight, self.bias), share, self.eps, unbiased=True)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: ProcessGroup | None = None) -> Module:
        """The module with a :class:`SyncBatchNorm` in place of each other batch normalization in it.

        Parameters and buffers stay the same objects.
        """
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            options = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            made = cls(*options, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
            return made
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module


@typed(root=Module)
def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes all batch normalizations of a module use the statistics of the batch, in place, as ``vmap`` needs it."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


__dir__ = _public.names(globals())
