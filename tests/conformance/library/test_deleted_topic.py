"""A topic deleted under its readers: deleted-topic.

Java's classic client repeats the commit before its rejoin while a topic is unknown, for max.poll.interval.ms at most
(``ConsumerCoordinator.onJoinPrepare``, ``maybeAutoCommitOffsetsAsync``, Kafka 4.4; sim/decisions/0028).
"""

from __future__ import annotations

import pandas as pd
import pytest

from groupsim.sim import Result
from groupsim.sim.units import S
from tests.conformance.library.runs import STEP_S, TRIPS_S, rebalances, runs, summaries

DELETED_S = 300.0
MAX_POLL_S = 300.0
SEEDS = (1, 2)
"""A run takes seconds, and comes out alike whatever is drawn."""


def _results() -> list[Result]:
    return runs("deleted-topic", seeds=SEEDS)


def _stopped(result: Result, group: str, longest_s: int = 60) -> pd.DataFrame:
    """Partitions of ``orders`` that the group did not read for longer than that."""
    table = result.tables["unavailability"]
    table = table[(table["group"] == group) & (table["topic"] == "orders")]
    table = table[table["to_us"] - table["from_us"] > longest_s * S]
    return table.assign(from_s=table["from_us"] / S, to_s=table["to_us"] / S)


def test_the_leader_of_eager_members_stands_still_first_and_then_everybody() -> None:
    slack_s = STEP_S + TRIPS_S
    for result in _results():
        table = _stopped(result, "eager")
        first = table[table["from_s"] < DELETED_S + 1]
        assert 0 < len(first) < 6, "what the leader reads"
        assert first["to_s"].between(DELETED_S + MAX_POLL_S, DELETED_S + MAX_POLL_S + slack_s).all()
        rest = table.drop(first.index)
        assert set(rest["partition"]) == set(range(6))
        assert rest["to_s"].between(DELETED_S + 2 * MAX_POLL_S, DELETED_S + 2 * MAX_POLL_S + slack_s).all()
    gaps = summaries(_results(), "eager")["unavailable_gap_s_max"]
    assert gaps.between(2 * MAX_POLL_S, 2 * MAX_POLL_S + slack_s).all()


def test_cooperative_members_read_on_and_all_but_the_leader_are_thrown_out() -> None:
    for result in _results():
        assert _stopped(result, "cooperative").empty
        found = rebalances(result, DELETED_S)
        longest = found[found["group"] == "cooperative"].sort_values("length_s").iloc[-1]
        assert abs(longest["length_s"] - MAX_POLL_S) < STEP_S + TRIPS_S
        assert longest["members_kicked"] == 2


@pytest.mark.parametrize("group", ["consumer", "librdkafka"])
def test_others_are_done_within_seconds(group: str) -> None:
    found = summaries(_results(), group)
    assert (found["unavailable_gap_s_max"] < 6).all()
    assert (found["evictions"] == 0).all()


def test_members_that_no_longer_subscribe_to_it_do_not_notice() -> None:
    deletion = {"id": "deletion", "at": "5min", "delete_topic": {"topic": "old"}}
    entries = [
        {"id": name, "at": "4min", "subscribe": {"target": name, "topics": ["orders"]}}
        for name in ("eager", "cooperative")
    ]
    for result in runs("deleted-topic", {"timeline": [*entries, deletion]}, seeds=SEEDS):
        for group in ("eager", "cooperative"):
            assert _stopped(result, group, longest_s=6).empty
            assert rebalances(result, DELETED_S)["group"].ne(group).all()
