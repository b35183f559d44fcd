"""Sweeps on Spark: sessions, the code that travels, chunks on executors."""
