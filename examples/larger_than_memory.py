"""Linear regression on files that are larger than the memory of the process: NumPy, Zarr and Parquet.

A block of rows is a batch, which the loader reads when it is needed, in random order. The files are written first, also
block by block. ``--gigabytes 4 --limit 500`` makes files of 4 GB and gives the process 500 MB.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Each thread may take memory of its own, and Arrow's own allocator reserves a gigabyte before it is needed.
os.environ.update(dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "ARROW_IO_THREADS"], "1"))
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import ferrograd.torch as torch
import numpy as np
from ferrograd.torch.utils.data import DataLoader, Dataset

#: The rows of a block and the numbers of a row. The last number of a row is what the others predict.
ROWS, WIDTH = 1024, 1024
WEIGHTS = np.linspace(-1, 1, WIDTH - 1, dtype=np.float32)


def block(i: int) -> Any:
    """Block ``i`` of the data."""
    rows = np.random.default_rng(i).integers(-1, 2, (ROWS, WIDTH), np.int8).astype(np.float32)
    rows[:, -1] = rows[:, :-1] @ WEIGHTS
    return rows


class Blocks(Dataset[Any]):
    """A file as blocks of rows: their number, and a function that reads one."""

    def __init__(self, count: int, read: Callable[[int], Any]) -> None:
        self.count, self.read = count, read

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        return self.read(i)


def with_numpy(path: Path, count: int) -> Blocks:
    """Writes a file of NumPy and maps it into memory, so that the system reads what is touched."""
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (ROWS * count, WIDTH))
    for i in range(count):
        rows[ROWS * i : ROWS * (i + 1)] = block(i)
    rows.flush()
    rows = np.load(path, mmap_mode="r")
    return Blocks(count, lambda i: rows[ROWS * i : ROWS * (i + 1)])


def with_zarr(path: Path, count: int) -> Blocks:
    """Writes an array of Zarr, whose chunks are the blocks, and opens it."""
    import zarr

    zarr.config.set({"threading.max_workers": 1, "async.concurrency": 1})
    rows = zarr.create_array(path, shape=(ROWS * count, WIDTH), chunks=(ROWS, WIDTH), dtype="float32", compressors=None)
    for i in range(count):
        rows[ROWS * i : ROWS * (i + 1)] = block(i)
    rows = zarr.open_array(path, mode="r")
    return Blocks(count, lambda i: rows[ROWS * i : ROWS * (i + 1)])


def with_parquet(path: Path, count: int) -> Blocks:
    """Writes a table of Parquet, whose groups of rows are the blocks, and opens it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    schema = pa.schema([("row", pa.list_(pa.float32(), WIDTH))])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for i in range(count):
            column = pa.FixedSizeListArray.from_arrays(pa.array(block(i).reshape(-1)), WIDTH)
            writer.write_table(pa.table([column], schema))
    file = pq.ParquetFile(path)

    def read(i: int) -> Any:
        (column,) = file.read_row_group(i).column("row").chunks
        return column.values.to_numpy().reshape(ROWS, WIDTH)

    return Blocks(file.num_row_groups, read)


def train(blocks: Blocks) -> float:
    """One pass over the blocks; how far the weights are from the right ones."""
    w = torch.zeros(WIDTH - 1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.4)
    for rows in DataLoader(blocks, batch_size=None, shuffle=True):
        loss = (rows[:, :-1] @ w - rows[:, -1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float((w.detach() - torch.tensor(WEIGHTS)).abs().max())


def main() -> None:
    """Writes the files, and fits a line to each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.4, help="the size of each file")
    parser.add_argument("--limit", type=int, default=320, help="the memory that the process may have, in MB")
    given = parser.parse_args()
    if sys.platform == "linux":
        import resource

        # What the system reads from a mapped file does not count: it takes that back when memory is short.
        resource.setrlimit(resource.RLIMIT_DATA, (given.limit << 20, given.limit << 20))
    kinds = {"NumPy": with_numpy, "Zarr": with_zarr, "Parquet": with_parquet}
    packages = {"NumPy": "numpy", "Zarr": "zarr", "Parquet": "pyarrow"}
    for kind, write in kinds.items():
        if importlib.util.find_spec(packages[kind]) is None:
            print(f"{kind}: the package {packages[kind]} is not installed")
            continue
        folder = Path(tempfile.mkdtemp())
        try:
            begin = time.perf_counter()
            blocks = write(folder / "rows.npy", round(given.gigabytes * 1e9 / (4 * ROWS * WIDTH)))
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e9
            middle = time.perf_counter()
            error = train(blocks)
        finally:
            shutil.rmtree(folder)
        end = time.perf_counter()
        print(f"{kind}: {size:.2f} GB written in {middle - begin:.1f} s and read in {end - middle:.1f} s, {error:.1e}")
        assert error < 1e-3, error
        assert size * 1e9 > given.limit << 20, "the memory holds the file"


if __name__ == "__main__":
    main()
