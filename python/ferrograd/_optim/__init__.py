"""Steps of optimizers and clipping of gradients, shared by the dialects."""
