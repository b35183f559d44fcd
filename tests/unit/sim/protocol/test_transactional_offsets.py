"""Offsets that are sent to a transaction, and the rebalance that comes meanwhile: vectors 11 to 14 (Kafka 4.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from groupsim.sim.protocol.messages import Error, OffsetFetch, TxnOffsetCommit
from groupsim.sim.protocol.transactions.messages import TopicPartition
from groupsim.sim.units import S
from tests.support.groups import GroupHarness
from tests.unit.sim.protocol.consumer_groups import Coordination, at
from tests.unit.sim.protocol.transaction_scenes import TransactionScene

OFFSETS: TopicPartition = ("__consumer_offsets", 0)


class OffsetScene(TransactionScene):
    """A classic group of m, then of n, whose offsets partition is one of the transaction's."""

    def __init__(self) -> None:
        super().__init__()
        self.harness = GroupHarness(delay=0).stable("m")
        self.mine = self.init("X")
        self.generation = self.harness.group.generation

    def send_offsets(self, name: str, offset: int, generation: int | None = None) -> Error:
        """AddOffsetsToTxn by the group's broker, and TxnOffsetCommit."""
        h, producer = self.harness, self.mine.producer_id
        assert self.add("X", producer, 0, OFFSETS) is Error.NONE
        told = self.generation if generation is None else generation
        request = TxnOffsetCommit(h.ids[name], None, told, at(0), np.array([offset]), producer)
        answer: Any = h._request(request, ("", object()))
        return answer.error  # type: ignore[no-any-return]

    def mark(self, error: Error | None = None) -> Error:
        markers, partition = self.markers[0]
        if partition == OFFSETS:
            self.harness.offsets.end_transaction(markers.producer_id, is_committed=markers.is_committed)
        return super().mark(error)

    def rebalance(self) -> None:
        """n takes the place of m, who does not know."""
        h = self.harness
        h.join("n")
        h.sleep(11_000)
        h.sync("n", {"n": [0]})
        assert h.members == {"n"}

    def fetch(self) -> tuple[int, bool]:
        """Committed offset of partition 0, and whether it is unstable."""
        answer = self.harness.offsets.fetch(OffsetFetch(at(0)))
        return int(answer.offsets[0]), bool(answer.unstable.size)


def test_11_the_next_owner_waits_for_the_marker_and_repeats_nothing() -> None:
    """``OffsetMetadataManager.fetchOffsets``, ``replayEndTransactionMarker``."""
    scene = OffsetScene()
    assert scene.send_offsets("m", 10) is Error.NONE
    scene.rebalance()
    assert scene.fetch() == (-1, True)
    scene.end("X", scene.mine.producer_id, 0, commit=True)
    assert scene.fetch() == (10, False)


def test_12_who_sends_offsets_too_late_has_to_abort() -> None:
    """``ClassicGroup.validateOffsetCommit``."""
    scene = OffsetScene()
    h = scene.harness
    h.join("n")
    h.join("m")
    h.sync("m", {"m": [0]})
    assert scene.send_offsets("m", 10) is Error.ILLEGAL_GENERATION
    scene = OffsetScene()
    scene.rebalance()
    assert scene.send_offsets("m", 10) is Error.UNKNOWN_MEMBER_ID
    scene.end("X", scene.mine.producer_id, 0, commit=False)
    assert scene.fetch() == (-1, False)


@pytest.mark.parametrize("start", [0.0, 4.5, 8.9])
def test_13_after_a_crash_the_next_owner_waits_for_the_scan(start: float) -> None:
    """``TransactionStateManager.timedOutTransactions``: scans at 9, 19, ... s, transaction.timeout.ms is 60 s."""
    scene = OffsetScene()
    scene.wait_until(start)
    scene.send_offsets("m", 10)
    scene.wait_until(start + 60)
    assert scene.fetch() == (-1, True)
    scene.wait_until(69 - 0.001 if start < 9 else 79 - 0.001)
    assert scene.fetch() == (-1, True)
    scene.wait_until(69)
    assert scene.fetch() == (-1, False)


def test_a_time_out_has_to_be_exceeded() -> None:
    """A scan at the very instant finds nothing; the next one does."""
    scene = OffsetScene()
    scene.wait_until(9)
    scene.send_offsets("m", 10)
    scene.wait_until(69)
    assert scene.fetch() == (-1, True)
    scene.wait_until(79)
    assert scene.fetch() == (-1, False)


@pytest.mark.parametrize(("knows", "refused"), [(True, Error.STALE_MEMBER_EPOCH), (False, Error.ILLEGAL_GENERATION)])
def test_14_an_older_epoch_is_good_for_what_is_still_held(knows: bool, refused: Error) -> None:
    """``ConsumerGroup.createAssignmentEpochValidator`` (4.3), ``OffsetMetadataManager.commitTransactionalOffset``."""
    scene = Coordination(image={"t": 2})
    scene.join("m")
    scene.settle("m")
    before = scene.answers["m"].member_epoch
    scene.join("n")
    for _ in range(3):
        scene.now += S
        scene.beat("m")
        scene.ack("m")
        scene.beat("n")
    kept = scene.owned("m")
    assert scene.answers["m"].member_epoch > before
    assert len(kept) == 1

    def commit(*positions: int) -> Error:
        offsets = np.zeros(len(positions), np.int64)
        request = TxnOffsetCommit("m", None, before, at(*positions), offsets, 5, knows)
        return scene.request(request).error  # type: ignore[no-any-return]

    assert commit(*kept) is Error.NONE
    written = len(scene.records)
    assert commit(0, 1) is refused
    assert len(scene.records) == written


def test_a_transaction_and_a_plain_commit_do_not_block_each_other() -> None:
    """``OffsetMetadataManager.replay``: the later record wins."""
    scene = OffsetScene()
    scene.send_offsets("m", 10)
    assert scene.harness.commit("m") is Error.NONE
    assert scene.fetch() == (7, True)
    scene.end("X", scene.mine.producer_id, 0, commit=True)
    assert scene.fetch() == (7, False)
