"""The interface of HIPS autograd."""
