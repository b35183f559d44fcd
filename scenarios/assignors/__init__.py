"""Assignors tried out without a clock: trials, explanations, times."""
