"""What transactions do not give a reader, though it reads committed records only (``KafkaConsumer``, Kafka 4.4).

Atomic is the writing: all partitions of a transaction are decided alike. Who reads may still see a part of it.
"""

from __future__ import annotations

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Kind, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import InitProducerId
from tests.unit.sim.protocol.transaction_scenes import T0, T1, TransactionScene


def committed(*, both: bool = False) -> TransactionScene:
    """A transaction of four records in T0 (offsets 0 to 3), and of one in T1; its marker is at 4."""
    scene = TransactionScene()
    mine = scene.init()
    scene.send("X", mine.producer_id, 0, 0, 4)
    if both:
        scene.send("X", mine.producer_id, 0, 0, 1, to=T1)
    scene.end("X", mine.producer_id, 0, commit=True)
    return scene


def seen(log: PartitionLog, start: int = 0) -> list[int]:
    return log.read(start, is_committed=True)[0]


def test_compaction_drops_records_of_a_transaction() -> None:
    """The first two records have the keys of the last two; the transaction stays committed, and is not whole."""
    log = committed().logs[T0]
    assert seen(log) == [0, 1, 2, 3]
    log.clean(lambda offset: offset in (0, 1))
    assert (seen(log), log.end, log.last_stable_offset) == ([2, 3], 5, 5)
    assert [one.kind for one in log.entries] == [Kind.DATA, Kind.DATA, Kind.COMMIT]


def test_compaction_stops_at_an_open_transaction_and_drops_what_was_aborted() -> None:
    """``cleanableOffsets``: up to the last stable offset, so nothing undecided is lost."""
    scene = TransactionScene()
    mine, other, log = scene.init(), scene.init("Y"), scene.logs[T0]
    scene.send("X", mine.producer_id, 0, 0, 2)
    scene.end("X", mine.producer_id, 0, commit=False)
    scene.send("Y", other.producer_id, 0, 0, 2)
    log.clean(lambda offset: offset in (3, 4))
    assert log.read(0, is_committed=False)[0] == [3, 4]
    scene.end("Y", other.producer_id, 0, commit=True)
    assert seen(log) == [3, 4]


def test_a_retry_is_recognised_though_its_batch_is_compacted_away() -> None:
    """``Cleaner``: producer state is not of the records; a sequence that was written stays written."""
    scene = TransactionScene()
    mine, log = scene.init(), scene.logs[T0]
    scene.send("X", mine.producer_id, 0, 0, 2)
    log.clean(lambda _: True)
    again = scene.send("X", mine.producer_id, 0, 0, 2)
    assert (again.error, again.offset, log.end) == (Error.NONE, 0, 2)


def test_segments_that_are_deleted_leave_a_part_of_a_transaction() -> None:
    """Retention goes by segments and knows no transactions (``UnifiedLog.deleteOldSegments``)."""
    log = committed().logs[T0]
    log.delete_before(3)
    assert (log.start, seen(log)) == (3, [3])
    log.delete_before(99)
    assert (log.start, seen(log)) == (log.high_watermark, [])


def test_deletion_does_not_decide_what_is_open() -> None:
    """What is left of it is stable when it ends, and not before."""
    scene = TransactionScene()
    mine, log = scene.init(), scene.logs[T0]
    scene.send("X", mine.producer_id, 0, 0, 4)
    log.delete_before(2)
    assert (log.start, log.last_stable_offset, seen(log)) == (2, 2, [])
    scene.end("X", mine.producer_id, 0, commit=True)
    assert seen(log) == [2, 3]


def test_seek_skips_a_part_of_a_transaction() -> None:
    """``KafkaConsumer.seek``: nothing tells the reader that there was more."""
    log = committed().logs[T0]
    assert seen(log, 2) == [2, 3]
    assert seen(log, 4) == []
    assert log.read(2, is_committed=True)[1] == 5


def test_a_reader_of_some_partitions_sees_some_of_the_transaction() -> None:
    """The records in the other partition are somebody else's."""
    scene = committed(both=True)
    assert (seen(scene.logs[T0]), seen(scene.logs[T1])) == ([0, 1, 2, 3], [0])


def test_partitions_of_one_transaction_become_readable_one_after_the_other() -> None:
    """Each leader writes its own marker: a reader of both may see one part before the other."""
    scene = TransactionScene()
    scene.holds_markers = True
    mine = scene.init()
    for to in (T0, T1):
        scene.send("X", mine.producer_id, 0, 0, 1, to=to)
    scene.end("X", mine.producer_id, 0, commit=True)
    assert (seen(scene.logs[T0]), seen(scene.logs[T1])) == ([], [])
    scene.mark()
    assert sorted([seen(scene.logs[T0]), seen(scene.logs[T1])]) == [[], [0]]
    scene.mark()
    assert (seen(scene.logs[T0]), seen(scene.logs[T1])) == ([0], [0])


def test_an_application_that_starts_again_has_a_new_producer_id_and_its_resends_are_new_records() -> None:
    """Without a transactional id: idempotence is of one producer session, and ends with it."""
    scene, log = TransactionScene(), PartitionLog()
    first, second = (scene.ask(InitProducerId(None)) for _ in range(2))
    assert first.producer_id != second.producer_id
    offsets = [log.append(0, RecordBatch(1, one.producer_id, one.epoch, 0)).offset for one in (first, first, second)]
    assert offsets == [0, 0, 1]
