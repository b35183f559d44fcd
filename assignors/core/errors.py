"""Everything the assignors can refuse, as exceptions with one base."""

from __future__ import annotations


class AssignorError(Exception):
    """An assignor could not be found or could not answer."""


class UnknownAssignor(AssignorError):
    """A name under which no assignor is registered."""


class InvalidSnapshot(AssignorError, ValueError):
    """A group that cannot exist: two members of one id, topics out of order, positions out of range."""


class InvalidAssignment(AssignorError):
    """An answer that breaks what an assignor promised; raised by `assignors.evaluation.conformance`."""


class KafkaAssignorFailure(AssignorError):
    """An input on which Kafka's own assignor throws; the leader's poll() fails and the member rejoins later.

    Attributes
    ----------
    java_class : str
        Fully qualified class of the exception Kafka 4.4 throws.
    java_message : str or None
        Its message.
    """

    def __init__(self, java_class: str, java_message: str | None) -> None:
        super().__init__(f"{java_class}: {java_message}" if java_message else java_class)
        self.java_class = java_class
        self.java_message = java_message


class KafkaAssignorEndless(AssignorError):
    """An input over which Kafka's own assignor never ends; a simulation lets the leader's poll() fail instead."""
