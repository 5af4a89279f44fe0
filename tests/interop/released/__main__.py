"""Writes the files of today's version."""

from tests.interop.released import write

write()
