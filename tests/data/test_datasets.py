"""Datasets, samplers and collate functions of both dialects."""

from __future__ import annotations

import importlib
from collections import Counter, OrderedDict, namedtuple
from typing import Any

import ferrograd.paddle as paddle
import numpy as np
import pytest
from ferrograd import torch as _torch
from ferrograd.paddle.io.reader import default_collate_fn, default_convert_fn

torch: Any = _torch
data: Any = torch.utils.data
io: Any = paddle.io
Point = namedtuple("Point", ["x", "y"])


def joined(lists: Any) -> list[Any]:
    return [item for part in lists for item in part]


def test_rows_of_tensors() -> None:
    x, y = torch.arange(6).reshape(3, 2), torch.arange(3)
    rows = data.TensorDataset(x, y)
    assert len(rows) == 3
    assert [v.tolist() for v in rows[1]] == [[2, 3], 1]
    assert [v.tolist() for v in rows[[0, 2]]] == [[[0, 1], [4, 5]], [0, 2]]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(x, torch.arange(2))
    u, v = paddle.arange(3), paddle.arange(3) * 2
    assert [t.item() for t in io.TensorDataset([u, v])[2]] == [2, 4]
    with pytest.raises(AssertionError, match="tensors not have same shape of the 1st dimension"):
        io.TensorDataset([u, paddle.arange(2)])


def test_datasets_side_by_side() -> None:
    assert list(data.StackDataset([1, 2], "ab")) == [(1, "a"), (2, "b")]
    named = data.StackDataset(x=[1, 2], y=data.Subset("abc", [2, 0]))
    assert named[1] == {"x": 2, "y": "a"}
    assert named.__getitems__([1, 0]) == [{"x": 2, "y": "a"}, {"x": 1, "y": "c"}]
    assert len(named) == 2
    for args, kwargs, text in (
        ((), {}, "At least one dataset should be passed"),
        (([1],), {"x": [1]}, "Supported either ``tuple``"),
        (([1], [1, 2]), {}, "Size mismatch between datasets"),
    ):
        with pytest.raises(ValueError, match=text):
            data.StackDataset(*args, **kwargs)
    a, b = io.Subset([1, 2], [0, 1]), io.Subset([(3, 4), [5, 6]], [1, 0])
    assert list(io.ComposeDataset([a, b])[0]) == [1, 5, 6]
    wrong: Any
    for wrong, text in (
        ([], "should not be empty"),
        ([a, io.IterableDataset()], "IterableDataset not supported"),
        ([a, [1, 2]], "should be paddle.io.Dataset"),
        ([a, io.Subset([1], [0])], "lengths of datasets should be same"),
    ):
        with pytest.raises(AssertionError, match=text):
            io.ComposeDataset(wrong)


@pytest.mark.parametrize("library", [data, io])
def test_datasets_one_after_the_other(library: Any) -> None:
    class Stream(library.IterableDataset):  # type: ignore[misc]
        def __init__(self, items: str) -> None:
            self.items = items

        def __iter__(self) -> Any:
            return iter(self.items)

        def __len__(self) -> int:
            return len(self.items)

    both = library.ConcatDataset([[1, 2], [], [3]])
    assert [both[i] for i in range(-3, 3)] == [1, 2, 3, 1, 2, 3]
    assert list(both) == [1, 2, 3]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-4]
    with pytest.raises(IndexError):
        both[3]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        library.ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        library.ConcatDataset([Stream("ab")])

    chain = library.ChainDataset([Stream("ab"), Stream("c")])
    # `list` asks for the length, which streams of Paddle refuse to give.
    assert [s for s in chain] == [s for s in chain] == ["a", "b", "c"]
    with pytest.raises(AssertionError, match="ChainDataset only support"):
        list(library.ChainDataset([Stream("ab"), "c"]))
    if library is data:
        assert len(chain) == 3
        assert list(Stream("ab") + Stream("c")) == ["a", "b", "c"]
        assert list(data.Subset("abc", [0]) + data.Subset("abc", [2])) == ["a", "c"]


def test_what_a_subclass_has_to_write() -> None:
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        data.Dataset[int]()[0]
    with pytest.raises(NotImplementedError, match="'__getitem__' not implement in class Dataset"):
        io.Dataset[int]()[0]
    with pytest.raises(NotImplementedError, match="'__len__' not implement"):
        len(io.Dataset[int]())
    with pytest.raises(RuntimeError, match="'__len__' should not be called for IterableDataset"):
        len(io.IterableDataset[int]())

    class Doubled(data.Subset):  # type: ignore[misc]
        def __getitem__(self, idx: Any) -> int:
            return 2

    with pytest.raises(NotImplementedError, match="Doubled overrides __getitem__ but not __getitems__"):
        Doubled([1], [0])


@pytest.mark.parametrize("library", [data, io])
def test_random_splits(library: Any) -> None:
    torch.manual_seed(1)
    parts = library.random_split(range(10), [3, 7])
    assert [len(p) for p in parts] == [3, 7]
    assert sorted([*parts[0], *parts[1]]) == list(range(10))
    assert [len(p) for p in library.random_split(range(10), [0.55, 0.45])] == [6, 4]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        library.random_split(range(2), [0.9, 0.1])
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset"):
        library.random_split(range(4), [1, 2])
    with pytest.raises(ValueError, match="Fraction at index 1 is not between 0 and 1"):
        library.random_split(range(4), [0.75, -0.25, 0.5])
    if library is data:
        g, h = (torch.Generator().manual_seed(4) for _ in range(2))
        again = [[*p] for p in data.random_split(range(10), [3, 7], generator=g)]
        assert again == [[*p] for p in data.random_split(range(10), [3, 7], h)]


def test_random_samplers_of_torch() -> None:
    def seeded() -> Any:
        return torch.Generator().manual_seed(2)

    makers: list[Any] = [
        lambda g: data.RandomSampler(range(9), generator=g),
        lambda g: data.RandomSampler(range(9), True, 70, g),
        lambda g: data.RandomSampler(range(9), num_samples=20, generator=g),
        lambda g: data.SubsetRandomSampler([4, 2, 7], g),
        lambda g: data.WeightedRandomSampler([1.0, 2.0, 3.0], 50, generator=g),
        lambda g: data.WeightedRandomSampler([1.0, 2.0, 3.0], 3, False, g),
    ]
    for make in makers:
        sampler = make(seeded())
        first = list(sampler)
        assert len(first) == len(sampler)
        assert first == list(make(seeded()))
        assert list(sampler) != first or len(first) < 9
    assert list(data.RandomSampler(range(9), generator=seeded())) == torch.randperm(9, generator=seeded()).tolist()
    assert Counter(data.RandomSampler(range(3), num_samples=7)).keys() == {0, 1, 2}
    # One number of the default generator for a pass, as long as it may be.
    torch.manual_seed(0)
    list(data.RandomSampler(range(1000)))
    after = torch.rand(1).item()
    torch.manual_seed(0)
    list(data.RandomSampler(range(2)))
    assert torch.rand(1).item() == after


@pytest.mark.parametrize("replacement", [True, False])
def test_weights(replacement: bool) -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    weights = [1.0, 0.0, 3.0]
    for make in (data.WeightedRandomSampler, io.WeightedRandomSampler):
        drawn = [i for _ in range(4000) for i in make(weights, 1, replacement)]
        count = Counter(drawn)
        assert set(count) == {0, 2}
        assert abs(count[2] / 4000 - 0.75) < 0.03
        assert sorted(make(weights, 2, False)) == [0, 2]
        with pytest.raises((RuntimeError, AssertionError), match="replacement"):
            list(make(weights, 3, False))
        with pytest.raises((RuntimeError, AssertionError), match="weights"):
            list(make([-1.0, 2.0], 1))
        with pytest.raises((RuntimeError, AssertionError), match="weights"):
            list(make([0.0, 0.0], 1))
        with pytest.raises(ValueError, match="num_samples should be a positive integer"):
            make(weights, 0)
    with pytest.raises(ValueError, match="weights should be a 1d sequence"):
        data.WeightedRandomSampler(np.ones((2, 2)), 1)
    rows = io.WeightedRandomSampler(np.eye(2), 3)
    assert list(rows) == [0, 0, 0, 1, 1, 1]
    assert len(rows) == 6


def test_random_samplers_of_paddle_draw_from_numpy() -> None:
    np.random.seed(0)
    found = list(io.RandomSampler(range(6)))
    np.random.seed(0)
    assert found == np.random.permutation(6).tolist()
    assert list(io.RandomSampler(range(9), num_samples=2, generator=iter([3, 1, 5]))) == [3, 1]
    assert sorted(io.SubsetRandomSampler([5, 1])) == [1, 5]
    assert len(list(io.RandomSampler(range(2), True, 9))) == 9
    with pytest.raises(ValueError, match="should be smaller than or equal to length of data_source"):
        io.RandomSampler(range(2), num_samples=3)
    with pytest.raises(ValueError, match="should be greater than 0"):
        io.SubsetRandomSampler([])


def test_batches_of_indices() -> None:
    for drop_last, wanted in ((False, [[0, 1], [2, 3], [4]]), (True, [[0, 1], [2, 3]])):
        for sampler in (
            data.BatchSampler(data.SequentialSampler(range(5)), 2, drop_last),
            io.BatchSampler(range(5), batch_size=2, drop_last=drop_last),
            io.BatchSampler(sampler=io.SequenceSampler(range(5)), batch_size=2, drop_last=drop_last),
        ):
            assert list(sampler) == list(sampler) == wanted
            assert len(sampler) == len(wanted)
    assert sorted(joined(io.BatchSampler(range(5), shuffle=True, batch_size=2))) == list(range(5))
    for options, text in (
        ({}, "either dataset or sampler should be set"),
        ({"dataset": range(3), "sampler": [1]}, "should not set both"),
        ({"sampler": [1], "shuffle": True}, "shuffle should be False"),
        ({"dataset": range(3), "batch_size": 0}, "batch_size should be a positive integer"),
        ({"dataset": io.IterableDataset()}, "should not be a paddle.io.IterableDataset"),
    ):
        with pytest.raises(AssertionError, match=text):
            io.BatchSampler(**options)
    with pytest.raises(ValueError, match="drop_last should be a boolean value"):
        data.BatchSampler([1], 1, 1)


@pytest.mark.parametrize("n", [6, 7, 1])
def test_processes_share_a_dataset(n: int) -> None:
    for shuffle in (False, True):
        shares = [data.DistributedSampler(range(n), 3, rank, shuffle) for rank in range(3)]
        assert {len(s) for s in shares} == {-(-n // 3)}
        assert set(joined(shares)) == set(range(n))
        whole = [data.DistributedSampler(range(n), 3, rank, shuffle, drop_last=True) for rank in range(3)]
        found = joined(whole)
        assert len(found) == len(set(found)) == n // 3 * 3
        batches = [io.DistributedBatchSampler(range(n), 2, 3, rank, shuffle) for rank in range(3)]
        assert [len(list(b)) for b in batches] == [len(b) for b in batches]
        assert set(joined(joined(batches))) <= set(range(n))
    sampler = data.DistributedSampler(range(50), 2, 0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    batch = io.DistributedBatchSampler(range(50), 50, shuffle=True)
    order = list(batch)
    assert list(batch) != order
    batch.set_epoch(0)
    assert list(batch) == order
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        data.DistributedSampler(range(3))
    with pytest.raises(ValueError, match="Invalid rank 2"):
        data.DistributedSampler(range(3), 2, 2)


def test_collate_of_torch() -> None:
    samples = [
        {"x": np.ones((2, 2), np.float32) * i, "p": Point(i, float(i)), "t": (torch.tensor([i]), f"s{i}"), "b": i > 0}
        for i in range(2)
    ]
    batch = importlib.import_module("ferrograd.torch.utils.data._utils.collate").default_collate(samples)
    assert batch["x"].shape == (2, 2, 2)
    assert batch["x"].dtype == torch.float32
    assert isinstance(batch["p"], Point)
    assert batch["p"].x.tolist() == [0, 1]
    assert batch["p"].x.dtype == torch.int64
    assert batch["p"].y.dtype == torch.float64
    assert batch["t"][0].tolist() == [[0], [1]]
    assert batch["t"][1] == ("s0", "s1")
    assert data.default_collate([{"s": "a"}, {"s": "b"}]) == {"s": ["a", "b"]}
    assert batch["b"].dtype == torch.bool
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype == torch.float32
    ordered = data.default_collate([OrderedDict(b=1, a=2)] * 2)
    assert type(ordered) is OrderedDict
    assert list(ordered) == ["b", "a"]
    assert data.default_collate([[1, 2], [3, 4]])[1].tolist() == [2, 4]
    assert data.default_collate([range(2), range(2)])[1].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])
    for wrong in (object(), None, np.array(["a"])):
        with pytest.raises(TypeError, match="default_collate: batch must contain tensors, numpy arrays, numbers"):
            data.default_collate([wrong])
    x = torch.ones(2, requires_grad=True)
    data.default_collate([x, x * 2]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]


def test_convert_of_torch() -> None:
    found = data.default_convert({"x": np.arange(2), "y": (np.float32(2), "s", 3), "p": Point(np.array(1), None)})
    assert found["x"].tolist() == [0, 1]
    assert found["y"][0].dtype == torch.float32
    assert found["y"][1:] == ["s", 3]
    assert found["p"].x.item() == 1
    assert data.default_convert(np.array(["a"])).dtype.kind == "U"


def test_collate_of_paddle() -> None:
    batch = default_collate_fn([(np.ones(2), 1, {"s": "a"}, paddle.to_tensor(1.0), "b")] * 2)
    assert isinstance(batch, list)
    assert [type(v) for v in batch[:2]] == [np.ndarray, np.ndarray]
    assert batch[2] == {"s": ["a", "a"]}
    assert batch[3].tolist() == [1, 1]
    assert batch[4] == ("b", "b")
    with pytest.raises(RuntimeError, match="fields number not same among samples in a batch"):
        default_collate_fn([[1], [1, 2]])
    with pytest.raises(TypeError, match="batch data con only contains"):
        default_collate_fn([object()])
    x = np.ones(2)
    assert default_convert_fn((x, "s"))[0] is x
    (row,) = io.DataLoader(io.Subset([(x, 3)], [0]), batch_size=None)
    assert isinstance(row[0], paddle.Tensor)
    assert row[1] == 3


def test_composed_transforms_of_paddle() -> None:
    compose = paddle.vision.transforms.Compose([lambda x: x + 1, str])
    assert compose(1) == "2"
    assert paddle.vision.Compose is type(compose)
    with pytest.raises(AttributeError, match=r"vision' has no attribute 'image': .* read them in a paddle.io.Dataset"):
        _ = paddle.vision.image
    with pytest.raises(NotImplementedError, match=r"MNIST: nothing is fetched.* in a paddle.io.Dataset"):
        paddle.vision.datasets.MNIST(mode="train")


def test_indices_are_drawn_when_the_first_is_asked_for() -> None:
    for sampler in (
        data.RandomSampler(range(9)),
        data.WeightedRandomSampler([1.0] * 9, 5),
        data.SubsetRandomSampler(range(9)),
    ):
        streams, found = (iter(sampler), iter(sampler)), []
        for stream in streams:
            torch.manual_seed(0)
            found.append(list(stream))
        assert found[0] == found[1]
