"""``paddle.io``: datasets, samplers, and a loader of batches.

>>> import ferrograd.paddle as paddle
>>> data = paddle.io.TensorDataset([paddle.arange(5), paddle.arange(5) * 10])
>>> for x, y in paddle.io.DataLoader(data, batch_size=2):
...     print(x.tolist(), y.tolist())
[0, 1] [0, 10]
[2, 3] [20, 30]
[4] [40]
"""

from __future__ import annotations

from ferrograd._data.worker_info import get_worker_info
from ferrograd._kit import public as _public
from ferrograd.paddle.io.dataset import (
    ChainDataset,
    ComposeDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from ferrograd.paddle.io.reader import DataLoader
from ferrograd.paddle.io.sampler import (
    BatchSampler,
    DistributedBatchSampler,
    RandomSampler,
    Sampler,
    SequenceSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ComposeDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedBatchSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "get_worker_info",
    "random_split",
]

__dir__ = _public.names(globals())
