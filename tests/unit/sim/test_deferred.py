"""Members whose own objects are behind: whoever looks at one, and whenever, sees what it has done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groupsim.sim import simulate
from groupsim.sim.books.invariants.invariants import Watch
from groupsim.sim.client.client import Client
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath import engine
from groupsim.sim.fastpath.phases import deferred
from groupsim.sim.fastpath.phases.catch_up import replay_keep, replay_resume
from groupsim.sim.fastpath.phases.columns import RoundColumns
from groupsim.sim.fastpath.quiescence import Quiescence
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Distribution, Entry, GcPause, Link, Override, Processing, Scenario, SlowHost, Target
from groupsim.sim.output.result import Result
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.classic.member_parts import MemberParts
from groupsim.sim.protocol.messages import JoinGroup
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import random_scenario
from tests.support.scenarios import at, client, group, hang, join, kill, member, pause, scenario

SEEDS = (3, 151, 225, 228, 253, 1123, 2164, 2195, 2243)


def _clients(watch: Watch, *, look: bool) -> Iterator[Client]:
    for watched in watch._groups:
        for consumer in watched.members:
            assert isinstance(consumer, Consumer)
            one = consumer.client if look else consumer.incumbent
            if one is not None:
                yield one


def _is_behind(client: Client) -> bool:
    assert isinstance(client.elision, Quiescence)
    return client.elision.is_behind


def _run(monkeypatch: pytest.MonkeyPatch, run: Scenario, seed: int, *, look: bool) -> tuple[Result, list[Any], int]:
    """The run, the state of every machine at its end, and the most members that were behind at any time.

    ``look``: somebody looks at every member after every event.
    """
    watches: list[Watch] = []
    most = 0

    def check(self: Watch) -> None:
        nonlocal most
        watches[:] = [self]
        most = max(most, sum(map(_is_behind, _clients(self, look=look))))

    monkeypatch.setattr(Watch, "check", check)
    # When the run ends members catch up, so that there is a state of each.
    monkeypatch.setattr(engine, "finish_silent", lambda group, deferred, moment: None)
    result = simulate(run, seed=seed, check=True)
    return result, [_state(one.machine) for one in _clients(watches[0], look=False)], most


def _state(machine: ClassicMember) -> dict[str, Any]:
    parts = {name: getattr(machine, name) for name in MemberParts.__slots__}
    values = {
        f"{part}.{name}": getattr(one, name)
        for part, one in parts.items()
        for name in getattr(type(one), "__slots__", ())
    }
    values = {name: one for name, one in values.items() if not callable(one) and id(one) not in map(id, parts.values())}
    values.pop("joining.assignors")
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_members_changes_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    run = random_scenario(seed, "crowd")
    alone, machines, _ = _run(monkeypatch, run, seed, look=False)
    seen, others, behind = _run(monkeypatch, run, seed, look=True)
    assert behind == 0
    assert seen.manifest["digests"] == alone.manifest["digests"]
    assert seen.manifest["events"] == alone.manifest["events"]
    assert others == machines


def _three_rebalances(strategy: str) -> Scenario:
    config = client(enable_auto_commit=True, partition_assignment_strategy=(strategy,))
    return scenario(group(6, client=config), join(20 * S, 7), join(40 * S, 8), join(60 * S, 9), horizon_us=80 * S)


def test_of_many_rounds_only_the_last_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def counted(one: Client, columns: RoundColumns, slot: int, slowdown: float) -> None:
        played.append(slot)
        replay_resume(one, columns, slot, slowdown)

    monkeypatch.setattr(deferred, "replay_resume", counted)
    run = _three_rebalances("range")
    _, machines, behind = _run(monkeypatch, run, 1, look=False)
    assert behind == 7
    # Into the group with its own objects; then, when the run ends, one round each. The leader goes by itself.
    assert sorted(map(played.count, range(9))) == [0, 1, 2, 2, 2, 2, 2, 2, 2]
    assert {machine["membership.generation"] for machine in machines} == {4}


def test_of_many_rounds_of_a_cooperative_member_only_the_last_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def counted(one: Client, columns: RoundColumns, slot: int, slowdown: float) -> None:
        played.append(slot)
        replay_keep(one, columns, slot, slowdown)

    monkeypatch.setattr(deferred, "replay_keep", counted)
    run = _three_rebalances("cooperative-sticky")
    alone, machines, behind = _run(monkeypatch, run, 1, look=False)
    assert behind == 7
    # Each join takes two rebalances. Who is asked for a partition in between is caught up then; the leader goes alone.
    assert list(map(played.count, range(9))) == [1, 1, 1, 1, 0, 2, 1, 1, 0]
    assert {machine["membership.generation"] for machine in machines} == {7}
    played.clear()
    seen, others, _ = _run(monkeypatch, run, 1, look=True)
    assert list(map(played.count, range(9))) == [6, 6, 6, 4, 0, 4, 4, 2, 0]
    assert (seen.manifest["digests"], others) == (alone.manifest["digests"], machines)


def test_a_cooperative_member_that_is_behind_joins_with_the_generation_of_its_last_assignment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []
    receive = GroupHost.receive

    def seen(self: GroupHost, exchanges: list[Exchange], times: list[int]) -> None:
        sent.extend(one.body.protocols[0][1] for one in exchanges if isinstance(one.body, JoinGroup))
        receive(self, exchanges, times)

    monkeypatch.setattr(GroupHost, "receive", seen)
    simulate(_three_rebalances("cooperative-sticky"), seed=1)
    assert {one.generation for one in sent} == {1, 2, 3, 4, 5, 6}
    assert [one.user_data.generation for one in sent] == [one.generation for one in sent]


def test_an_assignor_with_a_memory_of_its_own_hears_of_every_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, behind = _run(monkeypatch, _three_rebalances("sticky"), 1, look=False)
    assert behind == 0


def _motley(seed: int) -> Scenario:
    """Members of which some commit more often, poll in another rhythm, draw what a record costs, or live far away.

    All of them pause now and then.
    """
    often = client(enable_auto_commit=True, auto_commit_interval_us=1 * S, heartbeat_interval_us=2 * S)
    strict = client(enable_auto_commit=True, auto_offset_reset="none")
    slow = Processing(per_record=Distribution.constant(9 * MS), per_poll_us=150 * MS)
    drawn = Processing(per_record=Distribution("exponential", (1_000,)), per_poll_us=100 * MS)
    overrides = (
        Override(members=frozenset({1, 2}), client=often),
        Override(members=frozenset({3, 4}), processing=slow),
        Override(members=frozenset({5}), processing=drawn),
        Override(members=frozenset({10, 11}), client=strict),
        Override(members=frozenset({7, 8}), rack="far"),
    )
    one = group(9, client=client(enable_auto_commit=True), overrides=overrides)
    slowed = SlowHost(target=member(2, 3), factor=2.5, duration=Distribution.constant(15 * S))
    timeline = (
        join(20 * S + 310 * MS * seed, 10), at(31 * S, slowed), pause(38 * S, 400 * MS, 1, 7), join(42 * S, 11),
        kill(50 * S, 4), hang(70 * S, 2 * S, 2), join(75 * S, 12), pause(77 * S, 12 * S, 3), join(95 * S, 13),
        Entry(
            id="gc", every=Distribution("exponential", (18 * S,)), per_member=True,
            verb=GcPause(target=Target("group", "g"), duration=Distribution("lognormal", (200 * MS, 1_500 * MS))),
        ),
    )  # fmt: skip
    jitter, far = Distribution("lognormal", (500, 5_000)), Distribution("uniform", (20 * MS, 30 * MS))
    run = scenario(one, *timeline, horizon_us=130 * S, rate_mrps=20_000, latency=jitter)
    links = tuple(Link(between=("rack:far", f"broker:{broker.id}"), latency=far) for broker in run.cluster.brokers)
    network = replace(run.cluster.network, links=links if seed % 2 else ())
    return replace(run, cluster=replace(run.cluster, network=network), sample_every_us=700 * MS)


@pytest.mark.parametrize("seed", range(6))
def test_members_that_are_not_alike_go_together(seed: int) -> None:
    run = _motley(seed)
    elided, message = simulate(run, seed=seed), simulate(run, seed=seed, fidelity="message")
    assert elided.manifest["digests"] == message.manifest["digests"]
    assert elided.manifest["events"] < message.manifest["events"] / 5


def test_members_without_a_reset_policy_fail_though_all_of_them_could_go_together() -> None:
    run = scenario(group(6, client=client(enable_auto_commit=True, auto_offset_reset="none")), horizon_us=30 * S)
    elided, message = simulate(run), simulate(run, fidelity="message")
    assert elided.manifest["digests"] == message.manifest["digests"]
    assert set(elided.tables["members"]["ended_by"]) == {"failed: NO_OFFSET_FOR_PARTITION"}


def test_no_timer_of_a_group_rings_for_a_session_that_is_renewed_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a pause a member has a timer again, until it falls silent."""
    rung: list[int] = []
    expire = GroupHost._expire

    def seen(self: GroupHost) -> None:
        assert min(self.machine.deadline, self.log.due, self.offsets.due) <= self._env.now
        rung.append(self._env.now)
        expire(self)

    monkeypatch.setattr(GroupHost, "_expire", seen)
    pauses = (pause(30 * S, 4 * S, 1), pause(50 * S, 5 * S, 2))
    simulate(scenario(group(3, client=client(enable_auto_commit=True)), *pauses, horizon_us=120 * S))
    assert rung
    assert max(rung) < 30 * S
