"""Writes those pages of the site that are made from the library itself."""
