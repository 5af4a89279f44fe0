"""``paddle.callbacks``: what ``paddle.Model`` calls while it trains, evaluates and predicts."""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.paddle.optimizer.lr import LRScheduler as Schedule

__all__ = [
    "Callback",
    "EarlyStopping",
    "LRScheduler",
    "ModelCheckpoint",
    "ProgBarLogger",
    "ReduceLROnPlateau",
    "VisualDL",
]


class Callback:
    """The base of callbacks. Every method is empty; ``model`` and ``params`` are set before the first call."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Takes facts such as the numbers of epochs and steps."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Takes the model."""
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None:
        """Before the training."""

    def on_train_end(self, logs: Any = None) -> None:
        """After the training."""

    def on_eval_begin(self, logs: Any = None) -> None:
        """Before an evaluation."""

    def on_eval_end(self, logs: Any = None) -> None:
        """After an evaluation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Before a prediction."""

    def on_predict_end(self, logs: Any = None) -> None:
        """After a prediction."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """After an epoch."""

    def on_train_batch_begin(self, step: int, logs: Any = None) -> None:
        """Before a batch of the training."""

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """After a batch of the training."""

    def on_eval_batch_begin(self, step: int, logs: Any = None) -> None:
        """Before a batch of an evaluation."""

    def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
        """After a batch of an evaluation."""

    def on_predict_batch_begin(self, step: int, logs: Any = None) -> None:
        """Before a batch of a prediction."""

    def on_predict_batch_end(self, step: int, logs: Any = None) -> None:
        """After a batch of a prediction."""


class CallbackList:
    """Several callbacks, called in order."""

    def __init__(self, callbacks: Sequence[Callback], model: Any, params: dict[str, Any]) -> None:
        self.callbacks = list(callbacks)
        for one in self.callbacks:
            one.set_model(model)
            one.set_params(params)

    def call(self, name: str, *args: Any) -> None:
        """Calls a method of each callback."""
        for one in self.callbacks:
            getattr(one, name)(*args)


def configured(
    callbacks: Any, model: Any, params: dict[str, Any], log_freq: int, verbose: int, save: tuple[Any, int] | None
) -> CallbackList:
    """The callbacks of the user's and those that a model always has."""
    found = [] if callbacks is None else list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    if verbose and not any(isinstance(c, ProgBarLogger) for c in found):
        found = [ProgBarLogger(log_freq, verbose), *found]
    if save is not None and not any(isinstance(c, ModelCheckpoint) for c in found):
        found.append(ModelCheckpoint(save[1], save[0]))
    if save is not None and not any(isinstance(c, LRScheduler) for c in found):
        found.append(LRScheduler())
    return CallbackList(found, model, params)


class ProgBarLogger(Callback):
    """Prints the loss and the metrics.

    With ``verbose`` 2 there is a line for every ``log_freq`` batches, with 1 a bar that is drawn over.
    """

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        super().__init__()
        self.log_freq, self.verbose = log_freq, verbose
        self._start = 0.0

    def on_train_begin(self, logs: Any = None) -> None:
        """Says what the numbers are."""
        if self.verbose:
            print(
                "The loss value printed in the log is the current step, and the metric is the average value of "
                "previous steps."
            )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Prints the number of the epoch."""
        if self.verbose and self.params.get("epochs"):
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._begin()

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Prints the figures."""
        self._step(step, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Ends the line."""
        self._end(logs)

    def on_eval_begin(self, logs: Any = None) -> None:
        """Says that an evaluation begins."""
        if self.verbose:
            print("Eval begin...")
        self._begin()

    def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
        """Prints the figures."""
        self._step(step, logs)

    def on_eval_end(self, logs: Any = None) -> None:
        """Prints the number of samples."""
        self._end(logs)
        if self.verbose:
            print(f"Eval samples: {self.params['samples']}")

    def on_predict_begin(self, logs: Any = None) -> None:
        """Says that a prediction begins."""
        if self.verbose:
            print("Predict begin...")
        self._begin()

    def on_predict_batch_end(self, step: int, logs: Any = None) -> None:
        """Prints the number of the step."""
        self._step(step, logs)

    def on_predict_end(self, logs: Any = None) -> None:
        """Prints the number of samples."""
        self._end(logs)
        if self.verbose:
            print(f"Predict samples: {self.params['samples']}")

    def _begin(self) -> None:
        self._start, self._done = time.perf_counter(), 0

    def _step(self, step: int, logs: Any) -> None:
        self._done, steps = step + 1, self.params.get("steps")
        if self.verbose and self._done % self.log_freq == 0 and self._done != steps:
            self._show(logs, self.verbose == 2)

    def _end(self, logs: Any) -> None:
        if self.verbose and self._done:
            self._show(logs, True)

    def _show(self, logs: Any, ends: bool) -> None:
        steps = self.params.get("steps")
        text = f"step {self._done}/{steps if steps is not None else 'Unknown'}"
        if self.verbose == 1 and steps:
            filled = int(self._done / steps * 30)
            bar = "=" * filled if filled == 30 else "=" * filled + ">" + "." * (29 - filled)
            text += f" [{bar}]"
        for name in self.params.get("metrics", []):
            if name in (logs or {}):
                for value in np.ravel(logs[name]):
                    text += f" - {name}: {value:.4f}" if abs(value) > 1e-3 or not value else f" - {name}: {value:.4e}"
        seconds = (time.perf_counter() - self._start) / self._done
        text += f" - {seconds:.0f}s/step" if seconds >= 1 else f" - {max(seconds * 1000, 1):.0f}ms/step"
        sys.stdout.write(("\r" if self.verbose == 1 else "") + text + ("\n" if ends else ""))
        sys.stdout.flush()


class ModelCheckpoint(Callback):
    """Saves the model to ``save_dir/EPOCH`` after every ``save_freq`` epochs, and to ``save_dir/final`` at the end."""

    def __init__(self, save_freq: int = 1, save_dir: str | None = None) -> None:
        super().__init__()
        self.save_freq, self.save_dir = save_freq, save_dir

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Saves the model if it is its turn."""
        if self.save_dir and epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs: Any = None) -> None:
        """Saves the model."""
        if self.save_dir:
            self._save("final")

    def _save(self, name: str) -> None:
        path = os.path.join(os.path.abspath(str(self.save_dir)), name)
        print(f"save checkpoint at {path}")
        self.model.save(path)


class LRScheduler(Callback):
    """Steps the schedule of the learning rate, after every batch or with ``by_epoch`` after every epoch."""

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        super().__init__()
        if by_step and by_epoch:
            raise ValueError("by_step option is mutually exclusive with by_epoch")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _advance(self) -> None:
        rate = getattr(self.model._optimizer, "_learning_rate", None)
        if isinstance(rate, Schedule):
            rate.step()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Steps the schedule if it goes by epochs."""
        if self.by_epoch:
            self._advance()

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Steps the schedule if it goes by batches."""
        if self.by_step:
            self._advance()


class _Watching(Callback):
    """The base of callbacks that wait for a figure to become better."""

    def __init__(self, monitor: str, patience: int, mode: str, min_delta: float, verbose: int) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        if mode not in ("auto", "min", "max"):
            warn(f"Unknown mode {mode}; auto is used")
            mode = "auto"
        self._rises = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.min_delta = abs(min_delta)
        self.wait = 0
        self.best_value: float = -np.inf if self._rises else np.inf

    def _figure(self, logs: Any) -> float | None:
        if logs is None or self.monitor not in logs:
            name = type(self).__name__
            warn(f"Monitor of {name} should be loss or metric name.")
            return None
        value = logs[self.monitor]
        if isinstance(value, list | tuple):
            value = value[0]
        return float(np.ravel(value)[0])

    def _is_better(self, value: float) -> bool:
        gain = value - self.best_value if self._rises else self.best_value - value
        return gain > self.min_delta


class EarlyStopping(_Watching):
    """Ends the training when a figure of the evaluations has not become better ``patience`` times."""

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        super().__init__(monitor, patience, mode, min_delta, verbose)
        self.baseline, self.save_best_model = baseline, save_best_model
        self.stopped_epoch = 0
        self.best_weights: Any = None
        self.save_dir: str | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins to count."""
        self.wait = 0
        self.best_value = self.baseline if self.baseline is not None else (-np.inf if self._rises else np.inf)
        self.stopped_epoch = 0
        self.save_dir = self.params.get("save_dir")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Notes the epoch."""
        self.stopped_epoch = epoch

    def on_eval_end(self, logs: Any = None) -> None:
        """Looks at the figure."""
        value = self._figure(logs)
        if value is None:
            return
        if self._is_better(value):
            self.best_value, self.wait = value, 0
            if self.save_best_model and self.save_dir is not None:
                self.best_weights = copy.deepcopy(self.model.network.state_dict())
                self.model.save(os.path.join(self.save_dir, "best_model"))
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.model.stop_training = True
            if self.verbose > 0:
                print(f"Epoch {self.stopped_epoch + 1}: Early stopping.")


class ReduceLROnPlateau(_Watching):
    """Multiplies the learning rate by ``factor`` when a figure has not become better ``patience`` times."""

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, patience, mode, min_delta, verbose)
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.factor, self.cooldown, self.min_lr = factor, cooldown, min_lr
        self.cooldown_counter = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins to count."""
        self.wait = self.cooldown_counter = 0
        self.best_value = -np.inf if self._rises else np.inf

    def on_eval_end(self, logs: Any = None) -> None:
        """Looks at the figure."""
        value = self._figure(logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_better(value):
            self.best_value, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce()

    def _reduce(self) -> None:
        optimizer = self.model._optimizer
        if isinstance(getattr(optimizer, "_learning_rate", None), Schedule):
            warn("ReduceLROnPlateau wants a learning rate that is a number, not a schedule")
            return
        old = float(optimizer.get_lr())
        if old > self.min_lr:
            new = max(old * self.factor, self.min_lr)
            optimizer.set_lr(new)
            if self.verbose > 0:
                print(f"\nEpoch {getattr(self, '_epoch', 0) + 1}: ReduceLROnPlateau reducing learning rate to {new}.")
            self.cooldown_counter, self.wait = self.cooldown, 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Notes the epoch."""
        self._epoch = epoch


class VisualDL(Callback):
    """Raises: the VisualDL log is not written here."""

    def __init__(self, log_dir: str) -> None:
        raise FerrogradError("VisualDL: its log is not written here; a Callback of your own gets the same figures")


__dir__ = _public.names(globals())
