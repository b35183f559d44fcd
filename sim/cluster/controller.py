"""Brokers that stop and start, their sessions, and the active controller that decides who leads.

The three brokers with the lowest ids are controllers too. One of them is the active one; if it goes, the others elect
another, and while they are no majority nothing is decided. What is decided is `sim.protocol.controller`; here is when.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.interface import Audience
from groupsim.sim.cluster.loading import Loading
from groupsim.sim.cluster.partitions import ClusterPartitions
from groupsim.sim.cluster.replicas import Replicas
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.elections import leaderless_us
from groupsim.sim.protocol.controller.partition import Name
from groupsim.sim.protocol.controller.sessions import BrokerSessions
from groupsim.sim.randomness import Streams, hash64, name_hash
from groupsim.sim.units import FOREVER, S

_CONTROLLERS: Final = 3


class Controller:
    """Of one cluster; a run whose brokers are left alone has none.

    Parameters
    ----------
    env : Environment
    streams : Streams
    cluster : Cluster
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
        self, env: Environment, streams: Streams, cluster: Cluster,
        partitions: ClusterPartitions, replicas: Replicas, loading: Loading, audience: Audience,
    ) -> None:  # fmt: skip
        self._env = env
        self._streams = streams
        self._config = cluster.broker_config
        self._times = cluster.failover
        self._brokers: Mapping[int, Broker] = partitions.brokers
        self._partitions = partitions
        self._replicas = replicas
        self._loading = loading
        self._audience = audience
        since_us = -(streams.key("controller-claim") % self._config.session_timeout_us)
        self._sessions = BrokerSessions(self._config.session_timeout_us, since_us)
        self._key = process_key(name_hash("controller"), Kind.FAULT)
        self._controllers = tuple(self._brokers)[:_CONTROLLERS]
        self._voters = set(self._controllers)
        self._majority = len(self._voters) // 2 + 1
        self._elections = 0
        self.active = self._draw_active(self._voters)
        self._ready_us = 0
        """From when on there is an active controller; `FOREVER`: no majority."""
        self._undecided: list[tuple[Callable[[int], None], int]] = []
        self._closing: set[int] = set()
        self._unclean: set[int] = set()
        """Brokers that were killed, and have not registered since."""
        self._starting: set[int] = set()
        self._catching_up: set[int] = set()
        self._cut_us: dict[int, int] = {}
        """Brokers that are cut off from another one -> since when."""
        self._undecided_starts: set[int] = set()
        """Brokers that would register, and do not reach the controller."""
        self._await_balance()

    def _draw_active(self, candidates: Collection[int]) -> int:
        return sorted(candidates)[hash64(self._streams.key("controller"), self._elections) % len(candidates)]

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
            for leader, follower in self._partitions.parted(self._replicas.elect(changed)):
                self._lose_follower(leader, follower)
            served = self._loading.publish(changed, self.reached, self._partitions.serve)
            self._partitions.awaited.update(served)
            self._apply(changed)
            self._await_catch_up(self._partitions.lagging(changed))
        self._note()

    def _note(self) -> None:
        self._partitions.note(self._env.now, self._closing, self._starting)

    def _apply(self, names: Sequence[Name]) -> None:
        """These have changed, or somebody has died who matters to them."""
        self._partitions.apply(names)
        for name in names:
            self._replicas.observe(name, self._partitions.silent(name))

    @property
    def reached(self) -> list[int]:
        """Brokers that the active controller reaches, ascending."""
        return [node for node in self._brokers if not self._is_out_of_touch(node)]

    def _is_out_of_touch(self, node: int) -> bool:
        return node != self.active and self._partitions.are_cut(node, self.active)

    # --- brokers that stop --------------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """SIGKILL: connections end now, the session when it is over."""
        if not self._brokers[node].is_up:
            return
        self._unclean.add(node)
        self._go_down(node, last_beat_us=self._last_beat_us(node))
        self._voters.discard(node)
        self._settle_quorum(self._unannounced_us(node))
        self._watch(node)

    def _last_beat_us(self, node: int) -> int:
        every, now = self._config.heartbeat_interval_us, self._env.now
        return now - (now - self._streams.key("broker-heartbeat", node)) % every

    def _unannounced_us(self, node: int) -> int:
        """Until another controller is elected that nobody has told of the end of this one, microseconds."""
        key = self._streams.key("election", node, self._elections)
        return leaderless_us(self._config, partial(hash64, key)) + self._loading.delay_us(node)

    def _go_down(self, node: int, last_beat_us: int) -> None:
        self._partitions.cover()
        self._brokers[node].stop()
        self._closing.discard(node)
        self._sessions.fall_silent(node, last_beat_us)
        self._audience.broker_lost(node)
        self._replicas.go_down(node, self._brokers[node].incarnation)
        self._loading.broker_lost(node)
        self._apply(self._partitions.held_by(node))
        self._note()

    def close(self, node: int) -> None:
        """SIGTERM: the controller moves the leaders, then the broker goes."""
        if self._brokers[node].is_up and node not in self._closing:
            self._closing.add(node)
            self._note()
            self._later(self._draw("controlled_shutdown", node), partial(self._decide, self._leave), node)

    def _leave(self, node: int) -> None:
        """``BrokerHeartbeatManager``: the broker may go with its next heartbeat after its leaders have moved."""
        if node in self._closing:
            self._partitions.cover()
            self._publish(self._partitions.shut_down(node))
            self._later(self._config.heartbeat_interval_us, self._exit, node)

    def _exit(self, node: int) -> None:
        if node not in self._closing:
            return
        self._go_down(node, last_beat_us=self._env.now)
        self._publish(self._partitions.control.fence(node))
        self._voters.discard(node)
        self._settle_quorum(self._loading.delay_us(node))

    # --- sessions and controllers -------------------------------------------------------------------------------------

    def _watch(self, node: int) -> None:
        """Look at a broker's session when it must be over."""
        if self._ready_us < FOREVER:
            self._env.at(max(self._sessions.due(node), self._env.now), self._key, self._look, node)

    def _look(self, node: int) -> None:
        is_over = node in self._sessions.silent and self._sessions.due(node) <= self._env.now
        if is_over and self._ready_us <= self._env.now and node not in self._partitions.control.fenced:
            if self._brokers[node].is_up:
                led = self._partitions.control.led_by(node)
                self._replicas.isolate(node, self._cut_us.get(node, self._env.now), led)
            self._publish(self._partitions.control.fence(node))

    def _settle_quorum(self, delay_us: int) -> None:
        """Without a majority nothing is decided; if the active controller has none another takes over after a while."""
        candidates = [one for one in self._voters if self._votes_for(one) >= self._majority]
        if not candidates:
            if self._ready_us < FOREVER:
                self._audience.quorum_lost(self._controllers)
            self._ready_us = FOREVER
        elif self.active not in candidates or self._ready_us == FOREVER:
            self._succeed(delay_us, candidates)

    def _votes_for(self, node: int) -> int:
        """How many controllers reach one of them, itself included."""
        return sum(one == node or not self._partitions.are_cut(one, node) for one in self._voters)

    def _succeed(self, delay_us: int, candidates: Collection[int]) -> None:
        """Another controller takes over after a while."""
        self._elections += 1
        self.active = self._draw_active(candidates)
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
        if self._cut_us:
            self._watch_links()

    # --- brokers that start -------------------------------------------------------------------------------------------

    def start(self, node: int) -> None:
        """The process starts, reads its logs, recovers those that were not closed, and registers."""
        if self._brokers[node].is_up or node in self._starting:
            return
        self._starting.add(node)
        self._note()
        recovery_us = self._draw("recovery", node) if node in self._unclean else 0
        self._later(self._draw("start", node) + recovery_us, self._vote, node)

    def _vote(self, node: int) -> None:
        """The process runs: it counts for the majority, if it is a controller."""
        if node in self._controllers:
            self._voters.add(node)
            self._settle_quorum(self._config.quorum_election_timeout_us)
        self._decide(self._register, node)

    def _register(self, node: int) -> None:
        """Not while the session of the former incarnation is alive (``DuplicateBrokerRegistrationException``)."""
        if self._is_out_of_touch(node):
            self._undecided_starts.add(node)
            return
        if (free_us := self._sessions.free_at(node)) > self._env.now:
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
            followed = self._partitions.followed_by(node)
            self._publish(self._partitions.control.catch_up(node, followed))
            self._replicas.catch_up(node, followed)
            self._publish(self._partitions.complete())

    def is_in_sync(self, node: int) -> bool:
        """Whether a broker is up, and in sync in all that it has a replica of."""
        return self._brokers[node].is_up and self._partitions.is_in_sync(node)

    # --- links between brokers ----------------------------------------------------------------------------------------

    def rewire(self) -> None:
        """Links between brokers were cut, or are whole again."""
        partitions, now = self._partitions, self._env.now
        partitions.cover()
        pairs = [(one, other) for one in self._brokers for other in self._brokers if partitions.are_cut(one, other)]
        self._cut_us = {node: self._cut_us.get(node, now) for node, _ in pairs}
        for leader, follower in pairs:
            self._lose_follower(leader, follower)
        self._apply(list(partitions.control.partitions))
        for node in self._brokers:
            if self._brokers[node].is_up:
                self._replicas.catch_up(node, partitions.followed_by(node))
        self._settle_quorum(self._unannounced_us(self.active))
        self._watch_links()

    def _lose_follower(self, leader: int, follower: int) -> None:
        """A follower does not fetch any more: it is out of the ISR after ``replica.lag.time.max.ms``."""
        if not (self._brokers[leader].is_up and self._brokers[follower].is_up):
            return
        self._replicas.fall_behind(follower, self._followed(leader, follower))
        lag_us = self._config.replica_lag_time_max_us
        # Leaders look twice in that time (``ReplicaManager.startup``, "isr-expiration").
        late_us = self._streams.key("isr-expiration", leader) % max(lag_us // 2, 1)
        self._env.at(self._env.now + lag_us + late_us, self._key, self._shrink, (leader, follower))

    def _followed(self, leader: int, follower: int) -> list[Name]:
        """Partitions of one broker with which another one counts as in sync."""
        control = self._partitions.control
        return [name for name in control.led_by(leader) if follower in control.partitions[name].isr]

    def _shrink(self, pair: tuple[int, int]) -> None:
        (leader, follower), control = pair, self._partitions.control
        since_us = self._cut_us.get(follower, self._env.now)
        if not self._partitions.are_cut(*pair) or self._env.now - since_us < self._config.replica_lag_time_max_us:
            return
        if self._brokers[leader].is_up and not self._is_out_of_touch(leader) and self._ready_us <= self._env.now:
            changed = [control.shrink(name, (follower,)) for name in self._followed(leader, follower)]
            self._publish([name for names in changed for name in names])

    def _watch_links(self) -> None:
        """The active controller hears of some brokers no more, or again."""
        for node in [one for one in self._brokers if self._brokers[one].is_up]:
            known = node in self._sessions.silent or node in self._partitions.control.fenced
            if self._is_out_of_touch(node) and not known:
                self._sessions.fall_silent(node, self._last_beat_us(node))
                self._watch(node)
            elif known and not self._is_out_of_touch(node):
                self._sessions.forget(node)
                next_beat_us = self._last_beat_us(node) + self._config.heartbeat_interval_us
                self._later(next_beat_us - self._env.now, partial(self._decide, self._return), node)
        self._loading.publish((), self.reached, self._partitions.serve)
        self._await_catch_up(self._partitions.lagging(self._partitions.control.partitions))
        waiting = [node for node in sorted(self._undecided_starts) if not self._is_out_of_touch(node)]
        self._undecided_starts.difference_update(waiting)
        for node in waiting:
            self._decide(self._register, node)

    def _return(self, node: int) -> None:
        """A broker that was fenced though it runs beats again."""
        if self._brokers[node].is_up and not self._is_out_of_touch(node):
            self._publish(self._partitions.control.unfence(node))
            self._await_catch_up(self._partitions.lagging(self._partitions.control.partitions))

    # --- administrators -----------------------------------------------------------------------------------------------

    def elect_leaders(self, topics: Sequence[str], election: str) -> None:
        """``ReplicationControlManager.electLeaders``: of some topics, or of all if none are given."""
        self._partitions.cover()
        control = self._partitions.control
        names = [name for name in control.partitions if not topics or name[0] in topics]
        elect = control.elect_unclean if election == "unclean" else control.elect_preferred
        self._decide(lambda _: self._publish(elect(names)), self.active)

    def reassign(self, names: Sequence[Name], replicas: tuple[int, ...], sizes: Sequence[int], bytes_per_s: int) -> int:
        """Move partitions of these sizes; how long it takes until all are copied, microseconds."""
        to_copy: dict[int, int] = {}
        for name, size in zip(names, sizes, strict=True):
            for node in self._partitions.reassign(name, replicas):
                to_copy[node] = to_copy.get(node, 0) + size
        took = {node: size * S // bytes_per_s for node, size in to_copy.items()}
        for node, length_us in took.items():
            self._later(length_us, self._copied, node)
        self._loading.tell_places(self.reached)
        if not took:
            self._publish(self._partitions.complete())
        return max(took.values(), default=0)

    def _copied(self, node: int) -> None:
        self._partitions.copied(node)
        self._await_catch_up([node])

    # --- preferred leaders --------------------------------------------------------------------------------------------

    def _await_balance(self) -> None:
        if self._config.leader_imbalance_check_us < FOREVER:
            self._later(self._config.leader_imbalance_check_us, self._balance, self.active)

    def _balance(self, _: int) -> None:
        """``QuorumController.maybeBalancePartitionLeaders``."""
        self._decide(lambda _: self._publish(self._partitions.control.elect_preferred()), self.active)
        self._await_balance()

    # --- who is meant -------------------------------------------------------------------------------------------------

    def leader_of(self, name: Name) -> int:
        """Who leads a partition."""
        self._partitions.cover()
        return self._partitions.control.partitions[name].leader
