"""The functions of the Paddle dialect, by subject: a file has the name of its family of ops."""
