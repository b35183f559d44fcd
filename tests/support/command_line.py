"""The command line in this process, with a stand-in for the simulator."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from groupsim.scenarios.cli import main

SCENARIO = """
version: 1
question: What becomes of a small group?
horizon: 5min
topics: {orders: {partitions: 4, rate: {per_partition: 10}}}
groups:
  billing:
    topics: [orders]
    config: {partition.assignment.strategy: [range]}
    members: {count: 2}
"""


@dataclass(frozen=True)
class Told:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """What was said on standard error, a message a line, however wide it is."""
        return self.err.replace("\n  ", " ")

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    """``groupsim`` with arguments."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: object) -> Told:
        self.monkeypatch.setattr(sys, "argv", ["groupsim", *map(str, arguments)])
        with pytest.raises(SystemExit) as leaving:
            main()
        printed = self.capsys.readouterr()
        return Told(int(leaving.value.code or 0), printed.out, printed.err)
