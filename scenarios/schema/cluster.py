"""The ``cluster`` of a scenario file: brokers, their configuration, the network, and times of the implementation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema, model_validator

from groupsim.scenarios.files.base_model import FileModel, made, refusal, refuse_repeated, version_text, whole
from groupsim.scenarios.kafka.broker_config import (
    broker_config,
    coordinator_config,
    log_retention_check_us,
    resolved_broker,
    transaction_config,
)
from groupsim.scenarios.kafka.config import BrokerConfigField
from groupsim.scenarios.schema.distributions import (
    DISTRIBUTION_SCHEMA,
    DistributionField,
    Duration,
    read_distribution,
    write_distribution,
)
from groupsim.scenarios.schema.sizes import Size, more_than_nothing
from groupsim.scenarios.schema.targets import NAME_PATTERN
from groupsim.sim.config import EventTimes, Timing
from groupsim.sim.model import Broker, Cluster, Distribution, Link, Network, Zookeeper

_DEFAULT = Network()
_ZOOKEEPER = Zookeeper()
_TIMES = EventTimes()
_NO_BANDWIDTH = "without bandwidth there is no bound, and a broker that is to send nothing is closed or killed"
_PLACE = re.compile(rf"broker:\d{{1,10}}|rack:{NAME_PATTERN}|{NAME_PATTERN}(/\d{{1,9}})?", re.ASCII)
_BY_LATENCY = "by_latency"
_Version = Literal["4.4", "4.3", "4.2", "4.1", "4.0", "0.9"]
_BETWEEN = re.compile(r"(0\.1\d|[123]\.\d+)(\.\d+)*|[123]\.x", re.ASCII)


def _fetch(value: Any, info: ValidationInfo) -> Distribution | None:
    return None if value == _BY_LATENCY else read_distribution(value, info)


def _fetch_text(fetch: Distribution | None) -> Any:
    return _BY_LATENCY if fetch is None else write_distribution(fetch)


FetchField = Annotated[
    Distribution | None,
    BeforeValidator(_fetch),
    PlainSerializer(_fetch_text),
    WithJsonSchema({"anyOf": [{"const": _BY_LATENCY}, DISTRIBUTION_SCHEMA]}),
]
"""A distribution in the file, or ``by_latency``: None inside."""


class BrokerFile(FileModel):
    """One broker. ``bandwidth`` is what it can send to consumers in a second, besides what followers copy."""

    id: int = Field(ge=0, le=2**31 - 1)
    rack: str = Field(default="", pattern=rf"^({NAME_PATTERN})?$")
    bandwidth: Annotated[Size, BeforeValidator(more_than_nothing(_NO_BANDWIDTH))] | None = None


def _brokers(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 10_000:
            raise refusal("must be from 1 to 10000 brokers")
        return [{"id": index} for index in range(value)]
    if isinstance(value, list):
        return value
    raise refusal("must be a number of brokers, or a list such as [{id: 0, rack: a}]")


def _place(value: Any) -> str:
    if isinstance(value, str) and _PLACE.fullmatch(value):
        return value
    raise refusal("must be a place: rack:a, broker:1, a group, or a member such as billing/3")


class LinkFile(FileModel):
    """One-way latency between two places, both directions."""

    between: list[Annotated[str, BeforeValidator(_place)]] = Field(min_length=2, max_length=2)
    latency: DistributionField


class NetworkFile(FileModel):
    """One-way latency, links that differ, and loss as a retransmission delay.

    ``cross_rack_price_per_gb`` is what reading 10^9 bytes across racks costs, in any currency.
    """

    latency: DistributionField = _DEFAULT.latency
    links: list[LinkFile] = []
    loss: float = Field(default=0.0, ge=0, lt=1)
    retransmission: Duration = _DEFAULT.retransmission_us
    cross_rack_price_per_gb: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class TimingFile(FileModel):
    """Times that come from the implementation and not from configuration (`sim.config.Timing`)."""

    former_keys: ClassVar[Mapping[str, str]] = {
        "service": "cluster.event_loop.handling",
        "append": "cluster.offsets_topic.append",
    }

    connect: DistributionField = Timing().connect
    join_prepare: DistributionField = Timing().join_prepare
    sync_prepare: DistributionField = Timing().sync_prepare
    initial_delay_late: DistributionField = Timing().initial_delay_late
    pattern_resolve: DistributionField = Timing().pattern_resolve
    metadata: DistributionField = Timing().metadata
    leader_change: DistributionField = Timing().leader_change
    first_leader_change: DistributionField = Timing().first_leader_change
    poll: Duration = Timing().poll_us


class EventLoopFile(FileModel):
    """How long each kind of request keeps the event loop of its shard busy (`sim.config.EventTimes`): measured.

    What ends a phase of a rebalance takes ``round`` or ``target`` besides, and ``answer`` for each member. ``handling``
    is what any request takes in network and I/O threads; requests that no shard works on take nothing else.
    """

    handling: Duration = Timing().service_us
    heartbeat: Duration = _TIMES.heartbeat_us
    consumer_heartbeat: Duration = _TIMES.consumer_heartbeat_us
    join: Duration = _TIMES.join_us
    sync: Duration = _TIMES.sync_us
    leave: Duration = _TIMES.leave_us
    commit: Duration = _TIMES.commit_us
    fetch: Duration = _TIMES.fetch_us
    change: Duration = _TIMES.change_us
    reconcile: Duration = _TIMES.reconcile_us
    target: Duration = _TIMES.target_us
    round: Duration = _TIMES.round_us
    answer: Duration = _TIMES.answer_us


class OffsetsTopicFile(FileModel):
    """``__consumer_offsets``: what its partitions hold when the run begins, and what a write waits for.

    ``size`` is that of each partition; what groups write comes on top. ``append`` is what a broker takes to append to
    a log; ``follower_fetch`` is how much later the last follower in sync has it, or ``by_latency``. Without followers
    there is no such wait.
    Partitions and replicas are ``offsets.topic.num.partitions`` and ``offsets.topic.replication.factor`` in ``config``.
    """

    size: Size = Cluster().offsets_log_bytes
    append: Duration = Timing().append_us
    follower_fetch: FetchField = Timing().follower_fetch


class ZookeeperFile(FileModel):
    """A ZooKeeper ensemble (`sim.model.Zookeeper`); groups of ``protocol: zookeeper`` have one in any case."""

    nodes: int = Field(default=_ZOOKEEPER.nodes, ge=1, le=101)
    follower_lag: DistributionField = _ZOOKEEPER.follower_lag
    read: Duration = _ZOOKEEPER.read_us
    write: Duration = _ZOOKEEPER.write_us
    sync: Duration = _ZOOKEEPER.sync_us
    tick: Duration = _ZOOKEEPER.tick_us
    election: Duration = _ZOOKEEPER.election_us

    @model_validator(mode="after")
    def _check_tick(self) -> ZookeeperFile:
        if not self.tick:
            raise refusal("tick must be more than nothing: sessions are counted in it")
        return self


def _version(value: Any) -> Any:
    """A version of brokers; those between 0.9 and 4.0 are answered with the nearest."""
    text = version_text(value)
    if isinstance(text, str) and _BETWEEN.fullmatch(text):
        known = ", ".join(get_args(_Version))
        raise refusal(
            f"must be one of {known}; nearest to brokers of 0.10 to 3.9 is 4.0, for groups of the classic protocol"
            " (defaults of theirs that differ belong to cluster.config)"
        )
    return text


class ClusterFile(FileModel):
    """Brokers and everything between them and the clients.

    ``version`` says whose rules the group coordinator follows, and which of Kafka's keys it knows.
    ``transaction_version`` is the level of the feature transaction.version: 2, unless the cluster was made before 4.0
    and nobody has raised it since.
    """

    former_keys: ClassVar[Mapping[str, str]] = {"coordinator": "cluster.version"}

    brokers: Annotated[
        list[BrokerFile],
        BeforeValidator(_brokers, json_schema_input_type=int | list[BrokerFile]),
        Field(min_length=1, max_length=10_000),
    ] = [BrokerFile(id=index) for index in range(3)]
    version: Annotated[_Version, BeforeValidator(_version)] = "4.4"
    transaction_version: Annotated[Literal[1, 2], BeforeValidator(whole)] = 2
    config: BrokerConfigField = {}
    network: NetworkFile = NetworkFile()
    timing: TimingFile = TimingFile()
    event_loop: EventLoopFile = EventLoopFile()
    offsets_topic: OffsetsTopicFile = OffsetsTopicFile()
    zookeeper: ZookeeperFile = ZookeeperFile()

    @model_validator(mode="after")
    def _resolve(self) -> ClusterFile:
        ids = (broker.id for broker in self.brokers)
        refuse_repeated(ids, "brokers must have different ids", at=("brokers",), key="id")
        self.config = resolved_broker(self.version, self.config)
        return self

    def build(self) -> Cluster:
        """The cluster as the simulator takes it."""
        links = tuple(made(Link, link, between=(link.between[0], link.between[1])) for link in self.network.links)
        return Cluster(
            brokers=tuple(made(Broker, broker, bandwidth_bytes_per_s=broker.bandwidth) for broker in self.brokers),
            config=coordinator_config(self.version, self.config),
            log_retention_check_us=log_retention_check_us(self.config),
            network=made(Network, self.network, links=links),
            timing=made(
                Timing,
                self.timing,
                service_us=self.event_loop.handling,
                append_us=self.offsets_topic.append,
                follower_fetch=self.offsets_topic.follower_fetch,
            ),
            event_times=made(EventTimes, self.event_loop),
            broker_config=broker_config(self.config),
            offsets_log_bytes=self.offsets_topic.size,
            zookeeper=made(Zookeeper, self.zookeeper),
            transactions=transaction_config(self.config, self.transaction_version),
        )
