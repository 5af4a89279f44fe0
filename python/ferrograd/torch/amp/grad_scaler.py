"""``torch.amp.grad_scaler``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import torch as ops
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd._optim import fused as _fused
from ferrograd._optim.scaler import Scaler
from ferrograd.torch._tensor import Tensor

__all__ = ["GradScaler"]


class GradScaler(Scaler):
    """Multiplies losses by a factor, so that small gradients do not vanish, and divides the gradients again.

    A step is left out if a gradient is not finite. :meth:`update` then multiplies the factor by ``backoff_factor``;
    after ``growth_interval`` steps without such a gradient, by ``growth_factor``. For a GPU it warns as torch does and
    does nothing.

    >>> import ferrograd.torch as torch
    >>> w = torch.nn.Parameter(torch.tensor(1.0))
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
    >>> scaler.scale(w * w).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.item(), scaler.get_scale()
    (0.0, 65536.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = str(getattr(device, "type", device))
        if enabled and self._device != "cpu":
            warn(f"torch.amp.GradScaler is enabled, but {self._device} is not available. Disabling.")
            enabled = False
        if not growth_factor > 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if not backoff_factor < 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        super().__init__()
        self._enabled = enabled
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each of a sequence of them, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            factor = _fused.number(outputs, lambda: self._scale)
            return ops.multiply(outputs, factor)
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the factor, once between two updates."""
        if self._enabled:
            self._unscale(optimizer, (p for group in optimizer.param_groups for p in group["params"]))

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Divides the gradients if :meth:`unscale_` did not, and steps unless one of them is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        return self._step(optimizer, lambda: optimizer.step(*args, **kwargs))

    def update(self, new_scale: Any = None) -> None:
        """Sets the factor for the next step, by what the gradients were or to a number."""
        if not self._enabled:
            return
        if new_scale is None and not self._seen:
            raise AssertionError("No inf checks were recorded prior to update.")

        def make() -> Any:
            seen, self._seen = self._seen, {}
            if new_scale is not None:
                self._scale = float(new_scale)
            elif all(finite for finite, _ in seen.values()):
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
            else:
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            return seen

        _fused.change(vars(self), make)

    def get_scale(self) -> float:
        """The factor; 1 if losses are not scaled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by after ``growth_interval`` steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by after ``growth_interval`` steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by after a gradient that is not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by after a gradient that is not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps in a row raise the factor."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets how many steps in a row raise the factor."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The factor and its settings; nothing if losses are not scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what :meth:`state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        vars(self).update({f"_{key.removeprefix('_')}": state_dict[key] for key in self.state_dict()})


__dir__ = _public.names(globals())
