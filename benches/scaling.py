"""How a data-parallel step scales: measured in 1, 2 and 4 processes, against a model that is then run to 10 000.

``python benches/scaling.py`` prints the tables of docs/scaling.md. ``--torch PYTHON`` names an interpreter with torch,
whose gloo then runs the same steps, in turns. ``--model`` skips the measurements and takes ``--latency``,
``--bandwidth`` and ``--compute``. ``--memory`` measures memory alone, ``--steps`` times alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROCESSES = (1, 2, 4)
#: The bytes of the sums that latency and bandwidth are fitted to.
SIZES = (8, 1 << 14, 1 << 18, 1 << 22, 1 << 24)
#: The widths of the model of the measured step, and the samples of a batch.
WIDTHS = (256, 1024, 1024, 10)
BATCH = 256
#: The model whose memory is measured: equal blocks of one layer.
BLOCKS, WIDE = 16, 1024
ENVIRONMENT = {
    **dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "FERROGRAD_NUM_THREADS"], "1"),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


class Network(NamedTuple):
    """What a message of n bytes takes: ``latency + n / bandwidth`` seconds."""

    latency: float
    bandwidth: float


class Training(NamedTuple):
    """A step of one process: seconds of forward and backward on its samples, and bytes of parameters."""

    forward: float
    backward: float
    bytes: float


def ring(bytes: float, n: int, network: Network) -> float:
    """An allreduce by a ring: each of 2 (n - 1) messages has 1/n of the bytes."""
    return 2 * (n - 1) * (network.latency + bytes / n / network.bandwidth)


def tree(bytes: float, n: int, network: Network) -> float:
    """An allreduce by halving and doubling: 2 log2 n messages, with as many bytes in total as the ring."""
    return 2 * math.ceil(math.log2(n)) * network.latency + 2 * (n - 1) / n * bytes / network.bandwidth if n > 1 else 0.0


def allreduce(bytes: float, n: int, network: Network) -> float:
    """The faster of both, which an MPI chooses by size."""
    return min(ring(bytes, n, network), tree(bytes, n, network))


def step(training: Training, n: int, network: Network, cores: int, overlap: float, gathers: int = 0) -> float:
    """The time of a step: what a process computes, and what of the communication the backward pass does not hide.

    ``overlap`` is the share of the backward pass that communication can hide behind. ``gathers`` counts how often the
    parameters are gathered, each time with half of the bytes of an allreduce. Processes share ``cores``.
    """
    share = max(1.0, n / cores)
    computed = (training.forward + training.backward) * share
    sent = allreduce(training.bytes, n, network) * (1 + gathers / 2)
    return computed + max(0.0, sent - overlap * training.backward * share)


def memory(parameters: float, n: int, stage: int, state: int = 2) -> float:
    """Bytes of a process for parameters, gradients and ``state`` numbers of an optimizer for each parameter.

    Stage 0 divides nothing, 1 the state, 2 gradients too, 3 parameters too.
    """
    whole = [1.0, 1.0, float(state)]
    return parameters * sum(x / n if stage >= 3 - i else x for i, x in enumerate(whole))


def best(call: Callable[[], Any], times: int) -> float:
    """The least time of a call in seconds."""
    found = []
    for _ in range(times):
        before = time.perf_counter()
        call()
        found.append(time.perf_counter() - before)
    return min(found)


def worker(framework: str) -> None:
    """In each process: measures sums, and steps with a batch of each process or a share of one batch."""
    if framework == "ferrograd":
        import ferrograd

        ferrograd.install_as("torch")
    import torch
    import torch.distributed as dist
    from torch import nn

    dist.init_process_group("gloo")
    n = dist.get_world_size()
    sums = {}
    for size in SIZES:
        x = torch.ones(max(size // 4, 1))

        def summed(x: Any = x) -> None:
            dist.all_reduce(x)
            x.fill_(1)

        summed()
        dist.barrier()
        sums[size] = best(summed, 10)

    def model() -> Any:
        layers = [part for a, b in itertools.pairwise(WIDTHS) for part in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*layers[:-1])

    def stepping(net: Any, batch: int) -> Callable[[], None]:
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
        x, y = torch.ones(batch, WIDTHS[0]), torch.zeros(batch, dtype=torch.int64)

        def run() -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()

        run()
        dist.barrier()
        return run

    def parallel() -> Any:
        return nn.parallel.DistributedDataParallel(model())

    net = model()
    x = torch.ones(BATCH, WIDTHS[0])
    steps = {
        "alone": stepping(net, BATCH),
        "weak": stepping(parallel(), BATCH),
        "alone, strong": stepping(model(), BATCH // n),
        "strong": stepping(parallel(), BATCH // n),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(20):
        # In turns, so that other programs disturb all alike. A step alone is one of each process, too.
        for name, run in steps.items():
            dist.barrier()
            times[name].append(best(run, 1))
    found: dict[str, Any] = {"sums": sums, "forward": best(lambda: net(x), 10)}
    found.update({name: min(some) for name, some in times.items()})
    found["bytes"] = 4 * sum(p.numel() for p in net.parameters())
    every: list[Any] = [None] * n
    dist.all_gather_object(every, found)
    if dist.get_rank() == 0:
        # The slowest process counts.
        for name in steps:
            found[name] = max(one[name] for one in every)
        print(json.dumps(found))
    dist.destroy_process_group()


def held(stage: int) -> None:
    """In each process: the memory of Adam's steps with a model that is divided as in a stage of ZeRO."""
    import ferrograd

    ferrograd.install_as("torch")
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def resident(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

    dist.init_process_group("gloo")
    x = torch.ones(8, WIDE)
    nn.functional.cross_entropy(nn.Linear(WIDE, WIDE)(x), torch.zeros(8, dtype=torch.int64)).backward()
    before = resident("VmRSS")
    strategy = ShardingStrategy.SHARD_GRAD_OP if stage == 2 else ShardingStrategy.FULL_SHARD
    parts = []
    for _ in range(BLOCKS):
        part: Any = nn.Sequential(nn.Linear(WIDE, WIDE), nn.ReLU())
        parts.append(FullyShardedDataParallel(part, sharding_strategy=strategy) if stage > 1 else part)
    net: Any = nn.Sequential(*parts)
    net = nn.parallel.DistributedDataParallel(net) if stage < 2 else net
    adam, rate = torch.optim.Adam, {"lr": 1e-3}
    optimizer = (
        ZeroRedundancyOptimizer(net.parameters(), adam, **rate) if stage == 1 else adam(net.parameters(), **rate)
    )
    for _ in range(3):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    state = [s for one in optimizer.state.values() for s in one.values() if isinstance(s, torch.Tensor)]
    kinds = (list(net.parameters()), [p.grad for p in net.parameters()], state)
    counted = [4 * sum(t.numel() for t in tensors) for tensors in kinds]
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, [*counted, resident("VmHWM") - before])
    if dist.get_rank() == 0:
        print(json.dumps([max(column) for column in zip(*every, strict=True)]))
    dist.destroy_process_group()


def memory_table() -> None:
    """Prints what a process holds for each stage of ZeRO, counted in tensors and as the system sees it."""
    rows = []
    for stage in range(4):
        for n in PROCESSES:
            *counted, peak = (x / 1e6 for x in started("ferrograd", sys.executable, n, "--stage", str(stage)))
            whole = 4e-6 * BLOCKS * (WIDE * WIDE + WIDE)
            model = memory(whole, n, stage)
            rows.append([str(stage), str(n), *(f"{x:.1f}" for x in counted), f"{model:.0f}", f"{peak:.0f}"])
    table(["stage", "processes", "parameters", "gradients", "state", "model", "peak"], rows)


def started(framework: str, python: str, n: int, *options: str) -> Any:
    """What the first of n processes prints in the end."""
    command = [python, __file__, *options]
    if framework == "torch":
        command = [python, "-m", "torch.distributed.run", "--nproc-per-node", str(n), *command[1:]]
    else:
        mpiexec = str(Path(sys.executable).with_name("mpiexec"))
        command = [mpiexec, "-n", str(n), "--oversubscribe", "--bind-to", "none", *command]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(frameworks: dict[str, str], rounds: int) -> dict[tuple[str, int], dict[str, Any]]:
    """The least that the workers of each framework measure in each number of processes, in rounds."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for _ in range(rounds):
        for n in PROCESSES:
            for framework, python in frameworks.items():
                one: dict[str, Any] = started(framework, python, n, "--worker", framework)
                one["sums"] = {int(size): seconds for size, seconds in one["sums"].items()}
                # A step costs so much more than one of the processes alone does at the same time.
                one["overhead"] = one["weak"] - one["alone"], one["strong"] - one["alone, strong"]
                best = found.setdefault((framework, n), one)
                best["sums"] = {size: min(seconds, one["sums"][size]) for size, seconds in best["sums"].items()}
                best["overhead"] = tuple(map(min, best["overhead"], one["overhead"]))
                best.update({name: min(best[name], one[name]) for name in ("forward", "alone", "weak", "strong")})
    return found


def fitted(sums: dict[int, float]) -> Network:
    """Latency and bandwidth from sums in two processes: the smallest gives the one, the largest the other."""
    latency = sums[SIZES[0]] / 2
    return Network(latency, SIZES[-1] / max(sums[SIZES[-1]] - sums[SIZES[0]], 1e-9))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table in Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def report(found: dict[tuple[str, int], dict[str, Any]], frameworks: Sequence[str]) -> tuple[Training, Network]:
    """Prints what was measured beside what the model says, for each framework; the parameters of the first."""
    cores = os.cpu_count() or 1
    first: tuple[Training, Network] | None = None
    for framework in frameworks:
        alone = found[framework, 1]
        network = fitted(found[framework, 2]["sums"])
        training = Training(alone["forward"], alone["alone"] - alone["forward"], alone["bytes"])
        first = first or (training, network)
        print(
            f"{framework}: latency {network.latency * 1e6:.0f} µs, bandwidth {network.bandwidth / 1e9:.2f} GB/s, step "
            f"{alone['alone'] * 1e3:.1f} ms\n"
        )
        rows = []
        for n in PROCESSES:
            one = found[framework, n]
            weak = step(training, n, network, cores, 0.0)
            part = training._replace(forward=training.forward / n, backward=training.backward / n)
            strong = step(part, n, network, cores, 0.0)
            sums = one["sums"][SIZES[-1]], allreduce(SIZES[-1], n, network)
            pairs = ((one["weak"], weak), (one["strong"], strong), one["overhead"], sums)
            rows.append([str(n), *(f"{x * 1e3:.1f}" for pair in pairs for x in pair)])
        head = ["processes", "weak", "model", "strong", "model", "overhead, weak", "strong", "sum of 16 MB", "model"]
        table(head, rows)
    assert first is not None, "there is a framework"
    return first


def scaled(training: Training, network: Network, overlap: float) -> None:
    """Prints what the model says of many processes with a core each."""
    rows = []
    for n in (1, 8, 64, 512, 4096, 10_000):
        plain, hidden = (step(training, n, network, n, share) for share in (0.0, overlap))
        sharded = step(training, n, network, n, overlap, gathers=1)
        efficiency = step(training, 1, network, 1, 0.0) / hidden
        parts = [memory(training.bytes, n, stage) / 1e6 for stage in range(4)]
        times = [f"{x * 1e3:.2f}" for x in (plain, hidden, sharded)]
        rows.append([f"{n}", *times, f"{efficiency:.0%}", *(f"{x:.3g}" for x in parts)])
    head = ["processes", "step", "overlapped", "parameters divided", "efficiency", "MB"]
    table([*head, *(f"MB, stage {stage}" for stage in (1, 2, 3))], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", choices=["ferrograd", "torch"])
    parser.add_argument("--torch", help="an interpreter with torch")
    parser.add_argument("--rounds", type=int, default=3, help="how often the steps are measured, in turns")
    parser.add_argument("--stage", type=int, choices=range(4))
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--latency", type=float, default=5e-6, help="seconds")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes per second")
    parser.add_argument("--compute", type=float, default=0.2, help="seconds of a step in one process")
    parser.add_argument("--bytes", type=float, default=100e6, help="of parameters")
    given = parser.parse_args()
    if given.worker:
        worker(given.worker)
        return
    if given.stage is not None:
        held(given.stage)
        return
    if not given.model:
        if not given.steps:
            memory_table()
        if given.memory:
            return
        peers = {"ferrograd": sys.executable, **({"torch": given.torch} if given.torch else {})}
        report(measured(peers, given.rounds), list(peers))
    network = Network(given.latency, given.bandwidth)
    scaled(Training(given.compute / 3, given.compute * 2 / 3, given.bytes), network, 0.9)


if __name__ == "__main__":
    main()
