"""``python -m ferrograd``: what is installed, whether it works, and a demo."""

from ferrograd._native.about import main

if __name__ == "__main__":
    main()
