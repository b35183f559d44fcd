"""Members of the consumer protocol that start together are balanced after one interval of heartbeats, or after two."""

from __future__ import annotations

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Processing, Start
from groupsim.sim.units import MS, S
from tests.support.scenarios import client, group, rounds, scenario


@pytest.mark.parametrize("fidelity", ["elided", "message"])
@pytest.mark.parametrize(("apart_us", "least_s", "most_s"), [(0, 10, 11), (250 * MS, 5, 6)])
def test_a_cold_start_ends_early_if_the_first_member_beats_first(
    fidelity: str, apart_us: int, least_s: int, most_s: int
) -> None:
    """Recorded with 4.4: 5.4 and 10.3 s; what is freed after the others' next heartbeat waits for the one after it."""
    start = Start(kind="every", value_us=apart_us) if apart_us else Start()
    one = group(
        3, client=client(group_protocol="consumer"), start=start, processing=Processing(poll_timeout_us=100 * MS)
    )
    result = simulate(scenario(one, horizon_us=20 * S), fidelity=fidelity)  # type: ignore[arg-type]
    first, last = rounds(result)[0], rounds(result)[-1]
    assert least_s * S < last.end_us - first.start_us < most_s * S
