"""Recording and differentiation: grad modes, functions with gradients of their own, saved tensors, debugging."""
