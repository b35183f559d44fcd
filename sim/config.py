"""Kafka's own configuration, as the machines use it: microseconds inside, Kafka's keys in the docstrings.

Defaults are those of Apache Kafka 4.4.0 (``ConsumerConfig``, ``GroupCoordinatorConfig``). Older clients and brokers are
profiles: other defaults and other behaviour, never other code paths in a scenario.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from groupsim.sim.distributions import Distribution
from groupsim.sim.units import MS, S

ClientFamily = Literal["java", "librdkafka", "franz-go", "kafka-python"]
GroupProtocol = Literal["classic", "consumer", "zookeeper"]
MigrationPolicy = Literal["bidirectional", "upgrade", "downgrade", "disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBehaviour:
    """What a generation of the Java consumer, or another client, does differently from Java's 4.4."""

    background_heartbeat: bool = True
    """KIP-62 (0.10.1): heartbeats from a thread of their own. False: only from inside poll() (0.9)."""
    rebalance_timeout_is_session: bool = False
    """JoinGroup v0 (0.9, 0.10.0): the session timeout doubles as rebalance timeout."""
    member_id_required: bool = True
    """KIP-394 (2.2): the first JoinGroup without an id is answered MEMBER_ID_REQUIRED."""
    poll_returns_in_rebalance: bool = True
    """KAFKA-8421 (2.5): poll() hands out records of retained partitions while a rebalance is under way."""
    heartbeat_in_completing: bool = True
    """KAFKA-10122 (2.7): heartbeats from the join response on. False: none until the sync response."""
    bounded_join_prepare: bool = True
    """KAFKA-13310 (3.2): the commit before joining is asynchronous and bounded."""
    keep_id_on_illegal_generation: bool = True
    """KAFKA-13419 (3.2): SyncGroup's ILLEGAL_GENERATION resets the generation and keeps the member id."""
    skip_assignment: bool = True
    """KIP-814 (3.2): a static leader that comes back is told not to assign again."""
    reason_in_request: bool = True
    """KIP-800 (3.2): JoinGroup v8 and LeaveGroup v5 say why. False: nothing is said, nor by librdkafka."""
    generation_in_subscription: bool = True
    """Subscription v2 (3.4): the generation travels in the subscription, so its bytes change with each generation."""
    rack_in_subscription: bool = True
    """KIP-881 (subscription v3, 3.5): client.rack travels in the subscription, for the leader's assignor."""
    exponential_backoff: bool = True
    """KIP-580 (3.7): exponential retry backoff. False: constant retry.backoff.ms."""
    leader_in_fetch_response: bool = True
    """KIP-951 (3.7): a fetch that is refused names the leader. False: the client asks for metadata."""
    rack_in_heartbeat: bool = True
    """KAFKA-17747 (4.1): client.rack travels in the heartbeat that joins. False: never."""
    close_operations: bool = True
    """KIP-1092 (4.1): close() can be told to leave the group, or to remain in it. False: it leaves by its kind."""
    sound_heartbeat_jitter: bool = True
    """4.2: jitter of a fifth on a heartbeat's backoff. False: max.poll.interval.ms stands in its place."""
    positions_before_listeners: bool = True
    """4.2: a pass through poll() asks for positions first, and then runs listeners (``AsyncPollEvent``). False: after
    them (``updateAssignmentMetadataIfNeeded``), so that what they were called for is read a pass earlier."""
    refers_to_poll_event: bool = True
    """4.2: a poll() that finds records waiting submits no event while it refers to the last one: of every second nobody
    hears in the background (`sim.client.polling.poll_events`). False: of each (``PollEvent``)."""
    revokes_in_poll: bool = True
    """4.3: a reconciliation that takes partitions away begins inside poll(). False: only with auto-commit."""
    ignores_missing_group_after_leave: bool = True
    """4.3: GROUP_ID_NOT_FOUND means nothing to a member that has left. False: it is fatal."""
    paces_polls: bool = True
    """Consumer protocol: poll() goes on in steps of retry.backoff.ms. False: an event wakes it (librdkafka)."""
    looks_at_polls: bool = False
    """librdkafka's main thread looks every 500 ms whether max.poll.interval.ms is over, and for the coordinator whether
    or not poll() is under way. False: when Java's threads wake, and while a poll() lasts."""
    ignores_missing_group: bool = False
    """librdkafka before 2.15: GROUP_ID_NOT_FOUND is ignored for ever."""
    repeats_user_data: bool = False
    """librdkafka's leader puts the user data of each member's subscription into its assignment. False: none."""
    repeats_deleted_commits: bool = True
    """KAFKA-6829 (2.0): a commit of partitions whose topic is deleted is worth another try, for as long as the classic
    protocol leaves before joining, and in commitSync (KAFKA-20959: still so in 4.4). False: it has failed."""
    says_all_after_expiry: bool = True
    """False: librdkafka before 2.15, which joins after max.poll.interval.ms without saying everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperConsumerConfig:
    """What the consumer before 0.9 has of its own (``kafka.consumer.ConsumerConfig``, 0.8.2.2), in microseconds."""

    session_timeout_us: int = 6_000 * MS
    connection_timeout_us: int = 6_000 * MS
    rebalance_max_retries: int = 4
    rebalance_backoff_us: int = 2_000 * MS
    offsets_storage: Literal["zookeeper", "kafka"] = "zookeeper"
    dual_commit: bool = False
    offsets_backoff_us: int = 1_000 * MS


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A consumer's configuration (``ConsumerConfig``, Kafka 4.4.0 defaults). All times in microseconds."""

    group_protocol: GroupProtocol = "classic"
    group_remote_assignor: str | None = None
    session_timeout_us: int = 45_000 * MS
    heartbeat_interval_us: int = 3_000 * MS
    max_poll_interval_us: int = 300_000 * MS
    max_poll_records: int = 500
    partition_assignment_strategy: tuple[str, ...] = ("range", "cooperative-sticky")
    enable_auto_commit: bool = True
    auto_commit_interval_us: int = 5_000 * MS
    auto_offset_reset: str = "latest"
    """latest, earliest, none, or by_duration: ``reset_duration_us`` ago (KIP-1106)."""
    reset_duration_us: int = 0
    isolation_level: str = "read_uncommitted"
    """What a reader gets of topics that are written in transactions; it changes nothing elsewhere."""
    request_timeout_us: int = 30_000 * MS
    default_api_timeout_us: int = 60_000 * MS
    retry_backoff_us: int = 100 * MS
    retry_backoff_max_us: int = 1_000 * MS
    connection_setup_timeout_us: int = 10_000 * MS
    metadata_max_age_us: int = 300_000 * MS
    fetch_max_wait_us: int = 500 * MS
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    client_id: str = ""
    """Empty: ``consumer-<group.id>-1``, as a process with one consumer names it."""
    client_rack: str = ""
    zookeeper: ZookeeperConsumerConfig = ZookeeperConsumerConfig()
    behaviour: ClientBehaviour = ClientBehaviour()

    @property
    def rebalance_timeout_us(self) -> int:
        """What JoinGroup carries as rebalance timeout (``GroupRebalanceConfig.rebalanceTimeoutMs``)."""
        return self.session_timeout_us if self.behaviour.rebalance_timeout_is_session else self.max_poll_interval_us


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConfig:
    """The group coordinator's configuration (``GroupCoordinatorConfig``, Kafka 4.4.0 defaults), in microseconds."""

    initial_rebalance_delay_us: int = 3_000 * MS
    min_session_timeout_us: int = 6_000 * MS
    max_session_timeout_us: int = 1_800_000 * MS
    max_size: int = 2_147_483_647
    coordinator_threads: int = 4
    append_linger_us: int = -1 * MS
    """Below 0: adaptive."""
    new_member_join_timeout_us: int = 300 * S
    offsets_topic_num_partitions: int = 50
    offsets_retention_us: int = 10_080 * 60 * S
    offsets_retention_check_interval_us: int = 600 * S
    offset_metadata_max_size: int = 4_096
    consumer_session_timeout_us: int = 45_000 * MS
    consumer_min_session_timeout_us: int = 45_000 * MS
    consumer_max_session_timeout_us: int = 60_000 * MS
    consumer_heartbeat_interval_us: int = 5_000 * MS
    consumer_min_heartbeat_interval_us: int = 5_000 * MS
    consumer_max_heartbeat_interval_us: int = 15_000 * MS
    consumer_assignment_interval_us: int = 1_000 * MS
    consumer_min_assignment_interval_us: int = 0
    consumer_max_assignment_interval_us: int = 15_000 * MS
    consumer_max_size: int = 2_147_483_647
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: MigrationPolicy = "bidirectional"
    consumer_regex_refresh_interval_us: int = 600_000 * MS
    version: str = "4.4"
    """Which coordinator's rules: "4.4" back to "4.0", or "0.9" (AwaitingSync, a new group is Stable, no initial
    delay, no ids asked for)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """What is set for one group (``GroupConfig``, Kafka 4.4), in microseconds; None: as the broker has it."""

    consumer_session_timeout_us: int | None = None
    consumer_heartbeat_interval_us: int | None = None
    consumer_assignment_interval_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """What of the brokers' configuration decides when somebody else leads (Kafka 4.4.0 defaults), in microseconds."""

    session_timeout_us: int = 9_000 * MS
    heartbeat_interval_us: int = 2_000 * MS
    quorum_fetch_timeout_us: int = 2_000 * MS
    quorum_election_timeout_us: int = 1_000 * MS
    leader_imbalance_check_us: int = 300 * S
    """`FOREVER`: ``auto.leader.rebalance.enable=false``."""
    offsets_replication_factor: int = 3
    offsets_commit_timeout_us: int = 5_000 * MS
    offsets_segment_bytes: int = 104_857_600
    is_cleaned: bool = True
    """``log.cleaner.enable``."""
    min_cleanable_ratio: float = 0.5
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    replica_lag_time_max_us: int = 30_000 * MS
    is_rack_aware: bool = False
    """``replica.selector.class``: consumers read from a replica in their rack (KIP-392)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """A producer's configuration (``ProducerConfig``, Kafka 4.4.0 defaults). All times in microseconds."""

    acks: Literal[0, 1, -1] = -1
    """-1: all."""
    enable_idempotence: bool = True
    retries: int = 2_147_483_647
    max_in_flight: int = 5
    delivery_timeout_us: int = 120_000 * MS
    request_timeout_us: int = 30_000 * MS
    linger_us: int = 5 * MS
    batch_bytes: int = 16_384
    retry_backoff_us: int = 100 * MS
    retry_backoff_max_us: int = 1_000 * MS
    transaction_timeout_us: int = 60_000 * MS


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfig:
    """The transaction coordinator's configuration (``TransactionStateManagerConfig``, Kafka 4.4.0), in microseconds."""

    max_timeout_us: int = 900 * S
    id_expiration_us: int = 7 * 24 * 3600 * S
    abort_interval_us: int = 10 * S
    remove_interval_us: int = 3600 * S
    topic_partitions: int = 50
    """``transaction.state.log.num.partitions``."""
    replication_factor: int = 3
    min_insync: int = 2
    """``transaction.state.log.min.isr``."""
    producer_id_expiration_us: int = 24 * 3600 * S
    version: Literal[1, 2] = 2
    """The feature transaction.version (KIP-890): 2 in clusters that were made by 4.0 or newer."""
    is_verified: bool = True
    """``transaction.partition.verification.enable``: leaders ask whether a batch belongs to an open transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times that come from the implementation and not from configuration: the same for every machine unless set.

    Source: recordings of a 4.4.0 broker and its clients on loopback (`tests/oracle`); constants are medians.
    """

    service_us: int = 300
    """Broker: what a request takes besides its turn in the event loop, from its arrival to its response on the wire."""
    append_us: int = 1_000
    """Broker: an append to a log, which is all that a write waits for without followers (leader SyncGroup,
    OffsetCommit)."""
    follower_fetch: Distribution | None = None
    """Broker: from the leader's append until the last follower in sync has fetched it and says so with its next fetch.
    None: by the cluster's latency and its replicas (`sim.cluster.shard.follower_fetch`)."""
    connect: Distribution = Distribution("lognormal", (1_500, 20 * MS))
    """Client: opening a connection, on top of the latency. FindCoordinator with its connection took 2.2, 5.9 and 30 ms
    (10, 50 and 90 %)."""
    join_prepare: Distribution = Distribution("lognormal", (500, 20 * MS))
    """Client: rebalance noticed until JoinGroup is handed to the network, on top of the commit between. Recorded
    with that commit: 1.9, 3.8, 8.5 ms, 25 in one case of a hundred (with this, and the default latency: 2.1, 3.5, 7.7
    and 23); without it 0.5 ms in the middle."""
    sync_prepare: Distribution = Distribution("lognormal", (500, 20 * MS))
    """Client: join response here until SyncGroup is handed to the network, on top of a leader's assignor. Recorded from
    the end of the join phase on: 1.0, 2.8, 8.0 ms, 22 in one case of a hundred, and 0.6, 1.5, 5.3 on another machine
    (with this, and the default latency: 0.7, 1.6, 5.5 and 21)."""
    initial_delay_late: Distribution = Distribution("lognormal", (500, 5 * MS))
    """Coordinator: what group.initial.rebalance.delay.ms is longer than configured, from the timer's thread to the
    group's (``SystemTimer``, ``CoordinatorRuntime``). Recorded after a delay of 0: 0.3, 0.5 and 2.2 ms, 0.2 to 5 in
    all. Other timers are taken as exact."""
    pattern_resolve: Distribution = Distribution("lognormal", (15 * MS, 200 * MS))
    """Coordinator: from the heartbeat that has a regular expression resolved in the background until its topics are
    written (``GroupMetadataManager.refreshRegularExpressions``). Recorded twelve times, with what a heartbeat takes:
    2.2, 19 and 195 ms (least, middle, most), though topics are scanned in 1 ms."""
    metadata: Distribution = Distribution("lognormal", (30 * MS, 200 * MS))
    """Broker: a change of the metadata, at the controller, until it has heard of it: assumed."""
    leader_change: Distribution = Distribution("lognormal", (20 * MS, 60 * MS))
    """Broker: for how long it is busy with each partition that it leads anew, one after the other: it forces the leader
    epoch to disk (``LeaderEpochFileCache.assign``, Kafka 4.4). Recorded: 12 to 40 ms on two busy cores, 18 to 32 if
    they are new. Of many that it takes over at once those after the first fifty cost a quarter of it
    (`sim.cluster.local_leaders`)."""
    first_leader_change: Distribution = Distribution("lognormal", (300 * MS, 1_000 * MS))
    """Broker: what it takes besides when its process takes over partitions for the first time since it was started
    again. Recorded: a third of a second in the middle."""
    heartbeat_late_us: int = 600
    """Client: what a heartbeat period is longer than heartbeat.interval.ms, so that beats drift against sessions."""
    wait_late_us: int = 100
    """Client: what a timed wait of the heartbeat thread is longer than retry.backoff.ms. Recorded: periods of 3.0036 s
    under load, thirty waits of 100 ms."""
    poll_us: int = 1_000
    """Client: fixed cost of a pass through poll()."""
    records_per_fetch: int = 1_024
    """Records of one partition that a fetch returns: max.partition.fetch.bytes (1 MiB) over records of 1 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimes:
    """How long an event keeps the event loop of its shard busy, microseconds: handler, replay and append.

    Source: CPU time of the thread ``group-coordinator-event-processor`` of a 4.4.0 broker, by kind of request and group
    size, where requests follow each other (`tests/golden/service_times`). One that comes to an idle loop takes three
    to seven times as long, most of it to wake the thread. Group size shows only in what ends a phase of a rebalance:
    ``round_us`` or ``target_us``, and ``answer_us`` for each member. What server assignors take comes on top
    (`sim.cluster.groups.assignor_costs`).
    """

    heartbeat_us: int = 3
    consumer_heartbeat_us: int = 5
    """ConsumerGroupHeartbeat by which nothing changes."""
    join_us: int = 3
    sync_us: int = 2
    leave_us: int = 40
    commit_us: int = 6
    fetch_us: int = 3
    """OffsetFetch."""
    change_us: int = 80
    """A group of the consumer protocol has one more epoch: somebody joins, leaves or subscribes to something else."""
    reconcile_us: int = 45
    """A member of the consumer protocol has another current assignment, or reports an epoch."""
    target_us: int = 1_000
    """A target is computed and written, besides ``answer_us`` for each member that has another one."""
    round_us: int = 300
    """The join phase of a classic group ends, or its assignment is there, besides ``answer_us`` for each member."""
    answer_us: int = 3
    """For each member of a group whose rebalance goes on: the answer to it, or its record."""
