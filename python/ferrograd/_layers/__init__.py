"""The module system and the layers that the dialects share."""
