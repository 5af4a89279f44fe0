"""The functions of the torch dialect, by subject: a file has the name of its family of ops."""
