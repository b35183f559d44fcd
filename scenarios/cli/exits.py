"""Exit codes, and what is said on the way out."""

from __future__ import annotations

import traceback
from typing import Final

from groupsim.scenarios.cli.output import say, say_error

CHECK_FAILED: Final = 1
WRONG_INPUT: Final = 2
RUN_FAILED: Final = 3
INTERRUPTED: Final = 130
READER_GONE: Final = 141
"""Who read the output left before its end (``groupsim ... | head -1``): what shells say of tools that SIGPIPE ends."""


class RunFailed(Exception):
    """A run ended in an error, which is the cause; the message is the command that repeats it."""


def explain(error: Exception) -> int:
    """Say what went wrong; the exit code for it.

    Wrong input is told in words alone. An error that nobody foresaw comes with its traceback, because it is one of
    groupsim's own.
    """
    from groupsim.analysis.errors import ResultError
    from groupsim.assignors.core.errors import AssignorError
    from groupsim.scenarios.errors import ScenarioFileError
    from groupsim.scenarios.spark.java import NoJava
    from groupsim.scenarios.spark.session import SparkFailed
    from groupsim.sim.errors import ConfigError, SimError

    if isinstance(error, ScenarioFileError):
        say(f"error: {error}")
        return WRONG_INPUT
    if isinstance(error, ConfigError | NoJava | ResultError):
        say_error(f"error: {error}")
        return WRONG_INPUT
    cause = error.__cause__ if isinstance(error, RunFailed) and error.__cause__ else error
    if isinstance(cause, SimError | SparkFailed | AssignorError | OSError):
        say_error(f"error: {type(cause).__name__}: {cause}")
    else:
        say("".join(traceback.format_exception(cause)).rstrip())
    if isinstance(error, RunFailed):
        say(f"replay: {error}")
    return RUN_FAILED
