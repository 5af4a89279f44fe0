"""The functions of layers of the torch dialect, by subject."""
