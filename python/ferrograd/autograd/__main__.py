"""``python -m ferrograd.autograd program.py``: see ``python -m ferrograd.autograd --help``."""

from ferrograd._native.runner import main

if __name__ == "__main__":
    main("autograd")
