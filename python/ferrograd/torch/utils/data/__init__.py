"""``torch.utils.data``: datasets, samplers, and a loader of batches.

>>> import ferrograd.torch as torch
>>> from ferrograd.torch.utils.data import DataLoader, TensorDataset
>>> data = TensorDataset(torch.arange(5), torch.arange(5) * 10)
>>> for x, y in DataLoader(data, batch_size=2):
...     print(x.tolist(), y.tolist())
[0, 1] [0, 10]
[2, 3] [20, 30]
[4] [40]
"""

from __future__ import annotations

from ferrograd._data.worker_info import get_worker_info
from ferrograd._kit import public as _public
from ferrograd.torch.utils.data.collate import default_collate, default_convert
from ferrograd.torch.utils.data.dataloader import DataLoader
from ferrograd.torch.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from ferrograd.torch.utils.data.distributed import DistributedSampler
from ferrograd.torch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

__dir__ = _public.names(globals())
