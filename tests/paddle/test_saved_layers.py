"""``paddle.jit.save`` and ``paddle.jit.load``: programs of layers in files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import pytest
from ferrograd.paddle.static import InputSpec

paddle: Any = _paddle
nn: Any = paddle.nn


class Net(nn.Layer):  # type: ignore[misc]
    """A layer that computes something else in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm, self.dropout = nn.Linear(3, 2), nn.BatchNorm1D(2), nn.Dropout(0.5)
        self.frozen = nn.Dropout(0.5)
        self.frozen.eval()

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        return self.dropout(self.norm(self.linear(x))) * scale


def same(x: Any, y: Any) -> bool:
    return bool(paddle.equal_all(x, y).item())


def evaluated(net: Any, *args: Any) -> Any:
    net.eval()
    return net(*args)


def test_a_layer_is_saved_in_evaluation_mode(tmp_path: Path) -> None:
    net, x, path = Net(), paddle.rand([4, 3]), str(tmp_path / "net")
    paddle.jit.save(net, path, [InputSpec([4, 3], "float32")])
    assert (net.training, net.dropout.training, net.frozen.training) == (True, True, False)
    loaded = paddle.jit.load(path)
    assert isinstance(loaded, paddle.jit.TranslatedLayer)
    assert isinstance(loaded, nn.Layer)
    assert loaded.parameters() == []
    wanted = evaluated(net, x)
    assert same(loaded(x), wanted)
    net.linear.weight.set_value(paddle.zeros([3, 2]))
    assert same(loaded(x), wanted)
    with pytest.raises(ValueError, match=r"takes dtype float32 and shape \(4, 3\)"):
        loaded(paddle.rand([5, 3]))


def test_what_was_called_last_says_what_the_arguments_are_like(tmp_path: Path) -> None:
    net, x, path = paddle.jit.to_static(Net()), paddle.rand([4, 3]), str(tmp_path / "net")
    with pytest.raises(fg.CompileError, match="call it first"):
        paddle.jit.save(net, path)
    net(x)
    paddle.jit.save(net, path)
    assert same(paddle.jit.load(path)(x), evaluated(net, x))
    paddle.jit.save(net, path, [x, 3.0])
    assert same(paddle.jit.load(path)(x), net(x, 3.0))


def test_unknown_sizes_are_those_of_the_last_call(tmp_path: Path) -> None:
    spec, x = [InputSpec([None, 3], "float32")], paddle.rand([4, 3])
    net = paddle.jit.to_static(Net(), input_spec=spec)
    with pytest.raises(ValueError, match="sizes that are not known"):
        paddle.jit.save(net, str(tmp_path / "net"))
    net(x)
    for given in (None, spec):
        # Folders are made.
        path = str(tmp_path / f"{given is None}" / "net")
        paddle.jit.save(net, path, given)
        assert same(paddle.jit.load(path)(x), evaluated(net, x))


def test_gradients_that_a_function_takes_are_a_part_of_the_program(tmp_path: Path) -> None:
    def slope(x: Any) -> Any:
        x = x * 1.0
        x.stop_gradient = False
        return paddle.grad((x * x * x).sum(), x)[0]

    paddle.jit.save(slope, str(tmp_path / "f"), [InputSpec([2])])
    assert paddle.jit.load(str(tmp_path / "f"))(paddle.to_tensor([1.0, 2.0])).tolist() == [3.0, 12.0]


def test_functions_of_several_tensors(tmp_path: Path) -> None:
    spec = {"a": InputSpec([2]), "b": [InputSpec([2]), 10.0]}

    @paddle.jit.to_static(input_spec=[spec])
    def f(parts: dict[str, Any]) -> dict[str, Any]:
        return {"sum": parts["a"] + parts["b"][0] * parts["b"][1], "both": (parts["a"], 1)}

    paddle.jit.save(f, str(tmp_path / "f"))
    found = paddle.jit.load(str(tmp_path / "f"))(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0]))
    assert found["sum"].tolist() == [31.0, 42.0]
    assert found["both"][1] == 1


def test_a_program_runs_in_another_process(tmp_path: Path) -> None:
    x = paddle.ones([4, 3])
    net = Net()
    paddle.jit.save(net, str(tmp_path / "net"), [x])
    script = f"import ferrograd.paddle as p; print(p.jit.load({str(tmp_path / 'net')!r})(p.ones([4, 3])).sum().item())"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(run.stdout) == evaluated(net, x).sum().item()


def test_what_a_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    net, path = Net(), str(tmp_path / "net")
    with pytest.raises(ValueError, match="sizes that are not known"):
        paddle.jit.save(net, path, [InputSpec([None, 3])])
    with pytest.raises(fg.CompileError, match="give input_spec"):
        paddle.jit.save(net, path)
    with pytest.raises(ValueError, match="not output_spec"):
        paddle.jit.save(net, path, [InputSpec([4, 3])], output_spec=[])
    with pytest.raises(OSError, match="net"):
        paddle.jit.load(path)
    (tmp_path / "net.pdmodel").write_bytes(b"")
    with pytest.raises(ValueError, match=r"net\.pdmodel is a program of Paddle's"):
        paddle.jit.load(path)
    assert [each.name for each in tmp_path.iterdir()] == ["net.pdmodel"]
