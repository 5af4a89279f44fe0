"""Shapes, devices, text and pickles of tensors."""
