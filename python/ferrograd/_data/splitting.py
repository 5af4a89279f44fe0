"""Where samples lie: parts of a dataset, and datasets one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence, Sized

from ferrograd._kit.warning import warn


def split_lengths(dataset: Sized, lengths: Sequence[int | float]) -> list[int]:
    """The lengths of parts of a dataset, which are given as numbers of samples or as fractions that add up to 1.

    What is left by rounding down goes to the first parts, one sample each.

    >>> split_lengths(range(10), [0.5, 0.25, 0.25])
    [6, 2, 2]
    """
    total = len(dataset)
    found = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        found = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - int(sum(found))):
            found[i % len(found)] += 1
        for i, length in enumerate(found):
            if length == 0:
                text = f"Length of split at index {i} is 0. This might result in an empty dataset."
                warn(text)
    if sum(found) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    return [int(n) for n in found]


def cut(indices: Sequence[int], lengths: Sequence[int]) -> list[Sequence[int]]:
    """The indices in pieces of these lengths.

    >>> cut([5, 6, 7], [1, 2])
    [[5], [6, 7]]
    """
    return [indices[end - n : end] for end, n in zip(itertools.accumulate(lengths), lengths, strict=True)]


def located(ends: Sequence[int], index: int) -> tuple[int, int]:
    """The number of the dataset that holds the sample ``index``, and the place in it; ``ends`` are running totals.

    >>> located([3, 5], 4), located([3, 5], -5)
    ((1, 1), (0, 0))
    """
    if index < 0:
        if -index > ends[-1]:
            raise ValueError("absolute value of index should not exceed dataset length")
        index += ends[-1]
    if index >= ends[-1]:
        raise IndexError(f"index {index} is out of range for {ends[-1]} samples")
    number = bisect.bisect_right(ends, index)
    return number, index - (ends[number - 1] if number else 0)
