"""What the public modules of the Paddle dialect stand on."""
