"""Which answers to a commit a client takes for something that passes: it commits again.

Source: ``RetriableException``, ``ConsumerCoordinator.onJoinPrepare``, ``commitOffsetsSync`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.lookup import LOST_COORDINATOR
from groupsim.sim.protocol.messages import Error

RETRIABLE = LOST_COORDINATOR.union({Error.COORDINATOR_LOAD_IN_PROGRESS})
"""``RetriableException``, as far as the answer to a commit of topics that are there can be one."""


def misses_topic(error: Error, behaviour: ClientBehaviour) -> bool:
    """Whether partitions were committed that are no more, and the client hopes that this passes (KAFKA-6829)."""
    return error is Error.UNKNOWN_TOPIC_OR_PARTITION and behaviour.repeats_deleted_commits


def is_retriable(error: Error, behaviour: ClientBehaviour) -> bool:
    """Whether a commit that was answered so is worth another try."""
    return error in RETRIABLE or misses_topic(error, behaviour)
