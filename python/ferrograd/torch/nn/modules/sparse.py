"""Look-ups in tables of vectors."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init
from ferrograd.torch.nn.modules.linear import parameter
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A table of vectors, of which one may stand for padding."""

    weight: Parameter

    def _fg_set(
        self,
        sizes: tuple[int, int],
        padding_idx: int | None,
        weight: Tensor | None,
        frozen: bool,
        device: object,
        dtype: Any,
        name: str,
    ) -> None:
        self.num_embeddings, self.embedding_dim = sizes
        _arguments.sizes(self, num_embeddings=sizes[0], embedding_dim=sizes[1])
        if padding_idx is not None and not -sizes[0] <= padding_idx < sizes[0]:
            raise AssertionError(f"{name} must be within num_embeddings")
        self.padding_idx = None if padding_idx is None else padding_idx % sizes[0]
        if weight is None:
            self.weight = parameter(list(sizes), dtype, device)
            self.reset_parameters()
        else:
            if tuple(weight.shape) != sizes:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, not frozen)
        self.weight.requires_grad = not frozen

    def reset_parameters(self) -> None:
        """Draws the table anew from the standard normal distribution; the row for padding is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, *args: Any, **kwargs: Any) -> Any:
        """A layer with a given table, which gets no gradient unless ``freeze`` is False."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        kwargs.update(zip(cls._fg_others, args, strict=False))
        made = cls(*embeddings.shape, _weight=embeddings, **kwargs)
        made.weight.requires_grad = not freeze
        return made

    #: The further arguments of ``from_pretrained``, by place.
    _fg_others: tuple[str, ...] = ()


class Embedding(_Table):
    """The rows of a table at given indices. The row ``padding_idx`` stays as it is in training.

    >>> import ferrograd.torch as torch
    >>> table = torch.nn.Embedding.from_pretrained(torch.eye(3))
    >>> table(torch.tensor([2, 0])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    _fg_others = ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        sizes = (num_embeddings, embedding_dim)
        self._fg_set(sizes, padding_idx, _weight, _freeze, device, dtype, "Padding_idx")

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, *args: Any, **kwargs: Any) -> Any:
        """A layer with a given table, of integers too. It gets no gradient unless ``freeze`` is False."""
        return super().from_pretrained(embeddings, freeze, *args, _freeze=freeze, **kwargs)

    def forward(self, input: Tensor) -> Tensor:
        """The rows."""
        rest = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
        return F.embedding(input, self.weight, *rest)

    def extra_repr(self) -> str:
        """The sizes and the arguments that are not the default."""
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                shown += f", {name}={getattr(self, name)}"
        return shown + (", sparse=True" if self.sparse else "")


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of a table in each bag of indices."""

    _fg_others = (
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        sizes = (num_embeddings, embedding_dim)
        self._fg_set(sizes, padding_idx, _weight, False, device, dtype, "padding_idx")

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """One vector for each bag: a row of a matrix, or the part of a vector between two offsets."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, the mode and the arguments that are not the default."""
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                shown += f", {name}={getattr(self, name)!r}"
        shown += f", mode={self.mode!r}"
        return shown + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx!r}")


__dir__ = _public.names(globals())
