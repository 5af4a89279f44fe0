"""The hooks of a module that see the gradients of its outputs and of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import gradient_edge, is_grad_enabled
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.autograd.function import Function

Hook = Callable[..., Any]
Place = list[int] | None


class _Together(Function):
    """The identity of several tensors: one node, so that a hook sees all their gradients at once."""

    @staticmethod
    def forward(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*[y for y, t in zip(output, inputs, strict=True) if not t.requires_grad])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class BackwardHooks:
    """The hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Hook], before: list[Hook]) -> None:
        self.module, self.hooks, self.before = module, hooks, before
        self.inputs: Place = None
        self.count = 0
        self.grad_outputs: Any = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, whose gradients go through the hooks."""
        self.count = len(args)
        args, self.inputs = _through(args, self._inputs_done)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """The result, whose gradients are kept for the hooks."""
        if not isinstance(result, Tensor | tuple):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
        outputs = result if isinstance(result, tuple) else (result,)
        place: Place = None
        outputs, place = _through(outputs, lambda grads, _: self._outputs_done(grads, place, len(outputs)))
        return outputs if isinstance(result, tuple) else outputs[0]

    def _outputs_done(self, grads: Any, place: Any, count: int) -> Any:
        self.grad_outputs = _spread(grads, place, count)
        for hook in self.before:
            given = hook(self.module, self.grad_outputs)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != count:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(given)}, but expected {count}"
                )
            self.grad_outputs = given
        found = tuple(self.grad_outputs[i] for i in place)
        if self.inputs is None:
            self._without_inputs()
        return found

    def _without_inputs(self) -> None:
        """Calls the hooks where no input has a gradient."""
        if self.hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients."
            )
        for hook in self.hooks:
            given = hook(self.module, (None,) * self.count, self.grad_outputs)
            if given is not None and not (isinstance(given, tuple) and all(g is None for g in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def _inputs_done(self, grads: Any, _: Any) -> Any:
        if self.grad_outputs is None:
            # The gradient did not come through the outputs of this call.
            return None
        found = _spread(grads, self.inputs or [], self.count)
        for hook in self.hooks:
            given = hook(self.module, found, self.grad_outputs)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != len(found):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(given)}, but expected {len(found)}"
                )
            found = given
        self.grad_outputs = None
        return tuple(found[i] for i in self.inputs or [])


def _spread(values: Any, place: list[int], count: int) -> tuple[Any, ...]:
    """Values at their places among ``count``; None at the others."""
    at = dict(zip(place, values, strict=True))
    return tuple(at.get(i) for i in range(count))


def _through(args: tuple[Any, ...], hook: Hook) -> tuple[Any, Place]:
    """The arguments with their tensors passed through one node that has the hook, and the places of the tensors.

    Without a tensor that is tracked, they are returned as they are, and None.
    """
    place = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not is_grad_enabled() or not any(args[i].requires_grad for i in place):
        return args, None
    found = _Together.apply(*[args[i] for i in place])
    next(t for t in found if t.requires_grad).grad_fn.register_hook(hook)
    at = dict(zip(place, found, strict=True))
    passed = [at.get(i, arg) for i, arg in enumerate(args)]
    return (type(args)(*passed) if hasattr(args, "_fields") else tuple(passed)), place


def on_result(args: tuple[Any, ...], result: Any, hooks: list[Hook], module: Any) -> None:
    """Calls hooks with the gradients of the node of the first tensor in a result: ``register_backward_hook``.

    It warns where these are not the gradients of the module's outputs and inputs.
    """
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is not None:
        lacks = _missed(args, result, node)
        if lacks is not None:
            warn(
                f"Using a non-full backward hook {lacks}. Please use register_full_backward_hook to get the "
                "documented behavior.",
                FutureWarning,
            )
        for hook in hooks:
            node.register_hook(lambda grads, seeds, hook=hook: hook(module, grads, seeds))


def _missed(args: tuple[Any, ...], result: Any, node: Any) -> str | None:
    """When and what a hook of the node of the first output does not see."""
    outputs = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(y, Tensor) for y in outputs):
        return (
            "on a Module that does not return a single Tensor or a tuple of Tensors: it will be missing some of the "
            "grad_output"
        )
    if not all(isinstance(x, Tensor) for x in args):
        return (
            "on a Module that does not take as input a single Tensor or a tuple of Tensors: it will be missing some "
            "of the grad_input"
        )
    if len({id(y.grad_fn) for y in outputs if y.grad_fn is not None}) > 1:
        return "when outputs are generated by different autograd Nodes: it will be missing some grad_output"
    before = {part for part, _ in node.next_functions}
    if any(x.requires_grad and gradient_edge(x).node not in before for x in args):
        return "when the forward contains multiple autograd Nodes: it will be missing some grad_input"
    return None
