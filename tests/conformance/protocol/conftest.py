"""The tap on the wire is there for every test of the folder."""

from tests.conformance.protocol.wire import wire

__all__ = ["wire"]
