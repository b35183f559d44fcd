"""Suites, baselines and tolerances: what `groupsim check` holds a scenario to."""
