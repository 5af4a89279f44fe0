"""Distributions, their transforms and divergences, which the dialects share. Tensors keep their dialect."""
