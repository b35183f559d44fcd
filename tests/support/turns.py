"""Loops of tests that must come to an end: a bug that lets nothing move on fails a test instead of hanging it."""

from __future__ import annotations


class Turns:
    """Counts the turns of a loop.

    Parameters
    ----------
    most : int
        More than any of the tests needs.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._left = most

    def take(self) -> None:
        """One more.

        Raises
        ------
        AssertionError
            There have been too many.
        """
        self._left -= 1
        assert self._left > 0, "it never comes to an end"
