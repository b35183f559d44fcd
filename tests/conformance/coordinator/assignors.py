"""Server assignors of one conversation: those that say what was prepared, and those that change nothing."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors import AssignorError
from groupsim.sim.protocol.consumer.assigning import AssignorInput, Computed, TargetAssignor
from groupsim.sim.protocol.messages import NO_PARTITIONS
from tests.conformance.coordinator.fields import Difference, Unplayable
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json


class Assignors:
    """By name, in the broker's order.

    Parameters
    ----------
    listed : list
        The conversation's ``assignors``.
    topics : Topics
    """

    def __init__(self, listed: Json, topics: Topics) -> None:
        self._topics = topics
        self._prepared = {one["name"]: one.get("prepared", {}) for one in listed}
        self._script: list[Json] = []
        kinds = {"mock": self._mock, "no-op": self._no_op, "script": self._scripted, "builtin": self._scripted}
        if strange := {one["kind"] for one in listed} - kinds.keys():
            raise Unplayable(f"assignors of kind {sorted(strange)[0]}")
        self.by_name: dict[str, TargetAssignor] = {one["name"]: kinds[one["kind"]](one["name"]) for one in listed}

    @property
    def names(self) -> tuple[str, ...]:
        """In the broker's order; a broker without any has Kafka's."""
        return tuple(self.by_name) or ("uniform", "range")

    def prepare(self, name: str, members: Json) -> None:
        """What a mock says from now on."""
        self._prepared[name] = members

    def follow(self, runs: Json) -> None:
        """What scripts say in this step, in order."""
        self._script = list(runs)

    def _mock(self, name: str) -> TargetAssignor:
        def run(group: AssignorInput) -> Computed:
            if self._script and "result" not in self._script[0]:
                raise AssignorError(str(self._script.pop(0)))
            return self._computed(group, self._prepared[name])

        return run

    def _scripted(self, name: str) -> TargetAssignor:
        def run(group: AssignorInput) -> Computed:
            if not self._script:
                raise Difference(f"the machine runs the assignor {name}, Kafka does not")
            said = self._script.pop(0)
            if "result" not in said:
                raise AssignorError(str(said))
            return self._computed(group, said["result"])

        return run

    def _no_op(self, name: str) -> TargetAssignor:
        return lambda group: Computed(group.targets)

    def _computed(self, group: AssignorInput, members: Mapping[str, Json]) -> Computed:
        return Computed(
            [self._topics.positions(members[one]) if one in members else NO_PARTITIONS for one in group.member_ids]
        )
