"""Programs of several processes, which ``mpiexec`` runs."""
