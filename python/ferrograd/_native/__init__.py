"""What the namespace ``ferrograd`` itself consists of, and what it hands to the core."""
