"""``paddle.metric``: figures of how good predictions are, summed up over batches."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]


def _array(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


class Metric(abc.ABC):
    """The base of metrics: ``update`` takes a batch, ``accumulate`` gives the figure of all batches since ``reset``.

    ``compute`` gets the outputs and the labels and returns what ``update`` takes; by default the outputs and labels.
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forgets all batches."""

    @abc.abstractmethod
    def update(self, *args: Any) -> Any:
        """Adds a batch."""

    @abc.abstractmethod
    def accumulate(self) -> Any:
        """The figure of all batches."""

    @abc.abstractmethod
    def name(self) -> Any:
        """The name, or the list of names where there are several figures."""

    def compute(self, *args: Any) -> Any:
        """What ``update`` takes, made of the outputs and the labels."""
        return args


class Accuracy(Metric):
    """The share of samples whose label is among the ``topk`` most likely classes.

    >>> import ferrograd.paddle as paddle
    >>> m = paddle.metric.Accuracy()
    >>> correct = m.compute(paddle.to_tensor([[0.1, 0.9], [0.7, 0.3]]), paddle.to_tensor([[1], [1]]))
    >>> float(m.update(correct)), float(m.accumulate())
    (0.5, 0.5)
    """

    def __init__(self, topk: int | Sequence[int] = (1,), name: str | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        self.maxk = max(self.topk)
        base = "acc" if name is None else name
        self._name = [f"{base}_top{k}" for k in self.topk] if len(self.topk) > 1 else [base]
        self.reset()

    def compute(self, pred: Any, label: Any, *args: Any) -> Any:
        """Ones at the places of the right class among the most likely ones: [samples, topk]."""
        scores, wanted = _array(pred), _array(label)
        if scores.ndim == 0 or wanted.ndim == 0:
            raise ShapeError(f"accuracy: predictions of shape {list(scores.shape)}, labels of {list(wanted.shape)}")
        found = np.argsort(-scores, axis=-1, kind="stable")[..., : self.maxk]
        if wanted.ndim == 1 or (wanted.ndim == 2 and wanted.shape[-1] == 1):
            wanted = wanted.reshape(-1, 1)
        elif wanted.shape[-1] != 1:
            wanted = wanted.argmax(-1)[..., None]
        return _core.make((found == wanted).astype(np.float32), None, False, PADDLE)

    def update(self, correct: Any, *args: Any) -> Any:
        """Adds a batch of what ``compute`` returned; the accuracy of the batch."""
        given = _array(correct)
        count = int(np.prod(given.shape[:-1]))
        found = []
        for i, k in enumerate(self.topk):
            right = given[..., :k].sum()
            found.append(float(right) / count)
            self.total[i] += float(right)
            self.count[i] += count
        return found[0] if len(found) == 1 else found

    def reset(self) -> None:
        """Forgets all batches."""
        self.total, self.count = [0.0] * len(self.topk), [0] * len(self.topk)

    def accumulate(self) -> Any:
        """The accuracy, or a list of one for each of ``topk``."""
        found = [t / c if c else 0.0 for t, c in zip(self.total, self.count, strict=True)]
        return found[0] if len(found) == 1 else found

    def name(self) -> Any:
        """The names."""
        return self._name


class _OfTwo(Metric):
    """A figure of counts of predictions in [0, 1], rounded to classes 0 and 1."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._name = name
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self.tp = self.fp = self.fn = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Adds the probabilities of class 1 and the labels of a batch."""
        found = np.floor(_array(preds) + 0.5).astype(np.int32).reshape(-1)
        wanted = _array(labels).reshape(-1)
        self.tp += int(((found == 1) & (wanted == 1)).sum())
        self.fp += int(((found == 1) & (wanted != 1)).sum())
        self.fn += int(((found != 1) & (wanted == 1)).sum())

    def name(self) -> str:
        """The name."""
        return self._name


class Precision(_OfTwo):
    """The share of samples of class 1 among those that are predicted to be of class 1."""

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)

    def accumulate(self) -> float:
        """The precision; 0 without a prediction."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0


class Recall(_OfTwo):
    """The share of samples that are predicted to be of class 1 among those of class 1."""

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)

    def accumulate(self) -> float:
        """The recall; 0 without a sample of class 1."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 0.0


class Auc(Metric):
    """The area below the ROC curve of the probabilities of class 1, counted in ``num_thresholds`` steps."""

    def __init__(
        self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if curve != "ROC":
            raise ArgumentError(f"Auc: curve must be 'ROC', not {curve!r:.60}")
        self._steps, self._name = num_thresholds, name
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self._positive, self._negative = np.zeros(self._steps + 1), np.zeros(self._steps + 1)

    def update(self, preds: Any, labels: Any) -> None:
        """Adds the probabilities of both classes, [samples, 2], and the labels of a batch."""
        places = (_array(preds)[:, 1] * self._steps).astype(np.int64)
        if places.size and not 0 <= places.min() <= places.max() <= self._steps:
            raise ArgumentError("Auc: the predictions must be probabilities in [0, 1]")
        wanted = _array(labels).reshape(-1).astype(bool)
        np.add.at(self._positive, places[wanted], 1)
        np.add.at(self._negative, places[~wanted], 1)

    def accumulate(self) -> float:
        """The area; 0 where a class has no sample."""
        positive, negative = (np.cumsum(v[::-1]) for v in (self._positive, self._negative))
        if not positive[-1] or not negative[-1]:
            return 0.0
        heights = (np.concatenate([[0], positive[:-1]]) + positive) / 2
        return float((self._negative[::-1] * heights).sum() / (positive[-1] * negative[-1]))

    def name(self) -> str:
        """The name."""
        return self._name


def accuracy(
    input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: str | None = None
) -> Any:
    """The share of samples whose label is among the ``k`` classes of the largest scores, as a tensor.

    >>> import ferrograd.paddle as paddle
    >>> paddle.metric.accuracy(paddle.to_tensor([[0.1, 0.9], [0.7, 0.3]]), paddle.to_tensor([[1], [1]])).item()
    0.5
    """
    metric = Accuracy(topk=(k,))
    found = metric.compute(input, label)
    return ops.mean(ops.sum(found, -1))


__dir__ = _public.names(globals())
