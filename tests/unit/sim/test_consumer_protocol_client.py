"""Clients of the consumer protocol in a run: the steps of the application take a pass through poll() each.

One way takes 1 ms, an answer 0.3 ms, the group's log 1 ms, a connection 1.5 ms, a pass through poll() 1 ms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim.config import ClientConfig
from groupsim.sim.model import ZERO, Processing, Restart, Scale
from groupsim.sim.units import MS, S
from tests.support.scenarios import TIMING
from tests.unit.sim.scenes import entry, everybody, group, lasting, member, rows, scene, simulate

CONSUMER = ClientConfig(group_protocol="consumer", auto_offset_reset="earliest")


def polling(timeout_ms: int) -> Processing:
    """An application that does nothing with its records."""
    return Processing(per_record=ZERO, poll_timeout_us=timeout_ms * MS)


def first_reads(result: Any, member_name: str) -> list[int]:
    """When a member began to read, each time once, microseconds."""
    return sorted({row["from_us"] for row in rows(result, "ownership", member=member_name)})


@pytest.mark.parametrize(("timeout_ms", "read_us"), [(10, 39_900), (100, 309_900), (1_000, 309_900)])
def test_a_first_member_reads_after_three_passes(timeout_ms: int, read_us: int) -> None:
    """Begin, take over, ask for positions; without a committed offset the fetch follows by itself.

    A pass lasts min(poll time-out, retry.backoff.ms) and its own millisecond; then 6.9 ms of round trips.
    """
    assert first_reads(simulate(scene(group(client=CONSUMER, processing=polling(timeout_ms)))), "g/0") == [read_us]


@pytest.mark.parametrize(("timeout_ms", "pass_us"), [(10, 11_000), (100, 101_000), (1_000, 101_000)])
def test_partitions_that_move_to_a_newcomer_are_read_five_passes_after_its_heartbeat(
    timeout_ms: int, pass_us: int
) -> None:
    """Begin and take over, committed offsets, connect, confirm, fetch (a real 4.4 client: 42/44/74, 171/302/403 ms).

    The auto-commit is due with the heartbeat, so that the wait of the first pass is over at once.
    """
    start_us = 20 * S
    timeline = (entry(start_us, Scale(target=everybody(), to=3)),)
    sc = scene(group(count=2, client=CONSUMER, processing=polling(timeout_ms)), timeline=timeline)
    (read_us,) = first_reads(simulate(sc), "g/2")
    acknowledged_us = 2 * pass_us
    told_us = acknowledged_us + 5 * S + 2_300  # its third heartbeat, whose answer waits for the log
    passes = (told_us + 1_000) // pass_us + 5
    assert read_us - start_us == passes * pass_us + 2_300


def test_a_pass_while_the_first_heartbeat_is_under_way_does_not_wait() -> None:
    """It takes 150 ms to connect: the pass after 101 ms waits for nothing, and the next is early enough."""
    alone = scene(group(client=CONSUMER, processing=polling(100)))
    slow = replace(alone, cluster=replace(alone.cluster, timing=replace(TIMING, connect=lasting(150 * MS))))
    assert first_reads(simulate(slow), "g/0") == first_reads(simulate(alone), "g/0")


def newcomer_read_us(**config: Any) -> int:
    """When a third member reads what was moved to it, microseconds."""
    client = replace(CONSUMER, **config)
    timeline = (entry(20 * S, Scale(target=everybody(), to=3)),)
    return first_reads(
        simulate(scene(group(count=2, client=client, processing=polling(100)), timeline=timeline)), "g/2"
    )[0]


def test_whoever_has_refreshed_its_metadata_is_connected_to_the_leader_already() -> None:
    assert newcomer_read_us() - newcomer_read_us(metadata_max_age_us=3 * S) == 101_000


@pytest.mark.parametrize(("static", "epochs"), [(False, 2), (True, 0)])
def test_a_restart_is_another_member_and_only_an_instance_survives_it(static: bool, epochs: int) -> None:
    """A dynamic member leaves and joins as somebody else; a static one leaves for a while and takes its place again."""
    restart = Restart(target=member(0), stop="close", down=lasting(3 * S))
    members = group(count=2, static=static, client=CONSUMER)
    result = simulate(scene(members, timeline=(entry(20 * S, restart),)))
    ids = [row["member_id"] for row in rows(result, "members", member="g/0")]
    assert len(set(ids)) == len(ids) == 2
    assert sum(row["generations"] for row in rows(result, "rebalances") if row["start_us"] >= 20 * S) == epochs
