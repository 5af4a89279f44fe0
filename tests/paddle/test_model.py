"""``paddle.Model``, its callbacks, ``paddle.metric`` and ``paddle.summary``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest

paddle: Any = _paddle
nn: Any = paddle.nn


class Signs(_paddle.io.Dataset[Any]):
    """Vectors of four numbers, and whether their sum is positive."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, i: int) -> Any:
        x = np.random.default_rng(i).normal(size=4).astype("float32")
        return x, np.array([int(x.sum() > 0)])


def model(metrics: Any = None, rate: float = 0.05) -> Any:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    for i, p in enumerate(net.parameters()):
        values = np.sin(np.arange(p.size) + i).reshape(p.shape)
        p.set_value(paddle.to_tensor(values.astype("float32")))
    made = paddle.Model(net)
    made.prepare(paddle.optimizer.Adam(rate, parameters=net.parameters()), nn.CrossEntropyLoss(), metrics)
    return made


class Notes(_paddle.callbacks.Callback):
    """Notes which methods are called."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[str] = []
        self.logs: list[Any] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            self.called.append(name)
        return super().__getattribute__(name)

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        self.logs.append((step, logs["batch_size"], float(logs["loss"][0]), logs["acc"]))


def test_fit(capsys: Any) -> None:
    m, notes = model(paddle.metric.Accuracy()), Notes()
    m.fit(Signs(), Signs(), batch_size=8, epochs=2, verbose=2, log_freq=1, shuffle=False, callbacks=[notes])
    batch = ["on_train_batch_begin", "on_train_batch_end"] * 3
    test = ["on_eval_begin", *["on_eval_batch_begin", "on_eval_batch_end"] * 3, "on_eval_end"]
    epoch = ["on_epoch_begin", *batch, "on_epoch_end", *test]
    assert notes.called == ["on_train_begin", *epoch, *epoch, "on_train_end"]
    # The numbers are those that Paddle 3.3.1 prints.
    found = [(step, size, round(loss, 4), round(acc, 4)) for step, size, loss, acc in notes.logs]
    assert found[:3] == [(0, 8, 1.9378, 0.375), (1, 8, 0.7173, 0.5625), (2, 4, 0.691, 0.6)]
    assert found[5] == (2, 4, 0.469, 0.75)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == ["Epoch 1/2", lines[2]]
    assert lines[2].startswith("step 1/3 - loss: 1.9378 - acc: 0.3750 - ")
    assert lines[5] == "Eval begin..."
    assert lines[9] == "Eval samples: 20"
    figures = m.evaluate(Signs(), batch_size=8, verbose=0)
    assert sorted(figures) == ["acc", "loss"]
    assert figures["acc"] == pytest.approx(0.85)
    (outputs,) = m.predict(Signs(), batch_size=8, verbose=1)
    assert [len(part) for part in outputs] == [8, 8, 4]
    (whole,) = m.predict(Signs(), batch_size=8, verbose=0, stack_outputs=True)
    assert whole.shape == (20, 2)
    assert "Predict samples: 20" in capsys.readouterr().out


def test_batches_and_sums_of_gradients() -> None:
    x, y = np.ones((2, 4), "float32"), np.ones((2, 1), "int64")
    one, two = model(), model()
    (first,) = one.train_batch([x], [y])
    (before,) = two.train_batch([x], [y], update=False)
    assert first == before == two.eval_batch([x], [y])[0]
    assert one.eval_batch([x], [y])[0] < first
    assert one.predict_batch([x])[0].shape == (2, 2)
    steps: list[int] = []
    three = model()
    three._optimizer.step = lambda: steps.append(1)
    three.fit(Signs(), batch_size=4, epochs=1, verbose=0, accumulate_grad_batches=2)
    # Five batches: after the second, the fourth, and the last one.
    assert len(steps) == 3
    with pytest.raises(RuntimeError, match="prepare"):
        paddle.Model(nn.Linear(1, 1)).train_batch([x], [y])


def test_files(tmp_path: Path) -> None:
    m = model()
    m.fit(Signs(), batch_size=10, epochs=2, verbose=0, save_dir=str(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        f"{name}.{kind}" for name in ("0", "1", "final") for kind in ("pdopt", "pdparams")
    ]
    other = model()
    other.load(str(tmp_path / "final"))
    for p, q in zip(m.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(p.numpy(), q.numpy())
    wrong = paddle.Model(nn.Sequential(nn.Linear(4, 7)))
    with pytest.raises(ValueError, match="another shape"):
        wrong.load(str(tmp_path / "final"))
    with pytest.warns(UserWarning, match="Skip loading"):
        wrong.load(str(tmp_path / "final"), skip_mismatch=True)


def test_early_stopping_and_smaller_rates(capsys: Any) -> None:
    m = model(rate=0.0)
    stop = paddle.callbacks.EarlyStopping("loss", patience=2, save_best_model=False)
    m.fit(Signs(), Signs(), batch_size=10, epochs=9, verbose=0, callbacks=[stop])
    assert capsys.readouterr().out == "Epoch 3: Early stopping.\n"
    net = nn.Linear(4, 2)
    m = paddle.Model(net)
    m.prepare(paddle.optimizer.SGD(0.5, parameters=net.parameters()), lambda out, label: out.sum() * 0)
    plateau = paddle.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, verbose=0)
    m.fit(Signs(), Signs(), batch_size=10, epochs=3, verbose=0, callbacks=plateau)
    assert m._optimizer.get_lr() == 0.125
    schedule = paddle.optimizer.lr.StepDecay(0.5, step_size=2, gamma=0.1)
    m.prepare(paddle.optimizer.SGD(schedule, parameters=net.parameters()), nn.CrossEntropyLoss())
    m.fit(Signs(), batch_size=10, epochs=1, verbose=0)
    assert m._optimizer.get_lr() == pytest.approx(0.05)


def test_metrics() -> None:
    scores, labels = paddle.to_tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), paddle.to_tensor([[1], [0]])
    top = paddle.metric.Accuracy(topk=(1, 2))
    assert top.update(top.compute(scores, labels)) == [0.5, 1.0]
    assert (top.accumulate(), top.name()) == ([0.5, 1.0], ["acc_top1", "acc_top2"])
    top.reset()
    assert top.accumulate() == [0.0, 0.0]
    precision, recall = paddle.metric.Precision(), paddle.metric.Recall()
    for metric in (precision, recall):
        metric.update(np.array([0.1, 0.6, 0.8, 0.7, 0.2]), np.array([0, 1, 1, 0, 1]))
    assert (precision.accumulate(), recall.accumulate()) == (2 / 3, 2 / 3)
    auc = paddle.metric.Auc()
    assert auc.accumulate() == 0.0
    auc.update(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]]), np.array([[0], [1], [1], [0]]))
    assert auc.accumulate() == 0.75
    assert paddle.metric.accuracy(scores, labels, k=2).item() == 1


def test_summary(capsys: Any) -> None:
    net = model().network
    net[0].weight.stop_gradient = True
    assert paddle.summary(net, (1, 4)) == {"total_params": 58, "trainable_params": 26}
    lines = capsys.readouterr().out.splitlines()
    names = [f"{type(layer).__name__}-{int(layer.full_name().rsplit('_', 1)[1]) + 1}" for layer in net]
    assert lines[1] == " Layer (type)       Input Shape          Output Shape         Param #    "
    assert lines[3:6] == [
        f"{names[0]:^15}       [[1, 4]]              [1, 8]              40       ",
        f"{names[1]:^15}       [[1, 8]]              [1, 8]               0       ",
        f"{names[2]:^15}       [[1, 8]]              [1, 2]              18       ",
    ]
    assert lines[0] == lines[10] == "-" * 75
    assert net.training
    assert not net[0]._forward_post_hooks


def test_summary_after_a_batch(capsys: Any) -> None:
    m = model()
    with pytest.raises(ValueError, match="give input_size"):
        m.summary()
    m.predict_batch([np.ones((3, 4), "float32")])
    assert m.summary()["total_params"] == 58
    assert "[[3, 4]]" in capsys.readouterr().out
    assert m.summary((1, 4))["total_params"] == 58
    assert "[[1, 4]]" in capsys.readouterr().out


def test_summary_of_lists_and_dicts(capsys: Any) -> None:
    class Sum(paddle.nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = paddle.nn.Linear(2, 3)

        def forward(self, inputs: Any) -> Any:
            first, second = inputs.values() if isinstance(inputs, dict) else inputs
            return self.inner(first) + second

    x, y = paddle.ones([1, 2]), paddle.ones([512, 256, 3])
    for given in ([x, y], (x, y), {"x": x, "y": y}):
        assert paddle.summary(Sum(), input=given)["total_params"] == 9
        assert "Input size (MB): 1.50" in capsys.readouterr().out


def test_flops(capsys: Any) -> None:
    nn = paddle.nn
    net = nn.Sequential(nn.Conv2D(1, 6, 3, padding=1), nn.LeakyReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(24, 3))

    def count(layer: Any, inputs: Any, output: Any) -> None:
        layer.total_ops += 3 * inputs[0].size

    assert paddle.flops(net, [1, 1, 4, 4], custom_ops={nn.LeakyReLU: count}, print_detail=True) == 960 + 288 + 72
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Total Flops: 1320     Total Params: 135"
    assert sum("Treat it as zero FLOPs" in line for line in lines) == 2
    assert ["[1,", "1,", "4,", "4]", "[1,", "6,", "4,", "4]", "60", "960"] in [line.split()[1:] for line in lines]
    assert net.training
    assert not net[0]._forward_post_hooks
    twice = nn.Sequential(net[4], nn.Linear(3, 24), net[4])
    assert paddle.flops(twice, [2, 24]) == 2 * (72 + 72 + 72)
    pools = nn.Sequential(nn.Conv1D(4, 8, 3, groups=2), nn.AdaptiveAvgPool1D(2), nn.AvgPool1D(2), nn.Dropout(0.5))
    assert paddle.flops(pools, [2, 4, 18]) == 8 * 2 * 16 * 7 + 2 * 8 * 2 * 9 + 2 * 8
    with pytest.raises(ValueError, match="Layer"):
        paddle.flops(lambda x: x, [1])


def test_summaries_of_layers_that_call_none_of_their_parts(capsys: Any) -> None:
    rnn = paddle.nn.LSTM(16, 32, 2)
    found = paddle.summary(rnn, [(-1, 23, 16), ((2, None, 32), (2, -1, 32))])
    assert found["total_params"] == sum(p.size for p in rnn.parameters())
    assert "[[1, 23, 16], [[2, 1, 32], [2, 1, 32]]]" in capsys.readouterr().out
    for size in (20, [20], (20,)):
        assert paddle.summary(paddle.nn.Linear(20, 10), size)["total_params"] == 210
    assert capsys.readouterr().out.count("Linear-") == 3


def test_a_model_for_inference_is_a_program(tmp_path: Any) -> None:
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 2), paddle.nn.Dropout(0.5))
    model, x = paddle.Model(net), paddle.rand([4, 3])
    with pytest.raises(ValueError, match="give inputs"):
        model.save(str(tmp_path / "m"), training=False)
    model.prepare()
    (wanted,) = model.predict_batch([x])
    model.save(str(tmp_path / "m"), training=False)
    assert (paddle.jit.load(str(tmp_path / "m"))(x).numpy() == wanted).all()
    model = paddle.Model(net, paddle.static.InputSpec([1, 3], "float32"))
    model.save(str(tmp_path / "n"), training=False)
    assert paddle.jit.load(str(tmp_path / "n"))(x[:1]).shape == [1, 2]
