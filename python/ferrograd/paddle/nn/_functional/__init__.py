"""The functions of layers of the Paddle dialect, by subject."""
