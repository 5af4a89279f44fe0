"""Samples as tensors and as batches."""

from ferrograd.torch.utils.data.collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
