"""Why the oracle does not play, or stopped playing: one line for the reader, and the exit code that says which."""

from __future__ import annotations


class OracleError(Exception):
    """Ends the command with its text as the only line; whatever was started has been ended."""

    exit_code = 3


class CannotPlay(OracleError):
    """Something is missing here, or the scenario asks for what cannot be had."""

    exit_code = 2


class WentWrong(OracleError):
    """A broker or a client did not do what it should."""
