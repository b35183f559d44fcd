"""max.poll.interval.ms counts from the last pass through poll()'s own loop, which each answer to a fetch begins."""

from __future__ import annotations

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import ClientBehaviour, GroupProtocol
from groupsim.sim.model import Processing
from groupsim.sim.units import MINUTE, MS, S
from tests.support.scenarios import client, group, hang, rounds, scenario


@pytest.mark.parametrize("fidelity", ["elided", "message"])
@pytest.mark.parametrize(
    ("timeout_us", "interval_us", "pass_us"), [(5 * S, 10 * S, 500 * MS), (100 * MS, 5 * S, 100 * MS)]
)
@pytest.mark.parametrize("at_us", [24_000_123, 27 * S, 28_490_000])
def test_a_hang_ends_in_a_leave_one_interval_after_the_last_pass(
    fidelity: str, timeout_us: int, interval_us: int, pass_us: int, at_us: int
) -> None:
    """Idle topics; recorded with 4.4: poll(5 s) and 10 s leave after 9.5 to 10 s, poll(100 ms) and 5 s after 4.9."""
    one = group(3, client=client(max_poll_interval_us=interval_us), processing=Processing(poll_timeout_us=timeout_us))
    world = scenario(one, hang(at_us, 30 * S, 0), horizon_us=MINUTE)
    result = simulate(world, fidelity=fidelity, check=True)  # type: ignore[arg-type]
    left = next(one for one in rounds(result) if one.trigger == "leave")
    assert at_us + interval_us - pass_us <= left.start_us <= at_us + interval_us + 2 * MS


@pytest.mark.parametrize("at_us", [24_000_123, 27 * S, 28_490_000])
def test_librdkafka_is_up_to_half_a_second_late(at_us: int) -> None:
    """rd_kafka_cgrp_max_poll_interval_check_tmr_cb: it looks every 500 ms; Java's heartbeat thread wakes every 100."""
    java, look = (_left("classic", at_us, looks=looks) for looks in (False, True))
    assert java + MS <= look <= java + 501 * MS


@pytest.mark.parametrize("at_us", [24_000_123, 27 * S, 28_490_000])
def test_librdkafka_does_not_wait_for_a_heartbeat(at_us: int) -> None:
    """The same look in the consumer protocol, where Java waits up to five seconds for something that wakes it."""
    java, look = (_left("consumer", at_us, looks=looks) for looks in (False, True))
    expiry_us = at_us + 5 * S
    assert expiry_us - 100 * MS < look <= expiry_us + 502 * MS
    assert java > look


def _left(protocol: GroupProtocol, at_us: int, *, looks: bool) -> int:
    """When the first of three left the group, microseconds; equal in both fidelities."""
    behaviour = ClientBehaviour(looks_at_polls=looks)
    config = client(group_protocol=protocol, max_poll_interval_us=5 * S, behaviour=behaviour)
    one = group(3, client=config, processing=Processing(poll_timeout_us=100 * MS))
    world = scenario(one, hang(at_us, 30 * S, 0), horizon_us=MINUTE)
    elided, message = (simulate(world, fidelity=it, check=True) for it in ("elided", "message"))
    assert elided.manifest["digests"] == message.manifest["digests"]
    return next(one.start_us for one in rounds(elided) if one.start_us > at_us)
