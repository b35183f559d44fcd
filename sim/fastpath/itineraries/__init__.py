"""Closed forms of what members go through together: a file for each protocol and phase."""
