"""How a request is refused: whatever it has changed by then is undone, and its session is not renewed."""

from __future__ import annotations

from groupsim.sim.protocol.messages import Error


class Refused(Exception):
    """The coordinator throws (``ApiException``); never leaves the group machine.

    Parameters
    ----------
    error : Error
    message : str
    """

    def __init__(self, error: Error, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
