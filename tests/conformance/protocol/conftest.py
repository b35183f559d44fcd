"""The tap on the wire, for the whole folder."""

from __future__ import annotations

from tests.conformance.protocol.wire import wire

__all__ = ["wire"]
