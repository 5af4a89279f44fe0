"""Warnings that are given once a process, or always where :func:`torch.set_warn_always` says so."""

from __future__ import annotations

from ferrograd._kit.warning import warn

#: Whether each warning is given every time.
is_always = False
_given: set[str] = set()


def warn_once(text: str) -> None:
    """Warns at the line of the user's program, unless this text was given before."""
    if is_always or text not in _given:
        _given.add(text)
        warn(text)


def create_graph() -> None:
    """Warns of a backward pass whose gradients, which it leaves in ``.grad``, have a history."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak."
    )


def list_of_tracked() -> None:
    """Warns that a tensor made of a list with tracked tensors has their numbers alone."""
    warn_once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: a tensor made of a "
        "list has the numbers alone. Consider using tensor.detach() first, or torch.stack() to keep gradients."
    )


def use_reentrant(name: str) -> None:
    """Warns of a checkpoint that leaves open which of PyTorch's two kinds is wanted."""
    warn(
        f"{name}: the use_reentrant parameter should be passed explicitly, because PyTorch has two kinds of "
        "checkpoints and recommends use_reentrant=False. Both are the same here."
    )
