"""The place of ``collate`` in PyTorch, from which programs import it."""

from ferrograd.torch.utils.data._utils import collate as collate
