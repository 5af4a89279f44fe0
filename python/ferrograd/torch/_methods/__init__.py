"""What only tensors of the torch dialect have."""
