"""A protocol is a machine behind one interface: this one lets everybody in and knows no more than names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.sim.config import ClientConfig, CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup, GroupRequest
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.classic.records import GroupRecord
from groupsim.sim.protocol.effects import Request
from groupsim.sim.protocol.facts import MemberAdmitted
from groupsim.sim.protocol.interface import GroupDescription, GroupMachine, MemberMachine, Outcome, Reply, Waiter
from groupsim.sim.units import FOREVER


class OpenDoor:
    """A request is a name, its answer the number of names so far; a record is a name."""

    deadline = FOREVER
    generation = 0
    is_stable = True
    leader = None

    def __init__(self) -> None:
        self._names: list[str] = []

    @property
    def size(self) -> int:
        return len(self._names)

    def on_request(self, now: int, request: str, waiter: Waiter) -> Outcome:
        self.replay(request)
        return Outcome([Reply(waiter, len(self._names))], [MemberAdmitted(request, request)])

    def _nothing(self, *_: object) -> Outcome:
        return Outcome()

    on_deadline = on_appended = on_metadata = on_config = on_task_done = on_loaded = on_unloaded = _nothing

    def replay(self, record: str) -> None:
        self._names.append(record)

    def describe(self) -> GroupDescription:
        return GroupDescription("Open", len(self._names))


def groups() -> tuple[GroupMachine[str, str], GroupMachine[GroupRequest, GroupRecord]]:
    """What mypy accepts as group machines."""
    return OpenDoor(), ClassicGroup("g", CoordinatorConfig())


def member() -> MemberMachine[Request, Any]:
    """What mypy accepts as a member machine."""
    return ClassicMember(
        group_id="g", name="m", config=ClientConfig(), instance_id=None, assignors=(), cooperative=False,
        jitter=lambda number: 1_000,
    )  # fmt: skip


def test_a_stub_of_a_protocol_is_hosted_like_any_other() -> None:
    stub, _ = groups()
    outcome = stub.on_request(0, "a", "waiter")
    assert [(one.waiter, one.response) for one in outcome.replies] == [("waiter", 1)]
    assert outcome.facts == [MemberAdmitted("a", "a")]
    assert stub.describe().generation == 1


@pytest.mark.slow
def test_the_machines_are_accepted_as_the_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make lint` finds too. A copy is checked, since a checkout's folder may have any name."""
    api = pytest.importorskip("mypy.api", reason="needs mypy (make lint)")
    root = Path(__file__).parents[4]
    copy = tmp_path / "stub.py"
    copy.write_text(Path(__file__).read_text())
    (tmp_path / "groupsim").symlink_to(root)
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    found, errors, status = api.run(["--strict", "--follow-imports=silent", "--config-file=", str(copy)])
    assert status == 0, found + errors
