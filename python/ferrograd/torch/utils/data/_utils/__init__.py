"""The place of ``collate`` and ``worker`` in PyTorch, from which programs import them."""

from ferrograd.torch.utils.data._utils import collate as collate, worker as worker
