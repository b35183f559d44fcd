"""The ``topics`` of a scenario file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from groupsim.scenarios.files.base_model import FileModel, refusal
from groupsim.scenarios.kafka.broker_config import is_unclean, min_insync, retention_us
from groupsim.scenarios.kafka.config import TopicConfigField
from groupsim.scenarios.schema.rates import PerPartition, RateField
from groupsim.scenarios.schema.sizes import Size, more_than_nothing
from groupsim.sim.model import Topic

PARTITIONS_MAX = 1_000_000
_NO_SIZE = "without record_size no bytes are counted, and no bandwidth is felt"


def _acks(value: Any) -> str:
    """``acks`` of ``ProducerConfig``: -1 is another word for all."""
    spelled = {0: "0", 1: "1", -1: "all", "0": "0", "1": "1", "-1": "all", "all": "all"}
    if isinstance(value, int | str) and not isinstance(value, bool) and value in spelled:
        return spelled[value]
    raise refusal("must be 0, 1 or all")


AcksField: TypeAlias = Annotated[
    Literal["0", "1", "all"],
    BeforeValidator(_acks),
    PlainSerializer(lambda value: value if value == "all" else int(value)),
    WithJsonSchema({"enum": [0, 1, "all"]}),
]


class TopicFile(FileModel):
    """A topic: how many partitions, how fast it is written, how long records are kept and on how many brokers.

    Without ``replication_factor`` it is the brokers' ``default.replication.factor``, or three if that is not given.
    ``acks`` is what its producers wait for. ``record_size`` is that of a record as it is sent, compressed; without it
    nothing is said of bytes.
    """

    bare_key: ClassVar[str] = "partitions"

    partitions: int = Field(ge=1, le=PARTITIONS_MAX)
    rate: RateField = PerPartition(per_partition=0.0)
    replication_factor: int | None = Field(default=None, ge=1, le=100)
    acks: AcksField = "all"
    record_size: Annotated[Size, BeforeValidator(more_than_nothing(_NO_SIZE))] | None = None
    config: TopicConfigField = {}

    def build(self, name: str, broker_config: Mapping[str, Any], horizon_us: int) -> Topic:
        """The topic as the simulator takes it.

        Raises
        ------
        ValueError
            The rate does not fit the number of partitions or the horizon.
        """
        return Topic(
            name=name,
            partitions=self.partitions,
            rate=self.rate.rate(self.partitions, horizon_us),
            retention_us=retention_us(self.config, broker_config, horizon_us),
            replication_factor=self.replicas(broker_config),
            min_insync_replicas=min_insync(self.config, broker_config),
            unclean_leader_election=is_unclean(self.config, broker_config),
            acks=self.acks,
            record_bytes=self.record_size,
        )

    def replicas(self, broker_config: Mapping[str, Any]) -> int:
        """How many replicas are asked for."""
        return int(self.replication_factor or broker_config.get("default.replication.factor", 3))
