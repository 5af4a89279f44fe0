"""``paddle.amp``: mixed precision on the CPU."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._autograd.autocast import Autocast, tell_of_no_gain
from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import public as _public
from ferrograd._optim import fused as _fused
from ferrograd._optim.scaler import Scaler
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.layer import norm

__all__ = [
    "AmpScaler",
    "GradScaler",
    "amp_decorate",
    "amp_guard",
    "auto_cast",
    "autocast",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
    "is_bfloat16_supported",
    "is_float16_supported",
]


def is_float16_supported(device: object = None) -> bool:
    """True: ops on float16 compute in float32."""
    return True


def is_bfloat16_supported(device: object = None) -> bool:
    """True: ops on bfloat16 compute in float32."""
    return True


def is_autocast_enabled(device_type: object = None) -> bool:
    """Whether ``auto_cast`` is on on this thread."""
    return _core.autocast_dtype() is not None


def get_autocast_dtype(device_type: object = None) -> Any:
    """The dtype that ``auto_cast`` computes products in: ``"float32"`` where it is off."""
    return _core.autocast_dtype() or "float32"


get_autocast_cpu_dtype = get_autocast_gpu_dtype = get_autocast_dtype


def _half(op: str, dtype: Any) -> str:
    name = str(getattr(dtype, "name", dtype))
    if name not in ("float16", "bfloat16"):
        raise ArgumentError(f"{op}: the dtype is float16 or bfloat16, not {dtype!r}")
    return name


def _level(op: str, level: Any) -> str:
    name = level.upper() if isinstance(level, str) else None
    if name not in ("O0", "OD", "O1", "O2"):
        raise ArgumentError(f"{op}: level should be O0, OD, O1 or O2, not {level!r:.60}")
    return name


#: The layers whose parameters stay in float32, also in bfloat16 and in float16 only.
_KEPT = (norm._BatchNormBase,)
_KEPT_IN_FLOAT16 = (*_KEPT, norm._InstanceNormBase, norm.LayerNorm)


#: Paddle's names of the ops whose results are rounded to the half dtype.
_PRODUCTS = frozenset(
    (
        "addmm",
        "baddbmm",
        "bmm",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv1d_transpose",
        "conv2d_transpose",
        "conv3d_transpose",
        "deform_conv2d",
        "deformable_conv",
        "depthwise_conv2d",
        "depthwise_conv2d_transpose",
        "einsum",
        "flash_attn",
        "flash_attention",
        "fused_gemm_epilogue",
        "linear",
        "matmul",
        "matmul_v2",
        "matmul_with_flatten",
        "mul",
        "prelu",
        "scaled_dot_product_attention",
        "tensordot",
    )
)


def _check_lists(white: Any, black: Any) -> None:
    """Raises unless these are lists of the names of ops that can be had."""
    given = []
    for name, names in (("custom_white_list", white), ("custom_black_list", black)):
        if not isinstance(names, list | tuple | set | frozenset | type(None)):
            raise ArgumentError(f"auto_cast: {name} must be a list or a set of names, not {type(names).__name__}")
        given.append(set(names or ()))
    if both := given[0] & given[1]:
        raise ArgumentError(f"auto_cast: custom_white_list and custom_black_list both have {sorted(both)}")
    if products := given[1] & _PRODUCTS:
        raise ArgumentError(
            f"auto_cast: custom_black_list has {sorted(products)}, whose results are always in the half dtype; "
            "compute them in `with paddle.amp.auto_cast(enable=False)`"
        )


class auto_cast(Autocast):
    """A context in which products are computed in a half dtype, by default float16.

    Matrix products, convolutions and attention have results of that dtype. Losses and functions that need the digits
    compute in float32. Everything else computes in the dtype of its operands, at every level but ``O0``, which changes
    nothing. Paddle itself does this on GPUs only. Where the processor has instructions for bfloat16, products take less
    time in it; elsewhere a warning says once that they do not.

    The lists of ops change nothing: an op that is no product computes in float32 as it is, and its result has the
    dtype of its operands, whether a list has it or not.

    Raises:
        ArgumentError: ``custom_black_list`` has a product, or both lists have an op.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.ones([2, 2])
    >>> with paddle.amp.auto_cast(dtype="bfloat16"):
    ...     (x @ x).dtype, (x + x).dtype
    (paddle.bfloat16, paddle.float32)
    """

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Any = None,
        custom_black_list: Any = None,
        level: str = "O1",
        dtype: Any = "float16",
        use_promote: bool = True,
    ) -> None:
        _check_lists(custom_white_list, custom_black_list)
        on = enable and _level("auto_cast", level) != "O0"
        name = _half("auto_cast", dtype) if on else None
        if name is not None:
            tell_of_no_gain(name)
        super().__init__(name)


amp_guard = auto_cast


def autocast(
    device_type: object = None, dtype: Any = "float16", enabled: bool = True, cache_enabled: bool = True
) -> auto_cast:
    """:class:`auto_cast` with torch's arguments. The device is the CPU, and no casts are cached."""
    return auto_cast(enabled, dtype=dtype)


def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: Any = "float16",
    master_weight: bool | None = None,
    save_dtype: Any = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """Casts the parameters of models to a half dtype at level ``O2``, except for the layers that normalize batches, and
    in float16 also those that normalize instances and layers.

    The optimizers then keep float32 copies of the parameters, which they update, unless ``master_weight`` is False. At
    other levels nothing is changed. Returns the models, with the optimizers if there are any.
    """
    if save_dtype is not None or master_grad:
        raise ArgumentError("decorate: save_dtype and master_grad are not supported; cast the state to be saved")
    if _level("decorate", level) == "O2":
        name = _half("decorate", dtype)
        excluded = excluded_layers if isinstance(excluded_layers, (list, tuple)) else [excluded_layers]
        kinds = (*(_KEPT_IN_FLOAT16 if name == "float16" else _KEPT), *(e for e in excluded if isinstance(e, type)))
        single = [e for e in excluded if e is not None and not isinstance(e, type)]
        for model in models if isinstance(models, (list, tuple)) else [models]:
            _cast(model, name, kinds, single)
        for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
            if optimizer is not None:
                optimizer._multi_precision = master_weight is not False
    return models if optimizers is None else (models, optimizers)


amp_decorate = decorate


def _cast(layer: Any, dtype: str, kinds: tuple[type, ...], single: list[Any]) -> None:
    """Casts the parameters and buffers of a tree without those of some layers."""
    if isinstance(layer, kinds) or any(layer is other for other in single):
        return
    for child in layer.children():
        _cast(child, dtype, kinds, single)
    layer._fg_convert_own(lambda t: t.astype(dtype) if t.dtype.kind == "f" else t)
    layer._dtype = dtype


class AmpScaler(Scaler):
    """A :class:`GradScaler` with the defaults of Paddle's older name: a factor of 32768, raised after 1000 steps."""

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 32768.0,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 1000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        if enable and not incr_ratio > 1:
            raise AssertionError("The incr_ratio must be > 1.0.")
        if enable and not decr_ratio < 1:
            raise AssertionError("The decr_ratio must be < 1.0.")
        super().__init__()
        self._enable = enable
        self._use_dynamic_loss_scaling = enable and use_dynamic_loss_scaling
        self._scale = float(init_loss_scaling)
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._incr_every_n_steps, self._decr_every_n_nan_or_inf = incr_every_n_steps, decr_every_n_nan_or_inf
        self._incr_count = self._decr_count = 0

    def scale(self, var: Tensor) -> Tensor:
        """A tensor times the factor."""
        if not self._enable:
            return var
        factor = _fused.number(var, lambda: self._scale)
        return ops.multiply(var, factor)

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the factor, once between two updates."""
        if self._enable:
            self._unscale(optimizer, optimizer._parameter_list)

    def step(self, optimizer: Any) -> None:
        """Divides the gradients if :meth:`unscale_` did not, and steps unless one of them is not finite."""
        if self._enable:
            self._step(optimizer, optimizer.step)
        else:
            optimizer.step()

    def update(self) -> None:
        """Changes the factor by what the gradients were, with dynamic scaling."""

        def make() -> Any:
            seen, self._seen = self._seen, {}
            if not self._use_dynamic_loss_scaling or not seen:
                return seen
            if all(finite for finite, _ in seen.values()):
                self._decr_count, self._incr_count = 0, self._incr_count + 1
                if self._incr_count == self._incr_every_n_steps:
                    self._scale, self._incr_count = self._scale * self._incr_ratio, 0
            else:
                self._incr_count, self._decr_count = 0, self._decr_count + 1
                if self._decr_count == self._decr_every_n_nan_or_inf:
                    self._scale, self._decr_count = self._scale * self._decr_ratio, 0
            return seen

        _fused.change(vars(self), make)

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        """:meth:`step`, with ``optimizer.minimize`` of the other arguments for its ``step``, and :meth:`update`."""
        if self._enable:
            self._step(optimizer, lambda: optimizer.minimize(*args, **kwargs))
        else:
            optimizer.minimize(*args, **kwargs)
        self.update()

    def is_enable(self) -> bool:
        """Whether losses are scaled."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether the factor changes."""
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self) -> float:
        """The factor."""
        return self._scale

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Sets the factor."""
        self._scale = float(new_init_loss_scaling)

    def get_incr_ratio(self) -> float:
        """What the factor is multiplied by to raise it."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Sets what the factor is multiplied by to raise it."""
        if not new_incr_ratio > 1:
            raise AssertionError("The new_incr_ratio must be > 1.0.")
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        """What the factor is multiplied by to lower it."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Sets what the factor is multiplied by to lower it."""
        if not new_decr_ratio < 1:
            raise AssertionError("The new_decr_ratio must be < 1.0.")
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        """How many steps in a row raise the factor."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Sets how many steps in a row raise the factor."""
        self._incr_every_n_steps = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self) -> int:
        """How many steps in a row that were left out lower the factor."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Sets how many steps in a row that were left out lower the factor."""
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf

    def state_dict(self) -> dict[str, Any]:
        """The factor and its settings; nothing if losses are not scaled."""
        if not self._enable:
            return {}
        return {
            "scale": self._scale,
            "incr_ratio": self._incr_ratio,
            "decr_ratio": self._decr_ratio,
            "incr_every_n_steps": self._incr_every_n_steps,
            "decr_every_n_nan_or_inf": self._decr_every_n_nan_or_inf,
            "incr_count": self._incr_count,
            "decr_count": self._decr_count,
            "use_dynamic_loss_scaling": self._use_dynamic_loss_scaling,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what :meth:`state_dict` gave."""
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError(
                "The input state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        # Paddle saves the factor as an array of one element.
        loaded = {f"_{name}": state_dict[name] for name in self.state_dict()}
        scale = loaded["_scale"]
        loaded["_scale"] = float(scale.item() if hasattr(scale, "item") else scale)
        vars(self).update(loaded)


class GradScaler(AmpScaler):
    """Multiplies losses by a factor, so that small gradients do not vanish, and divides the gradients again.

    A step is left out if a gradient is not finite. With dynamic scaling the factor is multiplied by ``decr_ratio``
    after ``decr_every_n_nan_or_inf`` such steps in a row, and by ``incr_ratio`` after ``incr_every_n_steps`` others.

    >>> import ferrograd.paddle as paddle
    >>> w = paddle.to_tensor(1.0, stop_gradient=False)
    >>> optimizer = paddle.optimizer.SGD(0.5, parameters=[w])
    >>> scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
    >>> scaler.scale(w * w).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.item(), scaler.get_init_loss_scaling()
    (0.0, 1024.0)
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 65536.0,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        super().__init__(
            enable,
            init_loss_scaling,
            incr_ratio,
            decr_ratio,
            incr_every_n_steps,
            decr_every_n_nan_or_inf,
            use_dynamic_loss_scaling,
        )


def __getattr__(name: str) -> Any:
    if name == "debugging":
        raise AttributeError(
            "module 'ferrograd.paddle.amp' has no attribute 'debugging': "
            "paddle.set_flags({'FLAGS_check_nan_inf': True}) looks at the result of each op, and "
            "ferrograd.profile counts ops"
        )
    raise _public.MissingName("ferrograd.paddle.amp", name)


__dir__ = _public.names(globals())
