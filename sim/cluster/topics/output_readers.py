"""Groups that read what other groups produce: what they see of an output topic, and since when.

Readers of ``read_committed`` get what is below the last stable offset and not aborted, those of ``read_uncommitted``
all below the high watermark (``KafkaApis.handleFetchRequest``, ``UnifiedLog.read``, Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.arrivals import Arrivals
from groupsim.sim.books.producing.transactions import LEVELS
from groupsim.sim.cluster.topics.arrival_news import ArrivalNews
from groupsim.sim.cluster.topics.output_log import OutputLog, WrittenBatch
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.protocol.transactions.messages import TopicPartition


class OutputReaders:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    news : ArrivalNews

    Attributes
    ----------
    arrivals : dict of (topic -> isolation level -> Arrivals)
    """

    def __init__(self, env: Environment, news: ArrivalNews) -> None:
        self._env = env
        self._news = news
        self.arrivals = news.arrivals
        self._shown: dict[tuple[TopicPartition, str], int] = {}
        """How many entries of a partition's log readers of a level have passed."""
        self._hidden: dict[str, int] = {}

    def show(self, partition: TopicPartition, log: OutputLog) -> None:
        """Its high watermark may have moved, or its last stable offset."""
        topic = partition[0]
        for level, arrivals in self.arrivals[topic].items():
            if self._pass_over(partition, level, log, arrivals):
                self._news.tell(topic, level)

    def hide(self, partition: TopicPartition, log: OutputLog, kept: int) -> None:
        """All but so many entries of its log go."""
        for level in self.arrivals[partition[0]]:
            passed = self._shown.get((partition, level), 0)
            gone = [one for one in log.written[kept:passed] if isinstance(one, WrittenBatch)]
            seen = [one for one in gone if level == LEVELS[1] or not log.is_aborted(one)]
            self._hidden[level] = sum(one.batch.records for one in seen)
            self._shown[partition, level] = min(passed, kept)

    def hidden(self) -> dict[str, int]:
        """How many records of each level have gone since that was asked last."""
        hidden, self._hidden = self._hidden, {}
        return hidden

    def _pass_over(self, partition: TopicPartition, level: str, log: OutputLog, arrivals: Arrivals) -> bool:
        """What readers of a level see for the first time; whether there are records among it."""
        is_committed, now = level == "read_committed", self._env.now
        end, first = log.log.end_for(is_committed=is_committed), self._shown.get((partition, level), 0)
        passed, has_records = first, False
        for one in log.written[first:]:
            if one.end > end:
                break
            passed += 1
            if isinstance(one, WrittenBatch) and not (is_committed and log.is_aborted(one)):
                arrivals.show(now, partition[1], (one.at_us,) * one.batch.records)
                has_records = True
        self._shown[partition, level] = passed
        return has_records
