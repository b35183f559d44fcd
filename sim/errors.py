"""Everything groupsim raises on purpose. Kafka's error codes are values in replies, never exceptions."""

from __future__ import annotations


class SimError(Exception):
    """Base of all errors of the simulator."""


class ConfigError(SimError, ValueError):
    """The user asked for something impossible."""


class ScenarioError(SimError):
    """A timeline that cannot be carried out."""


class ProtocolMisuse(SimError):
    """The shell gave a machine an input that is illegal in its state: a bug of groupsim, never of the user."""


class InvariantViolation(SimError, AssertionError):
    """An invariant does not hold: carries time, entity and the line that replays it."""


class EventBudgetExceeded(SimError):
    """A run needed more kernel events than its budget allows."""


class RecordBudgetExceeded(SimError):
    """A run would have to keep more records than fit."""


class MemoryBudgetExceeded(SimError):
    """A run needs more memory than there is."""
