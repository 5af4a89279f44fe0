"""``paddle.Model``: a network that trains, evaluates and predicts by itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, FerrogradError, paddle as ops
from ferrograd._kit.dialect import PADDLE
from ferrograd._kit.warning import warn
from ferrograd.paddle._base import files as _files, no_static as _no_static
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.hapi.callbacks import CallbackList, configured
from ferrograd.paddle.hapi.summary import summary
from ferrograd.paddle.io import DataLoader, Dataset
from ferrograd.paddle.jit import api as _jit
from ferrograd.paddle.metric import Metric
from ferrograd.paddle.nn.layer.layers import Layer
from ferrograd.paddle.static.input import InputSpec

__all__ = ["Model"]


def to_list(value: Any) -> list[Any]:
    """The value as a list: an empty one for None, the items of a list or tuple, one item for anything else."""
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else _core.make(np.asarray(value), None, False, PADDLE)


class Model:
    """A network with an optimizer, a loss and metrics.

    >>> import numpy as np
    >>> import ferrograd.paddle as paddle
    >>> line = paddle.nn.Linear(1, 1, bias_attr=False)
    >>> model = paddle.Model(line)
    >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=line.parameters()), paddle.nn.MSELoss())
    >>> samples = [(np.array([x], "float32"), np.array([2 * x], "float32")) for x in (0.5, 1.0, 1.5)]
    >>> model.fit(samples, batch_size=3, epochs=50, verbose=0)
    >>> round(line.weight.item(), 3)
    2.0
    """

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None) -> None:
        if not isinstance(network, Layer):
            raise ArgumentError(f"Model: network must be a Layer, not {type(network).__name__}")
        self.network = network
        self._inputs, self._labels = to_list(inputs), to_list(labels)
        self._last_inputs: list[tuple[tuple[int, ...], str]] = []
        self._optimizer: Any = None
        self._loss: Any = None
        self._metrics: list[Metric] = []
        self.mode = "train"
        self.stop_training = False

    def prepare(self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None) -> None:
        """Takes the optimizer, the loss, which is a Layer or a function, and the metrics."""
        if loss is not None and not callable(loss):
            raise TypeError("'loss' must be sub classes of `paddle.nn.Layer` or any callable function.")
        for metric in to_list(metrics):
            if not isinstance(metric, Metric):
                raise ArgumentError(f"{type(metric).__name__} is not sub class of Metric")
        if amp_configs not in (None, "O0"):
            raise FerrogradError("Model.prepare: amp_configs must be None; use paddle.amp.auto_cast in the network")
        self._optimizer, self._loss, self._metrics = optimizer, loss, to_list(metrics)

    def parameters(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters of the network."""
        return self.network.parameters(*args, **kwargs)

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """Prints the layers and their sizes; returns the numbers of parameters.

        Without ``input_size`` the sizes are those that the model was made with, or else those of the last batch.
        """
        if input_size is not None:
            return summary(self.network, input_size, dtype)
        if self._inputs:
            sizes = [tuple(1 if n in (None, -1) else n for n in i.shape) for i in self._inputs]
            return summary(self.network, sizes, dtype)
        if not self._last_inputs:
            raise ArgumentError("Model.summary: give input_size, such as (1, 28), or call it after fit()")
        sizes = [size for size, _ in self._last_inputs]
        return summary(self.network, sizes, [kind for _, kind in self._last_inputs] if dtype is None else dtype)

    # Batches.

    def _outputs(self, inputs: Any) -> list[Any]:
        given = [_tensor(v) for v in to_list(inputs)]
        self._last_inputs = [(tuple(x.shape), x.dtype.name) for x in given]
        return to_list(self.network(*given))

    def _run(self, inputs: Any, labels: Any) -> tuple[list[Any], list[Any], list[Any]]:
        outputs = self._outputs(inputs)
        wanted = [_tensor(v) for v in to_list(labels)]
        losses = to_list(self._loss(*outputs, *wanted)) if self._loss is not None else []
        return outputs, wanted, losses

    def _figures(self, outputs: list[Any], labels: list[Any]) -> list[Any]:
        found = []
        with no_grad():
            for metric in self._metrics:
                found.append(metric.update(*_as_tuple(metric.compute(*outputs, *labels))))
        return found

    def _answer(self, losses: list[Any], figures: list[Any]) -> Any:
        values = [one.detach().numpy() for one in losses]
        if self._metrics:
            return (values, figures) if self._loss is not None else figures
        return values

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """One step with a batch: the losses, or with metrics a pair of the losses and the figures.

        Without ``update`` the gradients are only added up.
        """
        if self._optimizer is None:
            raise RuntimeError("model not ready, please call `model.prepare()` first")
        self.network.train()
        self.mode = "train"
        outputs, wanted, losses = self._run(inputs, labels)
        total = losses[0]
        for one in losses[1:]:
            total = total + one
        (total if total.size == 1 else ops.sum(total)).backward()
        if update:
            self._optimizer.step()
            self._optimizer.clear_grad()
        return self._answer(losses, self._figures(outputs, wanted))

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """The losses of a batch, or with metrics a pair of the losses and the figures."""
        self.network.eval()
        self.mode = "eval"
        with no_grad():
            outputs, wanted, losses = self._run(inputs, labels)
            return self._answer(losses, self._figures(outputs, wanted))

    def predict_batch(self, inputs: Any) -> list[Any]:
        """The outputs for a batch, as arrays."""
        self.network.eval()
        self.mode = "test"
        with no_grad():
            outputs = self._outputs(inputs)
        return [one.numpy() for one in outputs]

    # Files.

    def save(self, path: str, training: bool = True) -> None:
        """Writes ``path.pdparams``, and the optimizer's state to ``path.pdopt``.

        Without ``training`` it is the program that :func:`paddle.jit.save` writes, for inputs like those of the last
        batch, or as ``inputs`` says.
        """
        if os.path.basename(path) == "":
            raise ValueError("The input path MUST be format of dirname/filename")
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if not training:
            specs = [InputSpec(size, kind) for size, kind in self._last_inputs] or self._inputs
            if not specs:
                raise ValueError("Model.save: give inputs to the model, which say what a program takes")
            return _jit.save(self.network, path, specs)
        _files.save(self.network.state_dict(), f"{path}.pdparams")
        if self._optimizer is not None:
            _files.save(self._optimizer.state_dict(), f"{path}.pdopt")

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Reads what :meth:`save` wrote. With ``skip_mismatch`` parameters of other shapes stay as they are."""
        base = path.removesuffix(".pdparams")
        if not os.path.exists(f"{base}.pdparams"):
            raise ValueError(f"{base}.pdparams is not a file")
        own, given, matching = self.network.state_dict(), _files.load(f"{base}.pdparams"), {}
        for name, value in own.items():
            if name not in given or list(given[name].shape) != list(value.shape):
                text = f"{name} is not found in the file or has another shape"
                if not skip_mismatch:
                    raise ValueError(f"Model.load: {text}")
                warn(f"Skip loading for {name}. {text}")
            else:
                matching[name] = given[name]
        self.network.set_state_dict(matching)
        if not reset_optimizer and self._optimizer is not None and os.path.exists(f"{base}.pdopt"):
            self._optimizer.set_state_dict(_files.load(f"{base}.pdopt"))

    # Epochs.

    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: int | Sequence[int] = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Any = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Trains on a data set or loader, and evaluates after every ``eval_freq`` epochs.

        ``num_iters`` is the most batches of the whole training. Gradients of ``accumulate_grad_batches`` batches are
        added up before a step.
        """
        if train_data is None:
            raise ArgumentError("Model.fit: train_data must be given")
        sizes = [batch_size, batch_size] if isinstance(batch_size, int) else list(batch_size)
        train = self._loader(train_data, sizes[0], shuffle, num_workers, drop_last)
        test = None if eval_data is None else self._loader(eval_data, sizes[1], False, num_workers, False)
        steps = _length(train)
        if num_iters is not None and steps is not None:
            epochs = min(epochs, -(-num_iters // steps)) if steps else epochs
        params = {
            "batch_size": sizes[0],
            "epochs": epochs,
            "steps": steps,
            "verbose": verbose,
            "metrics": self._names(),
            "save_dir": save_dir,
        }
        called = configured(callbacks, self, params, log_freq, verbose, (save_dir, save_freq))
        self.stop_training = False
        called.call("on_train_begin", {})
        done, logs = 0, {}
        for epoch in range(epochs):
            called.call("on_epoch_begin", epoch, {})
            limit = None if num_iters is None else num_iters - done
            logs = self._epoch(train, called, "train", accumulate_grad_batches, limit)
            done += logs.get("step", -1) + 1
            called.call("on_epoch_end", epoch, logs)
            if test is not None and epoch % eval_freq == 0:
                self._evaluate(test, called, None)
            if self.stop_training or (num_iters is not None and done >= num_iters):
                break
        called.call("on_train_end", logs)

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """The loss of the last batch and the figures of all batches, by name."""
        loader = self._loader(eval_data, batch_size, False, num_workers, False)
        params = {"steps": _length(loader), "verbose": verbose, "metrics": self._names(), "batch_size": batch_size}
        called = configured(callbacks, self, params, log_freq, verbose, None)
        logs = self._evaluate(loader, called, num_iters)
        return {name: logs[name] for name in self._names() if name in logs}

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Any = None,
    ) -> list[Any]:
        """For each output of the network a tuple of arrays, one for each batch; with ``stack_outputs`` one array."""
        loader = self._loader(test_data, batch_size, False, num_workers, False)
        params: dict[str, Any] = {"steps": _length(loader), "verbose": verbose, "metrics": [], "samples": 0}
        called = configured(callbacks, self, params, 1, verbose, None)
        called.call("on_predict_begin", {})
        found, samples, logs = [], 0, {}
        for step, data in enumerate(loader):
            inputs, _ = self._split(data)
            called.call("on_predict_batch_begin", step, {})
            outputs = self.predict_batch(inputs)
            found.append(outputs)
            samples += len(outputs[0]) if outputs and outputs[0].ndim else 1
            logs = {"step": step, "batch_size": len(inputs[0])}
            called.call("on_predict_batch_end", step, logs)
        params["samples"] = samples
        called.call("on_predict_end", logs)
        columns = list(zip(*found, strict=True))
        return [np.vstack(one) for one in columns] if stack_outputs else columns

    def _loader(self, data: Any, batch_size: int, shuffle: bool, workers: int, drop_last: bool) -> Any:
        if isinstance(data, Dataset) or (isinstance(data, Sequence) and not isinstance(data, DataLoader)):
            return DataLoader(
                data, batch_size=batch_size, shuffle=shuffle, num_workers=workers, drop_last=drop_last, return_list=True
            )
        return data

    def _split(self, data: Any) -> tuple[list[Any], list[Any]]:
        """The inputs and the labels in what a loader gave. By default the last part is the label."""
        parts = to_list(data)
        if self._inputs:
            return parts[: len(self._inputs)], parts[len(self._inputs) :]
        return (parts[:-1], parts[-1:]) if len(parts) > 1 else (parts, [])

    def _names(self) -> list[str]:
        names = ["loss"] if self._loss is not None else []
        for metric in self._metrics:
            names += to_list(metric.name())
        return names

    def _epoch(self, loader: Any, called: CallbackList, mode: str, every: int, limit: int | None) -> dict[str, Any]:
        for metric in self._metrics:
            metric.reset()
        logs: dict[str, Any] = {}
        steps = _length(loader)
        for step, data in enumerate(loader):
            if limit is not None and step >= limit:
                break
            inputs, labels = self._split(data)
            called.call(f"on_{mode}_batch_begin", step, logs)
            logs = {}
            if mode == "train":
                found = self.train_batch(inputs, labels, (step + 1) % every == 0 or step + 1 == steps)
            else:
                found = self.eval_batch(inputs, labels)
            if self._loss is not None:
                logs["loss"] = [float(loss) for loss in (found[0] if self._metrics else found)]
            for metric in self._metrics:
                logs.update(zip(to_list(metric.name()), to_list(metric.accumulate()), strict=True))
            logs.update(step=step, batch_size=int(_tensor(inputs[0]).shape[0]))
            called.call(f"on_{mode}_batch_end", step, logs)
        return logs

    def _evaluate(self, loader: Any, called: CallbackList, limit: int | None) -> dict[str, Any]:
        params = called.callbacks[0].params if called.callbacks else {}
        before = params.get("steps")
        params["steps"], params["samples"] = _length(loader), 0
        called.call("on_eval_begin", {"steps": params["steps"], "metrics": self._names()})
        count = _Counting(loader, params)
        logs = self._epoch(count, called, "eval", 1, limit)
        called.call("on_eval_end", logs)
        params["steps"] = before
        return logs


class _Counting:
    """A loader that adds up the numbers of samples."""

    def __init__(self, loader: Any, params: dict[str, Any]) -> None:
        self._loader, self._params = loader, params

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Any:
        for data in self._loader:
            self._params["samples"] += int(_tensor(to_list(data)[0]).shape[0])
            yield data


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except (TypeError, RuntimeError, NotImplementedError):
        return None


__getattr__, __dir__ = _no_static.module_names(__name__)
