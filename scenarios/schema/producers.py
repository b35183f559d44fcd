"""The ``producers`` of a scenario file: who sends what is produced to topics, by which configuration."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from groupsim.scenarios.files.base_model import FileModel
from groupsim.scenarios.kafka.config import ProducerConfigField
from groupsim.scenarios.kafka.producer_config import producer_config
from groupsim.scenarios.schema.sizes import Size
from groupsim.scenarios.schema.subscriptions import TopicName
from groupsim.sim.model import Producers

PRODUCERS_MAX: Final = 1_000
"""In one entry: each is a process with connections of its own."""


class ProducersFile(FileModel):
    """Producers that are alike: they take the records of their topics in turns.

    What the application sends is the topics' ``rate``, one record after the other.
    """

    topics: list[TopicName] = Field(min_length=1)
    count: int = Field(default=1, ge=1, le=PRODUCERS_MAX)
    record_size: Size = Field(default=1 << 10, ge=1)
    config: ProducerConfigField = {}

    def build(self, name: str) -> Producers:
        """The producers as the simulator takes them."""
        return Producers(
            name=name, topics=tuple(self.topics), count=self.count, config=producer_config(self.config),
            record_bytes=self.record_size,
        )  # fmt: skip

    @property
    def acks(self) -> str:
        """What ``acks`` of the topics is then."""
        return {0: "0", 1: "1", -1: "all"}[producer_config(self.config).acks]
