"""Tables of runs and sweeps, read and checked, and what their columns mean."""
