"""Everything groupsim raises on purpose. Kafka's error codes are values in replies, never exceptions."""

from __future__ import annotations

from collections.abc import Mapping


class SimError(Exception):
    """Base of all errors of the simulator."""


class ConfigError(SimError, ValueError):
    """The user asked for something impossible."""


class CannotBeginAged(ConfigError):
    """Groups that are not what a group that begins aged is at 0.

    Parameters
    ----------
    groups : mapping of str to str
        Why not, by name.
    """

    def __init__(self, groups: Mapping[str, str]) -> None:
        super().__init__(dict(groups))
        self.groups = dict(groups)

    def __str__(self) -> str:
        return "; ".join(f"group {name} cannot begin aged: {reason}" for name, reason in self.groups.items())


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
