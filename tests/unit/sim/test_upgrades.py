"""Whether the first member of the consumer protocol upgrades an established classic group, by family of clients."""

from __future__ import annotations

import pytest

from groupsim.scenarios.kafka.client_profiles import PROFILES
from groupsim.sim.config import ClientConfig, ClientFamily
from groupsim.sim.model import Override, Scale, Scenario
from groupsim.sim.units import S
from tests.support.fidelity import differences
from tests.unit.sim.scenes import entry, everybody, group, rows, scene, simulate


def upgraded_at(joins_us: int, family: ClientFamily, strategy: str) -> Scenario:
    """Two classic members, a third after 20 s, and a fourth one, of the consumer protocol, at ``joins_us``."""
    behaviour = PROFILES[family]["2.15" if family == "librdkafka" else "4.4"].behaviour
    classic = ClientConfig(partition_assignment_strategy=(strategy,), behaviour=behaviour)
    consumer = ClientConfig(group_protocol="consumer", behaviour=behaviour)
    members = group(count=2, client=classic, overrides=(Override(members=frozenset([3]), client=consumer),))
    timeline = tuple(entry(at_us, Scale(target=everybody(), to=to)) for at_us, to in ((20 * S, 3), (joins_us, 4)))
    return scene(members, timeline=timeline)


@pytest.mark.parametrize(
    ("family", "strategy", "is_upgraded"),
    [
        ("java", "sticky", True),
        ("java", "cooperative-sticky", True),
        ("librdkafka", "range", True),
        ("librdkafka", "cooperative-sticky", False),
    ],
)
def test_only_assignments_that_carry_user_data_keep_a_group_classic(
    family: ClientFamily, strategy: str, is_upgraded: bool
) -> None:
    """Sticky's memory is in subscriptions; a leader of librdkafka repeats it in assignments."""
    scenario = upgraded_at(50 * S, family, strategy)
    newcomer = rows(simulate(scenario), "ownership", member="g/3")
    assert bool(newcomer) is is_upgraded
    assert not differences(scenario, 1)
