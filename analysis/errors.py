"""What the analysis refuses, and why."""

from __future__ import annotations


class ResultError(Exception):
    """Base of all errors of the analysis: the message names the file or table and what is allowed."""


class MissingTable(ResultError):
    """A table that is needed is not there."""


class SchemaMismatch(ResultError):
    """A table has not the columns, or a column not the dtype, that ``sim.tables`` declares."""


class NotPairable(ResultError):
    """Two samples do not consist of the same runs under two variants."""
