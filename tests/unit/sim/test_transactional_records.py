"""``data: exact`` beside ``produces``: what becomes of each input record, and of what was made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from groupsim.sim import Result
from groupsim.sim.client.producing.transaction_loop import TransactionLoop
from groupsim.sim.model import CrashAt, Entry, Kill, Rate, Stuck
from groupsim.sim.units import MS, S
from tests.unit.sim.chained_scenes import COMMITTED, chain, reader
from tests.unit.sim.scenes import CLIENT, FIDELITIES, delivered, entry, lasting, member
from tests.unit.sim.transactional_scenes import JITTER, WORK, Readers, output, played, total, transform

POINTS = ("after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit")
HORIZON_S, COUNTED_S = 34, 28
"""Of what was produced by then everything is decided: a killed member is missed after 10 s."""
LEVELS = {"read_committed": True, "read_uncommitted": False}
SESSION = replace(CLIENT, auto_offset_reset="earliest", session_timeout_us=6 * S, enable_auto_commit=False)


def exact(*timeline: Entry, **more: Any) -> Any:
    """Two members, four partitions of ten records a second."""
    more = {"horizon_s": HORIZON_S, "client": SESSION, "cluster": JITTER, **more}
    return replace(transform(*timeline, **more), data="exact", measure_from_us=0, measure_to_us=None)


def fates(result: Result, group: str = "g") -> pd.DataFrame:
    """Of each record of a group: how often it was processed, when it was committed, how often readers get it."""
    records = result.tables["records"]
    columns = ("delivery", "committed_us", "produced_us", "processed_us", *LEVELS)
    mine = records[records["group"] == group]
    return mine.groupby(["partition", "offset"])[[*columns]].max()


def counted(found: pd.DataFrame, level: str) -> dict[tuple[int, int], int]:
    """(Partition, offset) -> how often readers of a level get what was made of it."""
    return {place: times for place, times in found[level].items() if times}


@pytest.mark.parametrize("point", POINTS)
def test_wherever_a_member_dies_each_input_is_counted_once(point: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the table has of each record what is in the logs of the output."""
    crash = entry(12 * S, CrashAt(target=member(0), point=point, down=lasting(2 * S)))
    readers = Readers(monkeypatch)
    result = played(exact(crash))
    found = fates(result)
    for level, is_committed in LEVELS.items():
        assert counted(found, level) == readers.counts(is_committed=is_committed)
    due = found[found["produced_us"] <= COUNTED_S * S]
    assert (due["read_committed"] == 1).all()
    assert (due["committed_us"] > due["processed_us"]).all()
    assert (found["read_uncommitted"] <= found["delivery"]).all(), "what was made was processed before"
    assert ((found["committed_us"] >= 0) <= (found["read_committed"] == 1)).all()


@pytest.mark.parametrize("point", ["after_send", "before_end_txn"])
def test_what_dies_uncommitted_is_processed_twice_and_counted_once(point: Any) -> None:
    """Who reads uncommitted records gets it twice, as table ``delivery`` says."""
    result = played(exact(entry(12 * S, CrashAt(target=member(0), point=point, down=lasting(2 * S)))))
    found = fates(result)
    again = found[found["read_uncommitted"] > 1]
    assert len(again) == output(result)["read_uncommitted"][0] == total(result, "records_aborted") > 0
    assert (again["delivery"] == 2).all()
    assert (again["read_committed"] == 1).all()
    assert found["read_committed"].sum() == total(result, "records_committed")


@pytest.mark.parametrize("data", ["fluid", "exact"])
def test_without_transactions_what_is_processed_twice_counts_twice(data: Any) -> None:
    """The same kill: at least once. No level is told, since nothing is produced."""
    crash = entry(12 * S + 30 * MS, Kill(target=member(0), down=lasting(2 * S)))
    plain = replace(SESSION, enable_auto_commit=True)
    result = played(
        replace(exact(crash, produces=None, client=plain, processing=replace(WORK, commit="auto")), data=data)
    )
    again = delivered(result)["duplicate", "kill"]
    assert again > 0
    if data == "exact":
        found = fates(result)
        assert (found["delivery"] == 2).sum() == again
        assert (found[found["produced_us"] <= COUNTED_S * S]["delivery"] >= 1).all()
        assert (found[[*LEVELS]] == -1).all(axis=None)


def test_a_record_is_committed_when_the_marker_comes() -> None:
    """Offsets of a transaction are pending before; a batch is committed as a whole."""
    found = fates(played(exact()))
    done = found[found["committed_us"] >= 0]
    assert len(done) > 1_000
    waited = done["committed_us"] - done["processed_us"]
    assert waited.min() > 2 * MS, "the end of a transaction takes some requests"
    assert waited.quantile(0.5) < 500 * MS
    for _, one in done.groupby("committed_us"):
        assert one.groupby("partition").size().max() <= 100


def test_what_is_sent_has_been_processed(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 ms a record: a batch of some ten is handed out partition by partition, also if a later one's is older."""
    scenario = exact(processing=replace(WORK, per_record=lasting(40 * MS)))
    source, *others = scenario.topics
    rate = Rate(per_partition_mrps=((9_000, 11_000, 9_000, 11_000),))
    sends = 0

    def checked(loop: TransactionLoop, to: Mapping[int, int]) -> Any:
        nonlocal sends
        sends += 1
        done = loop._positions(loop._env.now)
        assert all(offset <= done[position] for position, offset in to.items())
        return send(loop, to)

    send = TransactionLoop._send
    monkeypatch.setattr(TransactionLoop, "_send", checked)
    result = played(replace(scenario, topics=(replace(source, rate=rate), *others)))
    assert sends >= 2 * total(result, "committed") > 100, "the first record of each batch, and the rest"


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_what_a_zombie_makes_is_counted_by_nobody_who_reads_committed_records(fidelity: str) -> None:
    """It hangs in the middle of a batch, others go on, and it is refused when it commits."""
    hang = entry(12 * S, Stuck(target=member(0), duration=lasting(9 * S)))
    client = replace(SESSION, max_poll_interval_us=5 * S)
    result = played(exact(hang, client=client), fidelity)
    found = fates(result)
    due = found[found["produced_us"] <= 20 * S]
    assert (due["read_committed"] == 1).all()
    assert (due["delivery"] > 1).sum() >= (due["read_uncommitted"] > 1).sum() > 0


def test_both_groups_of_a_chain_are_followed() -> None:
    """The second reads what the first has committed, aborted records aside, and makes nothing."""
    crash = entry(12 * S, CrashAt(target=member(0), point="before_end_txn", down=lasting(2 * S)))
    scenario = chain(crash, readers=(reader(client=COMMITTED),), horizon_s=HORIZON_S)
    result = played(replace(scenario, data="exact", measure_from_us=0, measure_to_us=None))
    first, second = fates(result), fates(result, "second")
    assert len(second) == first["read_committed"].sum() == 40 * (HORIZON_S - 4)
    assert (second["delivery"] == 1).all()
    assert (second[[*LEVELS]] == -1).all(axis=None)
