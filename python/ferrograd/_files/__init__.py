"""Formats of files that the dialects share."""
