"""Functions on tensors, by subject, that the dialects share."""
