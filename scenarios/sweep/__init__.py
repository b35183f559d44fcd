"""Sweeps: the file, its variants and points, chunks of runs, and the folder that they are committed to."""
