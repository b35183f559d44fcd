"""From a group's record to rows of the result tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from groupsim.sim.books.broker_books import BrokerBooks
from groupsim.sim.books.causes import DETAILS, coarse
from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.record import ENDED_BY, GroupRecord
from groupsim.sim.books.shard_books import ShardBooks, ShardFigures
from groupsim.sim.model import Scenario
from groupsim.sim.output.cluster import broker_rows, queue_rows, shard_rows
from groupsim.sim.output.columns import of_mappings
from groupsim.sim.output.coordinators import coordinator_rows, placement_rows
from groupsim.sim.output.lag_figures import LagFigures, figures_of
from groupsim.sim.output.lag_reading import LagReading
from groupsim.sim.output.measures import (
    clip,
    gaps,
    longest_gaps_us,
    merge_touching,
    never_served,
    quantile,
    stop_the_world_us,
    unavailable_us,
)
from groupsim.sim.output.member_work import lives_of, slots_of, work_of
from groupsim.sim.output.origin import counted
from groupsim.sim.output.over_groups import over_groups_rows
from groupsim.sim.output.records import latency_columns, record_columns
from groupsim.sim.output.result import Tables, Text
from groupsim.sim.output.traffic import Traffic, traffic_summary
from groupsim.sim.output.transactions import output_rows, transaction_rows, transaction_summary
from groupsim.sim.output.zookeeper import zookeeper_row
from groupsim.sim.randomness import mean_of
from groupsim.sim.tables import CAUSES, TABLES
from groupsim.sim.units import FOREVER, seconds

Columns = dict[str, Any]
_SETTLED = ("Stable", "Empty", "Dead")
"""States in which a group has either no member or no rebalance; each protocol has names of its own for the others."""


class Tabulator:
    """Makes every table of a finished run.

    Parameters
    ----------
    scenario : Scenario
    books : sequence of GroupBooks
    shards : sequence of ShardBooks
    brokers : BrokerBooks
    producers : sequence of mapping of str to (str or int)
        Rows of table ``producers``.
    last_fault_us : int or None, microseconds
        When the last fault has ended.
    readings : mapping of str to LagReading
        Of groups whose logs are read as time passes.
    seed, replication : int
    variant : str
    """

    def __init__(
        self, scenario: Scenario, books: Sequence[GroupBooks], shards: Sequence[ShardBooks], brokers: BrokerBooks,
        producers: Sequence[Mapping[str, str | int]], last_fault_us: int | None, readings: Mapping[str, LagReading],
        *, seed: int, replication: int, variant: str,
    ) -> None:  # fmt: skip
        self._scenario = scenario
        self._shards = shards
        self._brokers = brokers
        self._producers = producers
        self._shard_of = {name: one.figures for one in shards for name in one.groups}
        self._books = sorted(books, key=lambda one: one.name)
        self._last_fault_us = last_fault_us
        self._readings = readings
        self._specs = {group.name: group for group in scenario.groups}
        self.identity = (scenario.name, variant, seed, replication)
        to = scenario.measure_to_us if scenario.measure_to_us is not None else scenario.horizon_us
        self.measure = (scenario.measure_from_us, to)

    def tables(self) -> Tables:
        """All tables, sorted and typed."""
        parts: dict[str, list[Columns]] = {name: [] for name in TABLES}
        told = (self._scenario.horizon_us, self.measure, self._scenario.origin_us)
        readings = [self._readings.get(group.name) for group in self._books]
        earlier = [None if one is None else one.earlier for one in readings]
        figures = figures_of([group.ledger for group in self._books], *told, earlier)
        for group, reading, lag in zip(self._books, readings, figures, strict=True):
            rows = merge_touching(self._unread(group))
            parts["unavailability"].append(self._unavailability(group, rows))
            unread, gap = unavailable_us(rows, len(group.partitions)), gaps(rows)
            lives = lives_of(group.record.lives, slots_of(group), lag)
            traffic = Traffic(group) if reading is None else reading.traffic
            traffic.add(lag, lives)
            summary = self._summary(group, unread, gap, self._stop_the_world(group, rows, gap), lag)
            summary |= traffic_summary(traffic, self._scenario, self.measure) | transaction_summary(group)
            parts["summary"].append(summary)
            parts["partitions"].append(_partitions(group, unread, gap, lag))
            parts["members"].append(_members(group, work_of(group.record.lives, lives, lag), traffic))
            records = record_columns(group, self._scenario.horizon_us)
            parts["records"].append(records)
            parts["latency"].append(latency_columns(group.name, records, self.measure))
            parts["zookeeper"].append(zookeeper_row(group, int(unread.sum())))
            parts["transactions"].append(transaction_rows(group))
            parts["output"].append(output_rows(group))
            for table in ("rebalances", "ownership", "lag", "requests", "states", "delivery", "events"):
                parts[table].append(getattr(self, f"_{table}")(group))
        parts["producers"].append(of_mappings(TABLES["producers"], self._producers))
        parts["coordinators"].append(coordinator_rows(self._shards))
        parts["placement"].append(placement_rows(self._shards, [one.id for one in self._scenario.cluster.brokers]))
        parts["brokers"].append(broker_rows(self._brokers, self._scenario.horizon_us))
        parts["shards"].append(shard_rows(self._shards, self._scenario.horizon_us))
        parts["queues"].append(queue_rows(self._shards, self._scenario.sample_every_us))
        parts["over_groups"].append(over_groups_rows(parts["summary"]))
        origin_us = self._scenario.origin_us
        return Tables({name: counted(name, _join(rows, TABLES[name]), origin_us) for name, rows in parts.items()})

    # --- one method per table -----------------------------------------------------------------------------------------

    def _unread(self, group: GroupBooks) -> Any:
        """Unavailability rows (`sim.output.measures.Rows`) in the window."""
        rows = clip(group.record.unavailability.array(), *self.measure, 1, 2)
        if group.first_service_us is not None:
            return rows
        clock_us = group.clock_us(self._scenario.horizon_us)
        ends_us = self._ends_us(group, clock_us)
        return never_served(rows, clock_us, ends_us, group.availability.first_join_us, self.measure[1])

    def _ends_us(self, group: GroupBooks, clock_us: Any) -> Any:
        """When each partition is no more, or the window ends; not before its clock starts."""
        return np.maximum(np.minimum(group.partitions.ends_us, self.measure[1]), clock_us)

    def _unavailability(self, group: GroupBooks, rows: Any) -> Columns:
        return {
            **_places(group, rows[:, 0]),
            "from_us": rows[:, 1], "to_us": rows[:, 2], "cause": Text(["", *CAUSES], coarse(rows[:, 3])),
            "detail": Text(DETAILS, rows[:, 3]),
        }  # fmt: skip

    def _ownership(self, group: GroupBooks) -> Columns:
        rows = group.record.ownership.array()
        names = group.handles.names or [""]
        return {
            **_places(group, rows[:, 0]), "member": Text(names, rows[:, 1]),
            "from_us": rows[:, 2], "to_us": rows[:, 3], "ended_by": Text(ENDED_BY, rows[:, 4]),
        }  # fmt: skip

    def _rebalances(self, group: GroupBooks) -> Columns:
        found = group.record.rebalances
        broadcast = group.is_broadcast
        columns: Columns = {
            "group": _name(group, len(found)),
            "generations": [one.generation_to - one.generation_from for one in found],
            "members_kicked": [one.kicked for one in found],
            "partitions_moved": [None if broadcast else one.moved for one in found],
            "partitions_moved_min": [None if broadcast else one.moved_min for one in found],
            "rscore": [self._rscore(group, one.moved_mrps) for one in found],
        }
        for column in TABLES["rebalances"]:
            if column not in columns:
                columns[column] = [getattr(one, column) for one in found]
        return columns

    def _lag(self, group: GroupBooks) -> Columns:
        time_us, records, age_us = group.record.lag.array().T
        return {"group": _name(group, len(time_us)), "time_us": time_us, "lag_records": records, "lag_us": age_us}

    def _requests(self, group: GroupBooks) -> Columns:
        found = [(api, error, count) for (api, error), count in sorted(group.record.requests.items()) if count]
        return {
            "group": _name(group, len(found)), "api": [row[0] for row in found],
            "error": [row[1] for row in found], "count": [row[2] for row in found],
        }  # fmt: skip

    def _states(self, group: GroupBooks) -> Columns:
        stretches = self._stretches(group)
        return {
            "group": _name(group, len(stretches)),
            "from_us": [row[0] for row in stretches], "to_us": [row[1] for row in stretches],
            "state": [row[2] for row in stretches], "generation": [row[3] for row in stretches],
        }  # fmt: skip

    def _stretches(self, group: GroupBooks) -> list[tuple[int, int, str, int]]:
        """(from, to, state, generation) of all time, without those states that were left at once."""
        entered = group.record.states
        ends = [*(row[0] for row in entered), self._scenario.horizon_us][1:]
        return [
            (begin, end, state, generation)
            for (begin, state, generation), end in zip(entered, ends, strict=True)
            if end > begin
        ]

    def _delivery(self, group: GroupBooks) -> Columns:
        found = sorted(group.record.delivery.items())
        return {
            "group": _name(group, len(found)), "kind": [key[0] for key, _ in found],
            "cause": [key[1] for key, _ in found], "records": [records for _, records in found],
        }  # fmt: skip

    def _events(self, group: GroupBooks) -> Columns:
        found = sorted(group.record.events)
        return {
            "group": _name(group, len(found)),
            "time_us": [row[0] for row in found], "entry": [row[1] for row in found],
            "verb": [row[2] for row in found], "target": [row[3] for row in found],
        }  # fmt: skip

    # --- summary ------------------------------------------------------------------------------------------------------

    def _rscore(self, group: GroupBooks, moved_mrps: int) -> float | None:
        """Moved rate over a consumer's capacity, 1 / mean per_record."""
        per_record = mean_of(self._specs[group.name].processing.per_record)
        return moved_mrps * per_record / 1e9 if per_record and not group.is_broadcast else None

    def _within(self, group: GroupBooks) -> list[Any]:
        low, high = self.measure
        return [one for one in group.record.rebalances if low <= one.start_us <= high]

    def _summary(self, group: GroupBooks, unread: Any, gap: Any, stopped_us: int, lag: LagFigures) -> Columns:
        record, scenario = group.record, self._scenario
        name, variant, seed, replication = self.identity
        rebalances = self._within(group)
        lengths = [min(one.end_us, self.measure[1]) - one.start_us for one in rebalances]
        per_partition, causes = unread.sum(axis=1), unread.sum(axis=0)
        broadcast = group.is_broadcast
        values = {
            "scenario": name, "variant": variant, "group": group.name, "seed": seed, "replication": replication,
            "horizon_s": seconds(scenario.horizon_us - scenario.origin_us), "members": self._members_max(group),
            "partitions": len(group.partitions), "rebalances": len(rebalances),
            "generations": sum(one.generation_to - one.generation_from for one in rebalances),
            "rebalance_s_total": seconds(sum(lengths)), "rebalance_s_max": seconds(max(lengths, default=0)),
            "stop_the_world_s": seconds(stopped_us),
            "unavailable_partition_s": seconds(int(per_partition.sum())),
            "unavailable_s_max": seconds(int(per_partition.max(initial=0))),
            "unavailable_s_p99": quantile(per_partition, 0.99) / 1e6,
            "unavailable_gap_s_max": seconds(int((gap[:, 2] - gap[:, 1]).max(initial=0))),
            **{f"unavailable_{cause}_s": seconds(int(causes[code])) for code, cause in enumerate(CAUSES, start=1)},
            "paused_s": seconds(record.paused_us), "zombie_s": seconds(record.zombie_us),
            "partitions_moved": None if broadcast else sum(one.moved for one in rebalances),
            "partitions_moved_min": None if broadcast else sum(one.moved_min for one in rebalances),
            "rscore": self._rscore(group, sum(one.moved_mrps for one in rebalances)),
            "imbalance_partitions_max": record.imbalance_max,
            "lag_records_max": lag.records_max, "lag_records_end": lag.records_end,
            "lag_s_max": seconds(lag.age_us),
            "recovery_s": lag.recovery_s(self._last_fault_us, scenario.recovery_lag_records),
            "duplicates": _total(record.delivery, "duplicate"), "losses": _total(record.delivery, "loss"),
            "joins": record.counts["joins"], "leaves": record.counts["leaves"],
            "evictions": record.counts["evictions"], "fenced": record.counts["fenced"],
            "requests": sum(record.requests.values()),
            "failed_assignments": record.counts["failed_assignments"],
            "unstable_s": seconds(self._unstable_us(group)), "end_state": self._end_state(group),
            "first_service_s": self._first_service_s(group),
            "failed": sum(life.ended_by.startswith("failed") for life in record.lives),
            "stale_commits": record.requests["OffsetCommit", "STALE_MEMBER_EPOCH"],
            "idle_heartbeats": _idle_heartbeats(record), **_shard_summary(self._shard_of[group.name]),
        }  # fmt: skip
        return {column: [value] for column, value in values.items()}

    def _members_max(self, group: GroupBooks) -> int:
        """Most members alive at once."""
        steps = sorted(
            [(life.started_us, 1) for life in group.record.lives]
            + [(life.ended_us, -1) for life in group.record.lives if life.ended_by != "horizon"]
        )
        alive = np.cumsum([step for _, step in steps]) if steps else np.zeros(1, np.int64)
        return int(alive.max())

    def _stop_the_world(self, group: GroupBooks, rows: Any, gap: Any) -> int:
        first_service_us, end = group.first_service_us, self.measure[1]
        clock = group.clock_us(self._scenario.horizon_us)
        if first_service_us is None:
            return max(end - int(clock.min(initial=FOREVER)), 0)
        if group.availability.first_join_us > end:
            return 0
        return stop_the_world_us(rows, gap, clock, self._ends_us(group, clock), first_service_us)

    def _unstable_us(self, group: GroupBooks) -> int:
        """Time in the window in which the group had members and was not Stable.

        A rebalance takes as long, but a consumer group is Reconciling without one, too, while a static member is away.
        """
        low, high = self.measure
        return sum(
            max(min(end, high) - max(begin, low), 0)
            for begin, end, state, _ in self._stretches(group)
            if state not in _SETTLED
        )

    def _first_service_s(self, group: GroupBooks) -> float | None:
        first_us = group.first_service_us
        return None if first_us is None else seconds(max(first_us - self._scenario.origin_us, 0))

    def _end_state(self, group: GroupBooks) -> str:
        """The group's state at the window's end; Dead is what a coordinator says of a group that it does not know."""
        entered = [state for time, state, _ in group.record.states if time <= self.measure[1]]
        return entered[-1] if entered else "Dead"


def _partitions(group: GroupBooks, unread: Any, gap: Any, lag: LagFigures) -> Columns:
    count = len(group.partitions)
    return {
        **_places(group, np.arange(count)),
        "unavailable_us": unread.sum(axis=1),
        **{f"{cause}_us": unread[:, code] for code, cause in enumerate(CAUSES, start=1)},
        "gap_us_max": longest_gaps_us(gap, count), "lag_records_max": lag.record_peaks,
        "moved": np.full(count, None) if group.is_broadcast else group.rebalances.moved,
        "duplicates": group.delivery.duplicates,
    }  # fmt: skip


def _members(group: GroupBooks, work: Columns, traffic: Traffic) -> Columns:
    lives = group.record.lives
    columns: Columns = {"group": _name(group, len(lives)), **work}
    nothing = np.full(len(lives), None)
    columns["read_bytes"] = traffic.read if traffic.is_known else nothing
    columns["cross_rack_bytes"] = traffic.crossed if traffic.is_known else nothing
    for column in TABLES["members"]:
        if column not in columns:
            columns[column] = [getattr(life, column) for life in lives]
    return columns


def _name(group: GroupBooks, rows: int) -> Text:
    """The column ``group``: in runs of many groups it is not compared row by row."""
    return Text([group.name], np.zeros(rows, np.int8))


def _places(group: GroupBooks, positions: Any) -> Columns:
    topics = sorted(set(group.partitions.topic)) or [""]
    number = {topic: index for index, topic in enumerate(topics)}
    of_position = np.array([number[topic] for topic in group.partitions.topic] or [0])
    return {
        "group": _name(group, len(positions)),
        "topic": Text(topics, of_position[positions]), "partition": group.partitions.number[positions],
    }  # fmt: skip


def _idle_heartbeats(record: GroupRecord) -> int:
    """Heartbeats by which nothing has changed; by one of the classic protocol nothing ever does."""
    answered = sum(record.requests[api, "NONE"] for api in ("Heartbeat", "ConsumerGroupHeartbeat"))
    return answered - record.counts["busy_heartbeats"]


def _shard_summary(found: ShardFigures) -> Columns:
    waits = {"p99": found.wait_p99_us, "max": found.wait_max_us}
    return {
        "coordinator_utilisation": found.utilisation,
        **{f"coordinator_wait_s_{name}": None if wait is None else seconds(wait) for name, wait in waits.items()},
    }


def _total(delivery: Any, kind: str) -> int:
    return sum(records for (one, _), records in delivery.items() if one == kind)


def _join(parts: list[Columns], columns: Iterable[str]) -> Columns:
    """The rows of all groups below one another."""
    first, *_ = columns = tuple(columns)
    parts = [part for part in parts if len(part[first])]
    return {column: _concatenate([part[column] for part in parts]) for column in columns}


def _concatenate(parts: list[Any]) -> Any:
    if not parts:
        return []
    if isinstance(parts[0], Text):
        return Text.joined(parts) if len(parts) > 1 else parts[0]
    if len(parts) > 1 and all(type(part) is list for part in parts):
        return np.asarray(list(chain.from_iterable(parts)))
    # A copy of millions of rows costs as much as everything else that is done to them.
    return np.concatenate([np.asarray(part) for part in parts]) if len(parts) > 1 else np.asarray(parts[0])
