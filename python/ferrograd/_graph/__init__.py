"""The recorded graph as data, text and pictures."""
