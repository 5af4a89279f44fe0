"""Results have the same bits for any number of threads; folds and exact functions also for any vector width.

All other functions but one have the same bits with vectors of 256 and of 512 bits. ``make wheels-here`` compares the
same results with those of other processors and C libraries.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

#: The program of a fresh process: it saves folds and functions of arrays under names. Its inputs have the same bits on
#: every machine: they are made with exact functions, and the products of matrices in NumPy are exact.
PROGRAM = """
import sys
import numpy as np
import ferrograd as fg

random, results = np.random.default_rng(1), {}

# The sum of three is about normally distributed.
def normal(*shape):
    return (random.random(shape) + random.random(shape) + random.random(shape) - 1.5) * 2

for shape in [(3,), (1000,), (300_000,), (17, 4000), (5, 30, 90)]:
    for dtype in (np.float32, np.float64):
        x = fg.tensor(normal(*shape).astype(dtype), requires_grad=True)
        for f in (fg.sum, fg.mean, fg.max, fg.var):
            for axis in (None, *range(len(shape))):
                results[f"fold {f.__name__} {shape} {axis} {dtype.__name__}"] = f(x, axis=axis).numpy()
        w = fg.tensor(normal(shape[-1]).astype(dtype), requires_grad=True)
        y = fg.layer_norm(x, shape[-1:], w, w)
        of_x, of_w = fg.grad(y, [x, w], x.detach())
        results[f"fold layer_norm {shape} {dtype.__name__}"] = y.numpy()
        results[f"fold of its gradient by x {shape} {dtype.__name__}"] = of_x.numpy()
        results[f"fold of its gradient by w {shape} {dtype.__name__}"] = of_w.numpy()
        if len(shape) > 1:
            w = fg.tensor(normal(shape[1]).astype(dtype), requires_grad=True)
            for y in (fg.batch_norm(x, w, w)[0], fg.group_norm(x, shape[1] // 10, w, w)):
                for i, part in enumerate((y, *fg.grad(y, [x, w], x.detach()))):
                    results[f"fold of a norm by channel {len(results)} {i}"] = part.detach().numpy()
        results[f"fold vecdot {shape} {dtype.__name__}"] = fg.vecdot(x, x).numpy()
        results[f"fold cumprod {shape} {dtype.__name__}"] = fg.cumprod(x, axis=-1).numpy()
        functions = [fg.softmax, fg.tanh, fg.erf, fg.gelu, fg.tan, fg.exp, fg.exp2, fg.silu, fg.selu, fg.hardswish]
        named = {f.__name__: f for f in functions}
        named |= {"log1p": lambda x: fg.log1p(x * x), "powers": lambda x: fg.pow(x * x + 1, x)}
        named |= {f"power {e}": lambda x, e=e: fg.abs(x) ** e for e in (2, 3, -1, 0.5, 2.5)}
        for f in named:
            y = named[f](x)
            name = f"{f} {shape} {dtype.__name__}"
            results[name] = y.numpy()
            results[f"gradient of {name}"] = fg.grad(y, x, x.detach())[0].numpy()
for batch, channels, weight, groups, size, stride in [
    (8, 16, (16, 16, 3, 3), 1, 28, 1),
    (1, 8, (24, 8, 3, 3), 1, 40, 2),
    (3, 12, (12, 1, 3, 3), 12, 30, 1),
    (2, 3, (16, 3, 7, 7), 1, 64, 2),
    (16, 32, (32, 32, 1, 1), 1, 7, 1),
]:
    for dtype in (np.float32, np.float64):
        x = fg.tensor(normal(batch, channels, size, size).astype(dtype), requires_grad=True)
        w = fg.tensor(normal(*weight).astype(dtype), requires_grad=True)
        y = fg.conv2d(x, w, None, stride, weight[-1] // 2, 1, groups)
        parts = (y, *fg.grad(y, (x, w), fg.tensor(normal(*y.shape).astype(dtype))))
        for i, part in enumerate(parts):
            results[f"convolution {x.shape} {w.shape} {dtype.__name__} {i}"] = part.detach().numpy()
        for pool in (fg.max_pool2d, fg.avg_pool2d):
            results[f"fold {pool.__name__} {x.shape} {dtype.__name__}"] = pool(x, 3, 2, 1).detach().numpy()
for dtype in (np.float32, np.float64):
    x, y = (fg.tensor(np.ldexp(normal(5000), random.integers(-30, 30, 5000)).astype(dtype)) for _ in "xy")
    results[f"exact remainder {dtype.__name__}"] = fg.remainder(x, y).numpy()
    results[f"exact floor_divide {dtype.__name__}"] = fg.floor_divide(x, y).numpy()
    results[f"exact lerp {dtype.__name__}"] = fg.lerp(x, y, 0.3).numpy()
    for name in ("int8", "uint16", "int32", "uint32", "int64", "uint64", "bool"):
        results[f"exact cast {dtype.__name__} {name}"] = fg.cast(x, name).numpy()
i, j = (fg.tensor(random.integers(-(2**40), 2**40, 5000)) for _ in "ij")
results["exact remainder int64"], results["exact floor_divide int64"] = (i % j).numpy(), (i // j).numpy()
for shape, axes in [((300, 1000), (1,)), ((1000, 301), (0,)), ((40, 50, 60), (0, 1, 2)), ((7, 1009), (1,))]:
    x = fg.tensor(normal(*shape))
    spectrum = fg.fft.rfftn(x, axes=axes)
    results[f"fft {shape}"], results[f"rfft {shape}"] = fg.fft.fftn(x, axes=axes).numpy(), spectrum.numpy()
    results[f"irfft {shape}"] = fg.fft.irfftn(spectrum, axes=axes).numpy()
for n in (1, 3, 16):
    for dtype in (np.float32, np.float64):
        x = (np.round(normal(500, n, n) * 1024) + 0.5) / 1024
        a, p = fg.tensor(x.astype(dtype)), fg.tensor((x @ x.swapaxes(1, 2) + np.eye(n)).astype(dtype))
        parts = (fg.linalg.solve(a, p), fg.linalg.inv(a), fg.linalg.det(a), fg.linalg.cholesky(p), *fg.linalg.qr(a))
        results |= {f"exact linalg {n} {dtype.__name__} {i}": part.numpy() for i, part in enumerate(parts)}
        results[f"exact cdist {n} {dtype.__name__}"] = fg.cdist(a, p).numpy()
for dtype in (np.float32, np.float64):
    x = (np.round(normal(2, 150, 150) * 1024) + 0.5) / 1024
    a, p = fg.tensor(x.astype(dtype)), fg.tensor((x @ x.swapaxes(1, 2) + np.eye(150)).astype(dtype))
    parts = (fg.linalg.solve(a, p), fg.linalg.inv(a), fg.linalg.cholesky(p), *fg.linalg.qr(a))
    results |= {f"factors of 150 {dtype.__name__} {i}": part.numpy() for i, part in enumerate(parts)}
fg.manual_seed(5)
results["exact randn"], results["exact rand"] = fg.randn((70_001,)).numpy(), fg.rand((70_001,)).numpy()
np.savez(sys.argv[1], **results)
"""


def computed(path: Path, level: str, threads: int) -> dict[str, np.ndarray]:
    environment = {**os.environ, "FERROGRAD_CPU": level, "FERROGRAD_NUM_THREADS": str(threads)}
    subprocess.run([sys.executable, "-c", PROGRAM, str(path)], env=environment, check=True)
    with np.load(path) as found:
        return dict(found)


def test_bits_at_every_level_and_number_of_threads(tmp_path: Path) -> None:
    best = computed(tmp_path / "best.npz", "avx512", 1)
    assert len(best) > 100
    for level, threads in (("avx512", 3), ("avx2", 2), ("baseline", 1), ("baseline", 2)):
        other = computed(tmp_path / f"{level}{threads}.npz", level, threads)
        assert other.keys() == best.keys()
        for name, value in best.items():
            if level == "baseline" and not name.startswith(("fold", "exact")):
                # With vectors, the sums of convolutions are fused and in another order.
                many = 64 if name.startswith("convolution") else 8
                assert np.abs(other[name] - value).max() <= many * np.spacing(np.abs(value).max()), (level, name)
            elif level == "avx2" and "tanh" in name and name.endswith("float32"):
                # Only the widest vectors hold the tables of tanh and of its derivative in registers. Without the tables
                # tanh is within one unit of the last place, and its derivative within three.
                most = 4 if name.startswith("gradient") else 2
                assert (np.abs(other[name] - value) <= most * np.spacing(np.abs(value))).all(), (level, name)
            else:
                assert other[name].tobytes() == value.tobytes(), (level, threads, name)
