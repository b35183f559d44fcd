"""An unclean election of an output that another group reads: what it has read stays read, it goes on behind that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Broker, Entry, Kill, Scenario
from groupsim.sim.units import S
from tests.support.fidelity import differences
from tests.unit.sim.chained_scenes import COMMITTED, UNCOMMITTED, Outputs, chain, of_three, reader
from tests.unit.sim.scenes import delivered, entry, everybody, lasting, rows, simulate, summary
from tests.unit.sim.transactional_scenes import JITTER, played
from tests.unit.sim.unclean_scenes import BEHIND_S, BROKERS, DEAD_S, HORIZON_S, accident, five_brokers, replicas

GONE = 2 * 10 * (DEAD_S - BEHIND_S)
LEVELS = [COMMITTED, UNCOMMITTED]


def made(*timeline: Entry, client: ClientConfig = COMMITTED, **more: Any) -> Scenario:
    """The one behind leads the first partition of the output, which a second group reads."""
    dead = accident(*replicas(five_brokers(), "out", 0))
    cluster = replace(JITTER, brokers=tuple(Broker(id=node) for node in BROKERS))
    found = chain(
        *dead, *timeline, cluster=cluster, horizon_s=HORIZON_S, readers=(reader(client=client),), copies=3, **more
    )
    topics = tuple(
        replace(one, replication_factor=2, unclean_leader_election=True) if one.name == "out" else one
        for one in found.topics
    )
    return replace(found, topics=topics)


def away(from_s: int, to_s: int) -> Entry:
    return entry(from_s * S, Kill(target=everybody("second"), down=lasting((to_s - from_s) * S)))


@pytest.mark.parametrize("client", LEVELS)
def test_who_has_read_what_is_gone_reads_nothing_twice(monkeypatch: pytest.MonkeyPatch, client: ClientConfig) -> None:
    """Under the watch over invariants; it has processed what there is, and what there was."""
    outputs = Outputs(monkeypatch)
    result = simulate(made(client=client))
    found = {one["kind"] for one in rows(result, "delivery", group="second")}
    assert found == set()
    log = outputs.logs["out", 0].log
    there = len(log.read(0, is_committed=client is COMMITTED)[0])
    assert outputs.processed["second"]["out", 0] - there == pytest.approx(GONE, abs=2)
    assert summary(result, "second")["lag_records_end"] == 0


@pytest.mark.parametrize("client", LEVELS)
def test_who_has_not_read_it_never_does(monkeypatch: pytest.MonkeyPatch, client: ClientConfig) -> None:
    outputs = Outputs(monkeypatch)
    result = played(made(away(25, 45), client=client))
    lost = {one["cause"]: one["records"] for one in rows(result, "delivery", group="second", kind="loss")}
    assert lost.keys() == {"truncated log"}
    assert 100 < lost["truncated log"] <= GONE
    there = len(outputs.logs["out", 0].log.read(0, is_committed=client is COMMITTED)[0])
    assert outputs.processed["second"]["out", 0] - there == pytest.approx(GONE, abs=2)
    assert summary(result, "second")["lag_records_end"] == 0


@pytest.mark.parametrize(
    ("more", "client"),
    [
        ((), COMMITTED), ((away(25, 45),), UNCOMMITTED), ((away(29, 54),), COMMITTED),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (((), UNCOMMITTED), ((away(25, 45),), COMMITTED), ((away(29, 54),), UNCOMMITTED))
        ),
    ],
)  # fmt: skip
def test_both_fidelities_agree(client: ClientConfig, more: tuple[Entry, ...]) -> None:
    assert not differences(made(*more, client=client), 1, check=False)


def test_what_a_third_group_gets_is_made_of_what_the_second_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one's input goes back, and what it has made of it stays."""
    scenario = of_three(made(away(25, 45)))
    assert not differences(scenario, 1, check=False)
    found = delivered(played(scenario))
    assert found["loss", "truncated log"] > 100
    assert found["output loss (truncated input)", "read_committed"] == found["loss", "truncated log"]
