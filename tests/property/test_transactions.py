"""Transactions under whatever clients, appends, markers, time and brokers do.

Replay equals living; epochs of a producer id never fall; only transitions of the table happen; what readers of
``read_committed`` see is what was committed, and nothing that is still open hides behind the last stable offset.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Kind
from groupsim.sim.protocol.transactions.metadata import TransactionMetadata
from groupsim.sim.protocol.transactions.states import IDLE, PREVIOUS
from groupsim.sim.units import S
from tests.unit.sim.protocol.transaction_scenes import T0, T1, TransactionScene

pytestmark = pytest.mark.property

NAMES = ("X", "Y")
APPENDS = (Error.NONE, Error.NONE, Error.NONE, Error.NOT_ENOUGH_REPLICAS, Error.NOT_LEADER_OR_FOLLOWER)


class Client:
    """One incarnation of a producer: what it believes, and what became of its transactions as far as it knows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.producer_id = -1
        self.epoch = -1
        self.sequences = {T0: 0, T1: 0}
        self.sent: list[tuple[Any, int]] = []


class Transactions(RuleBasedStateMachine):
    """Two transactional ids, two clients of each, two partitions."""

    @initialize(version=st.sampled_from([1, 2]))
    def begin(self, version: int) -> None:
        self.scene = TransactionScene(version)
        self.clients = [Client(name) for name in NAMES for _ in range(2)]
        self.highest: dict[int, int] = {}
        self.promised: set[tuple[Any, int]] = set()
        """Records whose commit was answered NONE: readers see them sooner or later."""
        self.epochs = 0

    which = st.integers(0, 3)

    @rule(which=which)
    def init(self, which: int) -> None:
        client = self.clients[which]
        answer = self.scene.init(client.name)
        if answer is not None and answer.error is Error.NONE:
            client.producer_id, client.epoch = answer.producer_id, answer.epoch
            client.sequences, client.sent = {T0: 0, T1: 0}, []

    @rule(which=which, to=st.sampled_from([T0, T1]), records=st.integers(1, 3))
    def send(self, which: int, to: Any, records: int) -> None:
        client = self.clients[which]
        if client.epoch < 0 or self.scene.is_slow:
            return
        answer = self.scene.send(client.name, client.producer_id, client.epoch, client.sequences[to], records, to)
        if answer.error is Error.NONE:
            client.sequences[to] += records
            client.sent += [(to, answer.offset + one) for one in range(records)]

    @rule(which=which, commit=st.booleans())
    def end(self, which: int, commit: bool) -> None:
        client = self.clients[which]
        if client.epoch < 0 or not client.sent:
            return
        answer = self.scene.end(client.name, client.producer_id, client.epoch, commit=commit)
        if answer is not None and answer.error is Error.NONE:
            if commit:
                self.promised |= {*client.sent}
            client.sent = []
            if answer.epoch != client.epoch:
                client.sequences = {T0: 0, T1: 0}
            client.producer_id, client.epoch = answer.producer_id, answer.epoch

    @rule(slow=st.booleans(), holds=st.booleans())
    def change(self, slow: bool, holds: bool) -> None:
        self.scene.is_slow, self.scene.holds_markers = slow, holds
        self.scene.go_on()

    @precondition(lambda self: self.scene.unlogged)
    @rule(error=st.sampled_from(APPENDS))
    def append(self, error: Error) -> None:
        self.scene.append(error)

    @precondition(lambda self: self.scene.markers)
    @rule(error=st.sampled_from([None, None, Error.NOT_LEADER_OR_FOLLOWER]))
    def mark(self, error: Error | None) -> None:
        self.scene.mark(error)

    @rule(seconds=st.sampled_from([1, 15, 70]))
    def wait(self, seconds: int) -> None:
        self.scene.wait_until(self.scene.now / S + seconds)

    @rule()
    def move(self) -> None:
        """The coordinator's broker dies; what was not logged is lost, and whoever waits hears nothing."""
        self.epochs += 1
        self.scene.reload(self.epochs)

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def replay_equals_living(self) -> None:
        living = self.scene.coordinator.transactions
        logged = {record.transactional_id: record.value for record in self.scene.written}
        for name, value in logged.items():
            if value is not None and not (self.scene.version == 1 and living[name].has_failed_fence):
                pending = living[name].pending is not None and self.scene.version == 1
                assert pending or living[name].metadata == value

    @invariant()
    def only_transitions_of_the_table_happen(self) -> None:
        last: dict[str, TransactionMetadata | None] = {}
        for record in self.scene.written:
            before, after = last.get(record.transactional_id), record.value
            if before is not None and after is not None:
                assert before.state in PREVIOUS[after.state]
            last[record.transactional_id] = after

    @invariant()
    def epochs_never_fall(self) -> None:
        for one in self.scene.coordinator.transactions.values():
            current = one.metadata
            assert current.epoch >= self.highest.get(current.producer_id, -1)
            self.highest[current.producer_id] = current.epoch

    @invariant()
    def nothing_undecided_is_read_and_what_is_read_stays(self) -> None:
        for log in self.scene.logs.values():
            stable = log.last_stable_offset
            assert stable <= log.high_watermark <= log.end
            marked = [entry for entry in log.entries if entry.kind is not Kind.DATA]
            for entry in log.entries:
                if entry.kind is Kind.DATA and entry.offset < stable:
                    assert any(m.offset > entry.offset and m.producer_id == entry.producer_id for m in marked)

    @invariant()
    def a_marker_ends_what_the_transaction_wrote(self) -> None:
        """No record of one transaction shares the fate of another: committed and aborted are told apart."""
        for where, log in self.scene.logs.items():
            if log.last_stable_offset == log.end:
                shown = {(where, one) for one in log.read(0, is_committed=True)[0]}
                assert {one for one in self.promised if one[0] == where} <= shown

    def teardown(self) -> None:
        """Once everything is left alone, everything is decided."""
        if not hasattr(self, "scene"):
            return
        self.scene.is_slow = self.scene.holds_markers = False
        self.scene.go_on()
        self.scene.wait_until(self.scene.now / S + 1000)
        for one in self.scene.coordinator.transactions.values():
            assert one.metadata.state in IDLE
        for where, log in self.scene.logs.items():
            assert log.last_stable_offset == log.end
            shown = {(where, one) for one in log.read(0, is_committed=True)[0]}
            assert {one for one in self.promised if one[0] == where} <= shown


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
