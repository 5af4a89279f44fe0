"""``python -m ferrograd.torch program.py``: see ``python -m ferrograd.torch --help``."""

from ferrograd._native.runner import main

if __name__ == "__main__":
    main("torch")
