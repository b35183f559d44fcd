"""Means with intervals, differences of samples, aggregates of runs."""
