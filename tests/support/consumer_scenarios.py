"""Random scenarios whose groups use the consumer protocol, or both protocols at once: other families, converted.

What happens to the groups is what the family has; brokers of several releases, short and long intervals of heartbeats
and of assignments, members of several client generations.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from groupsim.sim.config import ClientBehaviour, ClientConfig, GroupConfig
from groupsim.sim.model import Entry, Group, Override, Scenario, SetConfig, Subscribe, Subscription, Target
from groupsim.sim.units import MS, S
from tests.support.placed_scenarios import placed_scenario
from tests.support.random_scenarios import random_scenario
from tests.support.varied_scenarios import varied_scenario

Protocols = Literal["consumer", "mixed"]
FAMILIES: dict[str, Callable[[int], Scenario]] = {
    **{
        name: partial(random_scenario, family=name) for name in ("jitter", "grid", "dense", "crowd", "aged", "delivery")
    },
    "varied": varied_scenario,
    "placed": placed_scenario,
}
_STRATEGIES = (("range",), ("sticky",), ("cooperative-sticky",), ("range", "cooperative-sticky"), ("roundrobin",))
_OLDER = ClientBehaviour(
    rack_in_heartbeat=False, close_operations=False, sound_heartbeat_jitter=False, revokes_in_poll=False,
    ignores_missing_group_after_leave=False, positions_before_listeners=False,
)  # fmt: skip
_LIBRDKAFKA = ClientBehaviour(
    paces_polls=False, looks_at_polls=True, ignores_missing_group=True, says_all_after_expiry=False
)


def consumer_scenario(seed: int, family: str, protocols: Protocols = "consumer") -> Scenario:
    """One scenario of a family, the same for the same seed."""
    chance = random.Random(f"{protocols}-{family}-{seed}")
    return _Converter(chance, protocols).scenario(FAMILIES[family](seed))


class _Converter:
    def __init__(self, chance: random.Random, protocols: Protocols) -> None:
        self.chance = chance
        self.protocols = protocols

    def scenario(self, world: Scenario) -> Scenario:
        return replace(
            world,
            name=f"{self.protocols}-{world.name}",
            cluster=replace(world.cluster, config=self._broker(world)),
            groups=tuple(self._group(group) for group in world.groups),
            timeline=tuple(self._entry(entry) for entry in world.timeline),
        )

    def _broker(self, world: Scenario) -> Any:
        chance, config = self.chance, world.cluster.config
        policy = chance.choice(["bidirectional", "bidirectional", "upgrade", "downgrade", "disabled"])
        return replace(
            config,
            version=chance.choice(["4.4", "4.4", "4.4", "4.3", "4.2", "4.0"]),
            consumer_assignment_interval_us=chance.choice([0, 1, 1, 5]) * S,
            consumer_max_size=config.max_size,
            consumer_assignors=chance.choice([("uniform", "range"), ("range", "uniform")]),
            consumer_migration_policy=policy if self.protocols == "mixed" else "bidirectional",
        )

    def _group(self, group: Group) -> Group:
        chance = self.chance
        session, heartbeat = chance.choice([(45, 5), (45, 5), (10, 3), (6, 1), (None, None)])
        config = GroupConfig(
            consumer_session_timeout_us=session and session * S,
            consumer_heartbeat_interval_us=heartbeat and heartbeat * S,
            consumer_assignment_interval_us=chance.choice([None, None, 0, 2 * S]),
        )
        subscription, commit_us = group.subscription, group.client.auto_commit_interval_us
        if subscription.pattern and self.protocols == "consumer" and chance.random() < 0.5:
            subscription = Subscription(re2=subscription.pattern)
        return replace(
            group,
            client=self._client(replace(group.client, auto_commit_interval_us=chance.choice([commit_us, 300 * MS]))),
            processing=replace(
                group.processing, poll_timeout_us=chance.choice([10, 100, 100, 1_000]) * MS,
                on_lost_us=chance.choice([0, 200 * MS]),
            ),
            subscription=subscription,
            overrides=tuple(self._override(one, group.client) for one in group.overrides) + self._others(group),
            group_config=config,
        )  # fmt: skip

    def _others(self, group: Group) -> tuple[Override, ...]:
        """In a mixed group some have the other protocol from the beginning."""
        if self.protocols == "consumer":
            return ()
        some = frozenset(index for index in range(group.members.count) if self.chance.random() < 0.4)
        return (Override(members=some, client=self._client(group.client)),) if some else ()

    def _override(self, one: Override, client: ClientConfig) -> Override:
        return replace(one, client=self._client(one.client or client))

    def _client(self, client: ClientConfig) -> ClientConfig:
        chance = self.chance
        if self.protocols == "consumer" or chance.random() < 0.5:
            return replace(
                client,
                group_protocol="consumer",
                group_remote_assignor=chance.choice([None, None, "uniform", "range"]),
                behaviour=chance.choice([ClientBehaviour()] * 6 + [_OLDER, _LIBRDKAFKA]),
            )
        return replace(
            client, partition_assignment_strategy=chance.choice(_STRATEGIES), behaviour=ClientBehaviour()
        )  # fmt: skip

    def _entry(self, entry: Entry) -> Entry:
        verb: Any = entry.verb
        target = getattr(verb, "target", None)
        if isinstance(target, Target):
            verb = replace(verb, target=_leaderless(target))
        if hasattr(verb, "between"):
            verb = replace(verb, between=tuple(_leaderless(side) for side in verb.between))
        if isinstance(verb, SetConfig):
            verb = replace(verb, client=self._client(verb.client))
        if isinstance(verb, Subscribe) and self.protocols == "consumer" and self.chance.random() < 0.3:
            verb = replace(verb, subscription=Subscription(re2="[ab]"))
        return replace(entry, verb=verb)


def _leaderless(target: Target) -> Target:
    return replace(target, pick="random") if target.pick == "leader" else target
