"""Batches from a file that is larger than the memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: The file has 4 GB, of which the system stores what was written. The process may have 500 MB.
PROGRAM = """
import resource, sys
import ferrograd as fg, numpy as np
from ferrograd import func
from ferrograd.torch.utils.data import DataLoader, Dataset, RandomSampler

LIMIT = 500 << 20
resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
rows = np.memmap(sys.argv[1], np.float32, "r", shape=(1 << 20, 1 << 10))

class Rows(Dataset):
    def __getitem__(self, i):
        return rows[i], i

    def __len__(self):
        return len(rows)

seen = set()
for batch, at in DataLoader(Rows(), batch_size=64, sampler=RandomSampler(rows, num_samples=1280)):
    assert batch.shape == (64, 1024) and batch.sum() == 0
    seen.update(at.tolist())
assert len(seen) > 1200 and max(seen) > 1 << 19

# Blocks of rows at the end of the file, one after the other.
some = rows[-4000:]
loss = func.value_and_grad(lambda w, x: (x @ w).sum() + w.sum(), batch_argnums=1, blocks=10)
value, slope = loss(fg.ones([1024]), some)
assert value.item() == 10 * 1024
try:
    np.array(rows)
except MemoryError:
    print("too large")
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that limits the memory of a process")
def test_a_file_that_is_larger_than_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with open(path, "wb") as file:
        file.truncate(4 << 30)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "too large\n"
