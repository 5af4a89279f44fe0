"""``torch.nn.utils._per_sample_grad``: the gradients of a loss for each sample of a batch, from one backward pass."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch._base.vmap import vmap
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.func import functional_call
from ferrograd.torch.nn.modules.module import Module

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Any:
    """A function that calls a module; ``backward`` from its result gives each parameter ``grad_sample``.

    That has the gradient of each sample, along a first axis. ``grad`` stays as it is. The samples are along the first
    axis of each tensor that the function is given, or along the second one; what the module computes for a sample does
    not depend on the others. A loss that is a mean takes ``loss_reduction="mean"``.

    Raises:
        RuntimeError: another kind of loss, something that is no module, samples of different numbers, or a parameter
            that has a ``grad_sample`` already.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> call_for_per_sample_grads(layer)(torch.eye(2)).sum().backward()
    >>> layer.weight.grad_sample.tolist()
    [[[1.0, 0.0]], [[0.0, 1.0]]]
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    for p in parameters.values():
        if getattr(p, "grad_sample", None) is not None:
            raise RuntimeError("a parameter has a grad_sample already: set it to None before the next call")
    axis = 0 if batch_first else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
        counts = {int(x.shape[axis]) for x in tensors} | ({batch_size} if batch_size is not None else set())
        if len(counts) != 1:
            raise RuntimeError(
                "When inferring batch_size from inputs, all inputs must have the same batch size: give batch_size; "
                f"the inputs have {sorted(counts) or 'none'}"
            )
        (count,) = counts
        copies = {name: p.detach().expand(count, *p.shape).requires_grad_() for name, p in parameters.items()}
        for name, copy in copies.items():
            copy.register_hook(_keep(parameters[name], count if loss_reduction == "mean" else 1))
        names = [name for name, x in kwargs.items() if isinstance(x, Tensor)]
        places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]

        def one(own: Any, given: Any, named: Any) -> Any:
            whole, options = list(args), dict(kwargs)
            for i, x in zip(places, given, strict=True):
                whole[i] = x.unsqueeze(axis)
            for name, x in zip(names, named, strict=True):
                options[name] = x.unsqueeze(axis)
            return functional_call(module, own, tuple(whole), options).squeeze(axis)

        batched = [args[i] for i in places], [kwargs[name] for name in names]
        return vmap(one, in_dims=(0, axis, axis), out_dims=axis, randomness="different")(copies, *batched)

    return call


def _keep(parameter: Any, factor: int) -> Any:
    def keep(gradient: Any) -> None:
        parameter.grad_sample = gradient.detach() * factor if factor != 1 else gradient.detach()

    return keep


__dir__ = _public.names(globals())
