"""What the Paddle and torch dialects share."""
