"""Loading of samples in batches, here or in worker processes; shared by the dialects."""
