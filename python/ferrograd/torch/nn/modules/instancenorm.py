"""Instance normalization."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.ops import ops
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules.batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each example."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: object = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        """The number of axes of an input without a batch, by the name that subclasses of users override."""
        return self._fg_ranks[0]

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, with or without a batch. In training the running statistics, if any, are updated."""
        self._check_input_dim(input)
        alone = input.ndim == self._get_no_batch_dim()
        axis = 0 if alone else 1
        if input.shape[axis] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={axis} to match num_features ({self.num_features}), but got: "
                    f"{input.shape[axis]}."
                )
            warn(
                f"input's size at dim={axis} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False"
            )
        y = F.instance_norm(
            ops.expand_dims(input, 0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return ops.squeeze(y, 0) if alone else y


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of sequences [batch, channels, length]."""

    _fg_ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images [batch, channels, height, width]."""

    _fg_ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes [batch, channels, depth, height, width]."""

    _fg_ranks = (4, 5)


__dir__ = _public.names(globals())
