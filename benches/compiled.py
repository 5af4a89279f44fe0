"""Times compiled programs of ferrograd beside ``jax.jit``.

``python benches/compiled.py`` prints the table; ``--only WORD`` and ``--rounds N`` are those of ``benches/peers.py``.
The frameworks run in turns, each in its own process.
"""

from __future__ import annotations

import argparse
import math
import os
import platform

from peers import THREADS, in_turn, processor, shown
from programs import PROGRAMS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    names = [n for n in PROGRAMS if options.only in n]
    print(f"{processor()}, {os.cpu_count()} processors, {THREADS} threads, Python {platform.python_version()}")
    print("microseconds, best of several; the ratio is our time divided by that of jax.jit\n")
    ratios = []
    for name in names:
        table = in_turn(["compiled", "jax jit"], [name], options.rounds)
        ours, theirs = table["compiled"][name], table["jax jit"][name]
        if "us" in ours and "us" in theirs:
            ratios.append(ours["us"] / theirs["us"])
            print(f"{name:75} {shown(ours['us']):>9} {shown(theirs['us']):>9} {ratios[-1]:8.2f}", flush=True)
        else:
            print(f"{name:75} no figure: {ours.get('why')} {theirs.get('why')}", flush=True)
    if ratios:
        print(f"\ngeometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
