"""``python -m ferrograd.paddle program.py``: see ``python -m ferrograd.paddle --help``."""

from ferrograd._native.runner import main

if __name__ == "__main__":
    main("paddle")
