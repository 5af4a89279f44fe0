"""NumPy's functions on tensors, and its protocols."""
