"""``produces`` of a group: what its members write, in transactions, and by which producer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from groupsim.scenarios.files.base_model import FileModel, refusal
from groupsim.scenarios.kafka.config import ProducerConfigField
from groupsim.scenarios.kafka.producer_config import producer_config
from groupsim.scenarios.schema.subscriptions import TopicName
from groupsim.sim.model import Produces


def _transactional_id(value: str) -> str:
    try:
        named = value.format(member="m", incarnation=1)
    except (KeyError, IndexError, ValueError, AttributeError):
        raise refusal("must be text with {member} and {incarnation} in it, and no other braces") from None
    if not named:
        raise refusal("must not be empty")
    return value


class ProducesFile(FileModel):
    """One output record for each input record, a transaction for each batch of a poll().

    ``transactional_id`` names each member's id; ``config`` has the producer's keys.
    """

    to: TopicName
    transactional_id: Annotated[str, AfterValidator(_transactional_id)] = "{member}"
    config: ProducerConfigField = {}

    def build(self) -> Produces:
        """What members produce, as the simulator takes it."""
        fields: dict[str, Any] = {"to": self.to, "transactional_id": self.transactional_id}
        return Produces(**fields, producer=producer_config(self.config))
