"""Which answers to a commit a client takes for something that passes: it commits again.

Source: ``RetriableException``, ``ConsumerCoordinator.onJoinPrepare``, ``commitOffsetsSync`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.lookup import LOST_COORDINATOR
from groupsim.sim.protocol.messages import Error

RETRIABLE = LOST_COORDINATOR.union({Error.COORDINATOR_LOAD_IN_PROGRESS})
"""``RetriableException``, as far as the answer to a commit of topics that are there can be one."""


def is_retriable(error: Error, behaviour: ClientBehaviour) -> bool:
    """Whether a commit that was answered so is worth another try; of partitions that are no more too (KAFKA-6829)."""
    misses_topic = error is Error.UNKNOWN_TOPIC_OR_PARTITION
    return error in RETRIABLE or (misses_topic and behaviour.repeats_deleted_commits)
