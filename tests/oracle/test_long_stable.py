"""Groups that were left alone on the real broker, and groups that begin that old."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from statistics import fmean, stdev

import pytest

from groupsim.sim.units import MS, S
from tests.oracle.long_stable import begun_aged, left_alone
from tests.oracle.study import played, recordings
from tests.oracle.trace import Fact

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


STRETCH_US = 10 * S


def late(facts: Sequence[Fact], api: str, interval_us: int) -> Iterator[tuple[int, int]]:
    """In which stretch each request of a member was sent, and by how much more than the interval after its last one."""
    sent = defaultdict[str, list[int]](list)
    for fact in facts:
        if fact["what"] == "request" and fact["api"] == api and 150 * S < fact["at_us"] < 1_047 * S:
            sent[fact["member"]].append(fact["at_us"])
    for times in sent.values():
        yield from ((time // STRETCH_US, time - before - interval_us) for before, time in pairwise(times))


def test_heartbeats_of_even_members_are_late_by_the_rule_where_nothing_has_piled_up() -> None:
    """Commits, sent at the next poll, say when it has. On the average of a recording they are 25 ms late."""
    groups = [one.facts for one in recordings("aged-even")]
    commits = list(chain.from_iterable(late(facts, "OffsetCommit", 5 * S) for facts in groups))
    latest = {stretch: max(us for at, us in commits if at == stretch) for stretch, _ in commits}
    beats = list(chain.from_iterable(late(facts, "Heartbeat", 3 * S) for facts in groups))
    quiet = [us for at, us in beats if latest[at] <= 60 * MS]
    piled_up = [us for at, us in beats if latest[at] > S]
    assert min(len(quiet), len(piled_up)) > 400
    assert 5 * MS < fmean(quiet) < 8 * MS, "the model's are 6 ms late where records vary by 4 %"
    assert stdev(quiet) < 13 * MS
    assert fmean(piled_up) > 4 * fmean(quiet)
