"""What every room may use: the dialects, arguments, trees of values, the names that modules offer."""
