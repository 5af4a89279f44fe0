"""What only tensors of the Paddle dialect have."""
