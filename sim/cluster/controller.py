"""Brokers that stop and start, their sessions, and the active controller that decides who leads.

The first three brokers are controllers too. One of them is the active one; if it goes, the others elect another, and
while they are no majority nothing is decided. What is decided is `sim.protocol.controller`; here is when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.interface import Audience
from groupsim.sim.cluster.loading import Loading
from groupsim.sim.cluster.partitions import ClusterPartitions
from groupsim.sim.cluster.replicas import Replicas
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import Name
from groupsim.sim.protocol.controller.sessions import BrokerSessions
from groupsim.sim.randomness import Streams, hash64, name_hash
from groupsim.sim.units import FOREVER

_CONTROLLERS: Final = 3


class Controller:
    """Of one cluster; a run whose brokers are left alone has none.

    Parameters
    ----------
    env : Environment
    streams : Streams
    cluster : Cluster
    brokers : mapping of int to Broker
    partitions : ClusterPartitions
    replicas : Replicas
    loading : Loading
    audience : Audience

    Attributes
    ----------
    active : int
        Broker id of the active controller, or of the last one.
    """

    def __init__(
        self, env: Environment, streams: Streams, cluster: Cluster, brokers: Mapping[int, Broker],
        partitions: ClusterPartitions, replicas: Replicas, loading: Loading, audience: Audience,
    ) -> None:  # fmt: skip
        self._env = env
        self._streams = streams
        self._config = cluster.broker_config
        self._times = cluster.failover
        self._brokers = brokers
        self._partitions = partitions
        self._replicas = replicas
        self._loading = loading
        self._audience = audience
        since_us = -(streams.key("controller-claim") % self._config.session_timeout_us)
        self._sessions = BrokerSessions(self._config.session_timeout_us, since_us)
        self._key = process_key(name_hash("controller"), Kind.FAULT)
        self._voters = set(tuple(brokers)[:_CONTROLLERS])
        self._majority = len(self._voters) // 2 + 1
        self._elections = 0
        self.active = self._draw_active()
        self._ready_us = 0
        """From when on there is an active controller; `FOREVER`: no majority."""
        self._undecided: list[tuple[Callable[[int], None], int]] = []
        self._closing: set[int] = set()
        self._unclean: set[int] = set()
        """Brokers that were killed, and have not registered since."""
        self._starting: set[int] = set()
        self._catching_up: set[int] = set()
        self._await_balance()

    def _draw_active(self) -> int:
        key = self._streams.key("controller")
        return sorted(self._voters)[hash64(key, self._elections) % len(self._voters)]

    def _draw(self, what: str, node: int) -> int:
        """How long something of a broker takes, microseconds."""
        return self._streams.draw(getattr(self._times, what), what, node)(self._brokers[node].incarnation)

    def _later(self, delay_us: int, action: Callable[[int], None], node: int) -> None:
        self._env.at(self._env.now + delay_us, self._key, action, node)

    def _decide(self, action: Callable[[int], None], node: int) -> None:
        """Let the active controller do something about a broker, as soon as there is one."""
        if self._ready_us > self._env.now:
            self._undecided.append((action, node))
        else:
            action(node)

    def _publish(self, changed: Sequence[Name]) -> None:
        if changed:
            self._replicas.elect(changed)
            self._loading.publish(changed)
            self._apply(changed)
            self._await_catch_up(self._partitions.lagging(changed))

    def _apply(self, names: Sequence[Name]) -> None:
        """These have changed, or somebody has died who matters to them."""
        self._partitions.apply(names)
        self._replicas.observe(names, self._partitions.dead)

    # --- brokers that stop --------------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """SIGKILL: connections end now, the session when it is over."""
        if not self._brokers[node].is_up:
            return
        every, now = self._config.heartbeat_interval_us, self._env.now
        since_beat = (now - self._streams.key("broker-heartbeat", node)) % every
        self._unclean.add(node)
        self._go_down(node, last_beat_us=now - since_beat)
        election_us = self._streams.key("election", node, self._elections) % self._config.quorum_election_timeout_us
        self._lose_voter(node, self._config.quorum_fetch_timeout_us + election_us)
        self._watch(node)

    def _go_down(self, node: int, last_beat_us: int) -> None:
        self._partitions.cover()
        self._brokers[node].stop()
        self._closing.discard(node)
        self._sessions.fall_silent(node, last_beat_us)
        self._audience.broker_lost(node)
        self._replicas.go_down(node, self._brokers[node].incarnation)
        self._loading.broker_lost(node)
        self._apply(self._partitions.held_by(node))

    def close(self, node: int) -> None:
        """SIGTERM: the controller moves the leaders, then the broker goes."""
        if self._brokers[node].is_up and node not in self._closing:
            self._closing.add(node)
            self._later(self._draw("controlled_shutdown", node), partial(self._decide, self._leave), node)

    def _leave(self, node: int) -> None:
        """``BrokerHeartbeatManager``: the broker may go with its next heartbeat after its leaders have moved."""
        if node in self._closing:
            self._partitions.cover()
            self._publish(self._partitions.control.shut_down(node))
            self._later(self._config.heartbeat_interval_us, self._exit, node)

    def _exit(self, node: int) -> None:
        if node not in self._closing:
            return
        self._go_down(node, last_beat_us=self._env.now)
        self._publish(self._partitions.control.fence(node))
        self._lose_voter(node, self._draw("metadata", node))

    # --- sessions and controllers -------------------------------------------------------------------------------------

    def _watch(self, node: int) -> None:
        """Look at a broker's session when it must be over."""
        if self._ready_us < FOREVER:
            self._env.at(max(self._sessions.due(node), self._env.now), self._key, self._look, node)

    def _look(self, node: int) -> None:
        is_over = node in self._sessions.silent and self._sessions.due(node) <= self._env.now
        if is_over and self._ready_us <= self._env.now and node not in self._partitions.control.fenced:
            self._publish(self._partitions.control.fence(node))

    def _lose_voter(self, node: int, delay_us: int) -> None:
        """Without a majority nothing is decided; if the active controller is gone another takes over after a while."""
        self._voters.discard(node)
        if len(self._voters) < self._majority:
            self._ready_us = FOREVER
        elif node == self.active:
            self._succeed(delay_us)

    def _succeed(self, delay_us: int) -> None:
        """Another controller takes over after a while."""
        self._elections += 1
        self.active = self._draw_active()
        self._ready_us = self._env.now + delay_us
        self._env.at(self._ready_us, self._key, self._claim, self._elections)

    def _claim(self, election: int) -> None:
        """The new controller is active (``QuorumController.claim``)."""
        if election != self._elections or self._ready_us > self._env.now:
            return
        self._sessions.claim(self._env.now, self._partitions.control.fenced)
        undecided, self._undecided = self._undecided, []
        for action, node in undecided:
            action(node)
        for node in self._sessions.silent:
            self._watch(node)

    # --- brokers that start -------------------------------------------------------------------------------------------

    def start(self, node: int) -> None:
        """The process starts, reads its logs, recovers those that were not closed, and registers."""
        if self._brokers[node].is_up or node in self._starting:
            return
        self._starting.add(node)
        recovery_us = self._draw("recovery", node) if node in self._unclean else 0
        self._later(self._draw("start", node) + recovery_us, self._vote, node)

    def _vote(self, node: int) -> None:
        """The process runs: it counts for the majority, if it is a controller."""
        if node in tuple(self._brokers)[:_CONTROLLERS]:
            self._voters.add(node)
            if self._ready_us == FOREVER and len(self._voters) >= self._majority:
                self._succeed(self._config.quorum_election_timeout_us)
        self._decide(self._register, node)

    def _register(self, node: int) -> None:
        """Not while the session of the former incarnation is alive (``DuplicateBrokerRegistrationException``)."""
        free_us = self._sessions.free_at(node)
        if free_us > self._env.now:
            self._env.at(free_us, self._key, partial(self._decide, self._register), node)
            return
        control, partitions = self._partitions.control, self._partitions
        self._sessions.forget(node)
        self._starting.discard(node)
        self._publish(control.fence(node))
        if node in self._unclean:
            self._publish(control.shut_down_uncleanly(node))
        self._unclean.discard(node)
        self._brokers[node].start(self._loading.leaders)
        partitions.cover()
        self._publish(control.unfence(node))
        self._apply(partitions.held_by(node))
        self._await_catch_up(self._partitions.lagging(self._partitions.control.partitions))

    def _await_catch_up(self, nodes: Iterable[int]) -> None:
        """Some brokers fetch what they lack from leaders that live."""
        for node in nodes:
            if node not in self._catching_up:
                self._catching_up.add(node)
                self._later(self._draw("catch_up", node), partial(self._decide, self._join), node)

    def _join(self, node: int) -> None:
        """``alterPartition``: the broker is in sync again wherever somebody leads."""
        self._catching_up.discard(node)
        if self._brokers[node].is_up:
            self._publish(self._partitions.control.catch_up(node, self._partitions.followed_by(node)))
            self._replicas.catch_up(node)

    def is_in_sync(self, node: int) -> bool:
        """Whether a broker is up, and in sync in all that it has a replica of."""
        return self._brokers[node].is_up and self._partitions.is_in_sync(node)

    # --- preferred leaders --------------------------------------------------------------------------------------------

    def _await_balance(self) -> None:
        if self._config.leader_imbalance_check_us < FOREVER:
            self._later(self._config.leader_imbalance_check_us, self._balance, self.active)

    def _balance(self, _: int) -> None:
        """``QuorumController.maybeBalancePartitionLeaders``."""
        self._decide(self._elect_preferred, self.active)
        self._await_balance()

    def _elect_preferred(self, _: int) -> None:
        self._publish(self._partitions.control.elect_preferred())

    # --- who is meant -------------------------------------------------------------------------------------------------

    def leader_of(self, name: Name) -> int:
        """Who leads a partition."""
        self._partitions.cover()
        return self._partitions.control.partitions[name].leader
