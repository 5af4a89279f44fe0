"""``paddle.vision.models``: networks for images, with random weights. Weights of Paddle's files are loaded into them.

>>> import ferrograd.paddle as paddle
>>> model = paddle.vision.models.LeNet()
>>> list(model(paddle.zeros([2, 1, 28, 28])).shape)
[2, 10]
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import public as _public
from ferrograd._kit.specialize import specialize
from ferrograd.paddle import nn
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "VGG",
    "AlexNet",
    "LeNet",
    "ResNet",
    "alexnet",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "vgg11",
    "vgg13",
    "vgg16",
    "vgg19",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


def _without_weights(function: str, pretrained: bool) -> None:
    if pretrained:
        raise ArgumentError(
            f"{function}: no weights are fetched; load a file with model.set_state_dict(paddle.load(path))"
        )


class LeNet(nn.Layer):
    """Two convolutions and three linear layers, for images of one channel and 28 by 28 pixels.

    With ``num_classes=0`` it ends before the linear layers.
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, stride=1, padding=0),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        if num_classes > 0:
            self.fc = nn.Sequential(nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, num_classes))

    def forward(self, inputs: Tensor) -> Any:
        """The logits of the classes."""
        x = self.features(inputs)
        return self.fc(ops.flatten(x, 1)) if self.num_classes > 0 else x


class _ConvPool(nn.Layer):
    """A convolution, a ReLU and a pooling of 3 by 3 pixels."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, padding: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self._conv = nn.Conv2D(inputs, outputs, size, stride=stride, padding=padding)
        self._pool = nn.MaxPool2D(3, 2, 0)

    def forward(self, x: Tensor) -> Any:
        """The pooled features."""
        return self._pool(self.relu(self._conv(x)))


class AlexNet(nn.Layer):
    """Five convolutions and three linear layers, for images of three channels and 224 by 224 pixels."""

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = _ConvPool(3, 64, 11, 4, 2)
        self._conv2 = _ConvPool(64, 192, 5, 1, 2)
        self._conv3 = nn.Conv2D(192, 384, 3, padding=1)
        self._conv4 = nn.Conv2D(384, 256, 3, padding=1)
        self._conv5 = _ConvPool(256, 256, 3, 1, 1)
        if num_classes > 0:
            self._drop1 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc6 = nn.Linear(9216, 4096)
            self._drop2 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc7 = nn.Linear(4096, 4096)
            self._fc8 = nn.Linear(4096, num_classes)

    def forward(self, inputs: Tensor) -> Any:
        """The logits of the classes."""
        x = self._conv2(self._conv1(inputs))
        x = self._conv5(ops.relu(self._conv4(ops.relu(self._conv3(x)))))
        if self.num_classes <= 0:
            return x
        x = ops.relu(self._fc6(self._drop1(ops.flatten(x, 1))))
        return self._fc8(ops.relu(self._fc7(self._drop2(x))))


class VGG(nn.Layer):
    """Features of an image, pooled to 7 by 7, and three linear layers."""

    def __init__(self, features: nn.Layer, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.features, self.num_classes, self.with_pool = features, num_classes, with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, num_classes),
            )

    def forward(self, x: Tensor) -> Any:
        """The logits of the classes."""
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(ops.flatten(x, 1)) if self.num_classes > 0 else x


#: By depth: how many convolutions of each width there are before a pooling.
_VGG = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def _vgg_features(depth: int, batch_norm: bool) -> nn.Layer:
    layers: list[nn.Layer] = []
    inputs = 3
    for width, times in zip((64, 128, 256, 512, 512), _VGG[depth], strict=True):
        for _ in range(times):
            layers += [nn.Conv2D(inputs, width, 3, padding=1), *([nn.BatchNorm2D(width)] * bool(batch_norm)), nn.ReLU()]
            inputs = width
        layers.append(nn.MaxPool2D(2, 2))
    return nn.Sequential(*layers)


class BasicBlock(nn.Layer):
    """Two convolutions of 3 by 3 pixels, and a path around them."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2D
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = nn.Conv2D(inplanes, planes, 3, stride=stride, padding=1, bias_attr=False)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(planes, planes, 3, padding=1, bias_attr=False)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Any:
        """The features, added to those before."""
        kept = x if self.downsample is None else self.downsample(x)
        return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + kept)


class BottleneckBlock(nn.Layer):
    """A convolution of 3 by 3 pixels between two of single pixels, and a path around them."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2D
        width = int(planes * (base_width / 64.0)) * groups
        outputs = planes * self.expansion
        self.conv1 = nn.Conv2D(inplanes, width, 1, bias_attr=False)
        self.bn1 = norm(width)
        self.conv2 = nn.Conv2D(
            width, width, 3, padding=dilation, stride=stride, groups=groups, dilation=dilation, bias_attr=False
        )
        self.bn2 = norm(width)
        self.conv3 = nn.Conv2D(width, outputs, 1, bias_attr=False)
        self.bn3 = norm(outputs)
        self.relu = nn.ReLU()
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Any:
        """The features, added to those before."""
        kept = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + kept)


#: By depth: how many blocks there are of each width.
_RESNET = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class ResNet(nn.Layer):
    """Blocks of convolutions for images of three channels. The output of each block is added to its input.

    With ``num_classes=0`` it ends before the linear layer, with ``with_pool=False`` before the mean over pixels.
    """

    def __init__(
        self,
        block: Any,
        depth: int = 50,
        width: int = 64,
        num_classes: int = 1000,
        with_pool: bool = True,
        groups: int = 1,
    ) -> None:
        super().__init__()
        self.groups, self.base_width, self.num_classes, self.with_pool = groups, width, num_classes, with_pool
        self.inplanes, self.dilation = 64, 1
        self.conv1 = nn.Conv2D(3, 64, kernel_size=7, stride=2, padding=3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        counts = _RESNET[depth]
        self.layer1 = self._make_layer(block, 64, counts[0])
        self.layer2 = self._make_layer(block, 128, counts[1], stride=2)
        self.layer3 = self._make_layer(block, 256, counts[2], stride=2)
        self.layer4 = self._make_layer(block, 512, counts[3], stride=2)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(self, block: Any, planes: int, blocks: int, stride: int = 1) -> nn.Layer:
        downsample, outputs = None, planes * block.expansion
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(
                nn.Conv2D(self.inplanes, outputs, 1, stride=stride, bias_attr=False), nn.BatchNorm2D(outputs)
            )
        layers = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width)]
        self.inplanes = outputs
        layers += [block(outputs, planes, groups=self.groups, base_width=self.base_width) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Any:
        """The logits of the classes."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        if self.with_pool:
            x = self.avgpool(x)
        return self.fc(ops.flatten(x, 1)) if self.num_classes > 0 else x


def alexnet(pretrained: bool = False, **kwargs: Any) -> AlexNet:
    """An :class:`AlexNet` with random weights."""
    _without_weights("alexnet", pretrained)
    return AlexNet(**kwargs)


def _vgg(pretrained: bool = False, batch_norm: bool = False, *, _depth: int = 11, **kwargs: Any) -> VGG:
    _without_weights(f"vgg{_depth}", pretrained)
    return VGG(_vgg_features(_depth, batch_norm), **kwargs)


def _resnet(
    pretrained: bool = False, *, _name: str = "", _depth: int = 50, _groups: int = 1, _width: int = 64, **kwargs: Any
) -> ResNet:
    _without_weights(_name, pretrained)
    block = BasicBlock if _depth < 50 else BottleneckBlock
    return ResNet(block, _depth, **{"width": _width, "groups": _groups, **kwargs})


vgg11, vgg13, vgg16, vgg19 = (
    specialize(f"vgg{depth}", f"A :class:`VGG` with {depth} layers and random weights.", _vgg, _depth=depth)
    for depth in _VGG
)


def _named(name: str, depth: int, groups: int = 1, width: int = 64) -> Any:
    doc = f"A :class:`ResNet` with {depth} layers and random weights; ``kwargs`` are arguments of the class."
    return specialize(name, doc, _resnet, _name=name, _depth=depth, _groups=groups, _width=width)


resnet18, resnet34, resnet50, resnet101, resnet152 = (_named(f"resnet{depth}", depth) for depth in _RESNET)
resnext50_32x4d, resnext50_64x4d = (_named(f"resnext50_{n}x4d", 50, n, 4) for n in (32, 64))
resnext101_32x4d, resnext101_64x4d = (_named(f"resnext101_{n}x4d", 101, n, 4) for n in (32, 64))
resnext152_32x4d, resnext152_64x4d = (_named(f"resnext152_{n}x4d", 152, n, 4) for n in (32, 64))
wide_resnet50_2, wide_resnet101_2 = (_named(f"wide_resnet{depth}_2", depth, width=128) for depth in (50, 101))

__dir__ = _public.names(globals())
