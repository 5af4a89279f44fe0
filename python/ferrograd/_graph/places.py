"""How places in a program are shown."""

from __future__ import annotations

import os
import re
import sys


def short(site: str) -> str:
    """A place ``file:line`` with the cell of a notebook (``In[2]:1``), or with the file without its folder.

    >>> from ferrograd._graph.places import short
    >>> short("/home/me/program.py:3")
    'program.py:3'
    """
    file, _, line = site.rpartition(":")
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook is not None else None
    # IPython knows the cells by the names of the files that it pretends to have compiled.
    cell = shell.compile.format_code_name(file) if shell is not None else None
    return f"{cell[1]}:{line}" if cell is not None else os.path.basename(site)


def in_cells(text: str) -> str:
    """A text whose places in a notebook are shown by their cells."""
    return re.sub(r"<ipython-input-[^>]*>:\d+|[^\s:]*ipykernel_\d+[^\s:]*:\d+", lambda at: short(at[0]), text)
