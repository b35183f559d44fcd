"""Groups that were left alone on the real broker, and groups that begin that old."""

from __future__ import annotations

import pytest

from groupsim.sim.units import S
from tests.oracle.long_stable import begun_aged, left_alone
from tests.oracle.study import played, recordings

NAMES = ("aged-even", "aged-idle", "aged-uneven")


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_tells_how_old_a_group_was_and_what_ended_its_rest(name: str) -> None:
    for recording in recordings(name):
        rests = list(left_alone(recording.facts))
        assert [(round(one.age_us / 60 / S), one.members, one.is_join) for one in rests] == [
            (1, 4, True), (1, 5, False), (15, 4, False)
        ]  # fmt: skip
        assert all(0 < one.apart_us < 1.6 * S for one in rests)


@pytest.mark.parametrize("name", NAMES)
def test_the_next_join_phase_takes_a_heartbeat_interval_and_a_batch_at_most_as_on_the_broker(name: str) -> None:
    """With a backlog at 0 members at 90 % load keep all others waiting for 5 to 9 s."""
    for recording in recordings(name):
        for rest in left_alone(recording.facts):
            assert max(rest.join_us, begun_aged(played(name), rest, 1, is_varied=False).join_us) < 3.5 * S


def test_heartbeats_are_as_far_apart_as_on_the_broker_where_loads_differ() -> None:
    """After a quarter of an hour: 0.4 to 1.5 s, recorded three times."""
    rests = [list(left_alone(one.facts))[-1] for one in recordings("aged-uneven")]
    told = [begun_aged(played("aged-uneven"), one, 1, is_varied=False).apart_us for one in rests]
    recorded = [one.apart_us for one in rests]
    assert min(recorded) < min(told) <= max(told) < max(recorded)
