"""What PyTorch keeps for its own tests, as far as the tests of libraries use it."""
