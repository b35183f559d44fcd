"""Variants against each other: pairs of runs, tests, and what may be concluded."""
