"""What ``data: exact`` cannot follow: more records than fit."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.model import RECORDS_MAX


def check_data(file: ScenarioFile) -> Iterator[Finding]:
    """Whether each group can follow all that is produced to the topics of the start, rates of the timeline aside."""
    if file.data != "exact":
        return
    changed = {entry.body.topic for entry in file.timeline if entry.verb == "set_rate"}
    records = sum(
        _produced(file, name) for name, topic in file.topics.items() if name not in changed and topic.partitions
    )
    most = RECORDS_MAX // sum(group.count for group in file.groups.values())
    if records > most:
        message = f"follows each record: {records:,} are produced by the horizon, at most {most:,} fit for each group"
        yield ("data",), f"{message}; shorten it, or say fluid", file.data


def _produced(file: ScenarioFile, name: str) -> int:
    topic = file.topics[name]
    try:
        rate = topic.rate.rate(topic.partitions, file.horizon)
    except ValueError:
        return 0  # `scenarios.build.checks` says what is wrong with it
    ends = [*rate.times_us[1:], file.horizon]
    produced = 0
    for begin, end, row in zip(rate.times_us, ends, rate.per_partition_mrps, strict=True):
        alike = sum(row) * topic.partitions // len(row)
        produced += alike * max(min(end, file.horizon) - begin, 0)
    return produced // 10**9
