"""Code that the Paddle and torch dialects share."""
