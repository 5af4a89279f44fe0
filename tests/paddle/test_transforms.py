"""``paddle.vision.transforms`` on NumPy images."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError, paddle as _paddle

paddle: Any = _paddle
transforms: Any = _paddle.vision.transforms
IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_to_tensor() -> None:
    found = transforms.ToTensor()(IMAGE)
    assert found.shape == [3, 4, 6]
    np.testing.assert_allclose(found.numpy(), IMAGE.transpose(2, 0, 1) / 255, rtol=1e-6)
    assert transforms.ToTensor("HWC")(IMAGE).shape == [4, 6, 3]
    assert transforms.ToTensor()(IMAGE[..., 0].astype("float64")).dtype == paddle.float64
    with pytest.raises(ArgumentError, match=r"ToTensor: an image is an array of shape .* not a ndarray of shape \[2\]"):
        transforms.ToTensor()(np.ones(2))
    with pytest.raises(ArgumentError, match="not a Tensor"):
        transforms.ToTensor()(found)


@pytest.mark.parametrize("data_format", ["CHW", "HWC"])
def test_normalize(data_format: str) -> None:
    mean, std = [1.0, 2.0, 3.0], [2.0, 4.0, 8.0]
    image = IMAGE.transpose(2, 0, 1) if data_format == "CHW" else IMAGE
    wanted = (IMAGE - np.array(mean)) / std
    wanted = wanted.transpose(2, 0, 1) if data_format == "CHW" else wanted
    normalize = transforms.Normalize(mean, std, data_format)
    np.testing.assert_allclose(normalize(image), wanted, rtol=1e-6)
    x = paddle.to_tensor(image.astype("float32"), stop_gradient=False)
    y = normalize(x)
    np.testing.assert_allclose(y.detach().numpy(), wanted, rtol=1e-6)
    y.sum().backward()
    assert sorted({round(g, 4) for g in x.grad.numpy().ravel().tolist()}) == [0.125, 0.25, 0.5]


def test_resize() -> None:
    assert transforms.Resize((2, 3))(IMAGE).shape == (2, 3, 3)
    assert transforms.Resize(8)(IMAGE).shape == (8, 12, 3)
    assert transforms.Resize(8)(IMAGE.transpose(1, 0, 2)).shape == (12, 8, 3)
    assert transforms.Resize((4, 6))(IMAGE) is IMAGE
    # Each number is the mean of four, as in OpenCV.
    blocks = IMAGE.astype("float64").reshape(2, 2, 3, 2, 3).mean((1, 3))
    np.testing.assert_allclose(transforms.Resize((2, 3))(IMAGE.astype("float64")), blocks)
    assert np.abs(transforms.Resize((2, 3))(IMAGE) - blocks).max() <= 0.5
    line = np.array([[0.0, 4.0]])
    np.testing.assert_allclose(transforms.Resize((1, 4))(line), [[0, 1, 3, 4]])
    assert transforms.Resize((1, 4), "nearest")(line).tolist() == [[0, 0, 4, 4]]
    with pytest.raises(ArgumentError, match="'bilinear' or 'nearest' here"):
        transforms.Resize(3, "lanczos")


def test_crops() -> None:
    np.testing.assert_array_equal(transforms.CenterCrop((2, 4))(IMAGE), IMAGE[1:3, 1:5])
    random.seed(0)
    parts = {transforms.RandomCrop(2)(IMAGE)[0, 0, 0].item() for _ in range(200)}
    assert parts == set(IMAGE[:3, :5, 0].ravel().tolist())
    assert transforms.RandomCrop(8, padding=2)(IMAGE).shape == (8, 8, 3)
    assert transforms.RandomCrop((8, 10), padding=[2, 2])(IMAGE)[2:6, 2:8].tolist() == IMAGE.tolist()
    assert transforms.RandomCrop((4, 9), padding=[1, 0, 2, 0])(IMAGE)[:, 1:7].tolist() == IMAGE.tolist()
    assert transforms.RandomCrop(7, pad_if_needed=True, fill=9)(IMAGE).shape == (7, 7, 3)
    for crop in (transforms.CenterCrop(7), transforms.RandomCrop(7)):
        with pytest.raises(ArgumentError, match=r"\[7, 7\] is larger than the image of \[4, 6\]"):
            crop(IMAGE)


def test_flips_and_axes() -> None:
    np.testing.assert_array_equal(transforms.RandomHorizontalFlip(1.0)(IMAGE), IMAGE[:, ::-1])
    np.testing.assert_array_equal(transforms.RandomVerticalFlip(1.0)(IMAGE), IMAGE[::-1])
    assert transforms.RandomVerticalFlip(0.0)(IMAGE) is IMAGE
    random.seed(0)
    flips = [transforms.RandomHorizontalFlip()(IMAGE)[0, 0, 0] != 0 for _ in range(400)]
    assert 150 < sum(flips) < 250
    with pytest.raises(ArgumentError, match="prob is a probability"):
        transforms.RandomHorizontalFlip(2)
    np.testing.assert_array_equal(transforms.Transpose()(IMAGE), IMAGE.transpose(2, 0, 1))
    steps = transforms.Compose([transforms.Resize(4), transforms.CenterCrop(4), transforms.ToTensor()])
    assert steps(IMAGE).shape == [3, 4, 4]
