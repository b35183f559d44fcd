"""Names, dtypes and units of every result table. A leaf: imports nothing, so that analysis may use it alone.

Times are whole microseconds of virtual time in columns ending in ``_us``; ``summary`` speaks seconds (``_s``).
Rows are sorted by the columns in ``SORTED_BY`` before they are written, so that the order in which facts were
found (late facts of quiet members come out of order) never shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

INT = "int64"
FLOAT = "float64"
TEXT = "string"

SUMMARY: Final = MappingProxyType(
    {
        "scenario": TEXT, "variant": TEXT, "group": TEXT, "seed": INT, "replication": INT,
        "horizon_s": FLOAT, "members": INT, "partitions": INT,
        "rebalances": INT, "generations": INT, "rebalance_s_total": FLOAT, "rebalance_s_max": FLOAT,
        "stop_the_world_s": FLOAT,
        "unavailable_partition_s": FLOAT, "unavailable_s_max": FLOAT, "unavailable_s_p99": FLOAT,
        "unavailable_gap_s_max": FLOAT,
        "unavailable_detection_s": FLOAT, "unavailable_away_s": FLOAT,
        "unavailable_barrier_s": FLOAT, "unavailable_assignment_s": FLOAT,
        "unavailable_resume_s": FLOAT, "unavailable_unowned_s": FLOAT,
        "paused_s": FLOAT, "zombie_s": FLOAT,
        "partitions_moved": INT, "partitions_moved_min": INT, "rscore": FLOAT, "imbalance_partitions_max": INT,
        "lag_records_max": INT, "lag_records_end": INT, "lag_s_max": FLOAT, "recovery_s": FLOAT,
        "duplicates": INT, "losses": INT,
        "joins": INT, "leaves": INT, "evictions": INT, "fenced": INT, "requests": INT,
        "failed_assignments": INT, "unstable_s": FLOAT, "end_state": TEXT, "first_service_s": FLOAT,
        "failed": INT, "stale_commits": INT, "idle_heartbeats": INT,
        "coordinator_utilisation": FLOAT, "coordinator_wait_s_p99": FLOAT, "coordinator_wait_s_max": FLOAT,
        "read_bytes": INT, "cross_rack_bytes": INT, "cross_rack_cost_per_month": FLOAT,
        "aborted_share": FLOAT,
    }
)  # fmt: skip
"""One row per run and group. Nullable: rscore, recovery_s, partitions_moved and partitions_moved_min (broadcast), and
``first_service_s``, which is null for a group that never served a partition. ``failed``: members that died of an error
which poll() throws; ``stale_commits``: commits refused with STALE_MEMBER_EPOCH; ``idle_heartbeats``: heartbeats that
were answered and changed nothing; ``coordinator_...``: of its shard (`COORDINATORS`), which other groups share;
``read_bytes``: of the records that were processed, ``cross_rack_bytes`` from brokers in other racks, both null where
the size of records is not known; ``cross_rack_cost_per_month``: what 30 days like the time that counts cost, null
without a price; ``aborted_share``: of the transactions that were decided (`TRANSACTIONS`), over the whole run, null if
none was."""

IDENTITY: Final = ("scenario", "variant", "group", "seed", "replication", "horizon_s")
"""Columns of ``summary`` that say whose row it is, and of what run."""

ADD_UP: Final = frozenset(
    {
        "members", "partitions", "rebalances", "generations", "rebalance_s_total", "stop_the_world_s",
        "unavailable_partition_s", "unavailable_detection_s", "unavailable_away_s", "unavailable_barrier_s",
        "unavailable_assignment_s", "unavailable_resume_s", "unavailable_unowned_s", "paused_s", "zombie_s",
        "partitions_moved", "partitions_moved_min", "lag_records_end", "duplicates", "losses", "joins", "leaves",
        "evictions", "fenced", "requests", "failed_assignments", "unstable_s", "failed", "stale_commits",
        "idle_heartbeats", "read_bytes", "cross_rack_bytes", "cross_rack_cost_per_month",
    }
)  # fmt: skip
"""Columns of ``summary`` whose sum over groups means something; peaks of several groups come at several times."""

OVER_GROUPS: Final = MappingProxyType(
    {
        "metric": TEXT, "groups": INT, "total": FLOAT, "p50": FLOAT, "p90": FLOAT, "p99": FLOAT, "max": FLOAT,
        "max_group": TEXT,
    }
)  # fmt: skip
"""One row per number of ``summary``, over all groups of the run, in its unit.

``groups``: how many have a value; ``total``: null where values do not add up (`ADD_UP`); quantiles over groups,
interpolated; ``max_group``: who has the most, of equals the first by name.
"""

PLACEMENT: Final = MappingProxyType(
    {
        "node": INT, "shards": INT, "shards_first": INT, "groups": INT, "groups_first": INT, "groups_shard_max": INT,
        "members": INT, "utilisation": FLOAT,
    }
)  # fmt: skip
"""One row per broker: what it coordinates when the run ends, and what it did first (``..._first``).

A shard is a partition of ``__consumer_offsets`` with groups, which the hash of a group's id picks;
``groups_shard_max``: most groups in one of them. ``utilisation``: of its shards, as if they had always been there; 1 is
all that one thread can do. Node -1 has shards that nobody leads.
"""

REBALANCES: Final = MappingProxyType(
    {
        "group": TEXT, "start_us": INT, "end_us": INT, "trigger": TEXT, "reason": TEXT, "ended_by": TEXT,
        "generation_from": INT, "generation_to": INT, "generations": INT,
        "preparing_us": INT, "completing_us": INT,
        "members_before": INT, "members_after": INT, "members_in": INT, "members_out": INT, "members_kicked": INT,
        "partitions_moved": INT, "partitions_moved_min": INT, "rscore": FLOAT,
        "imbalance_partitions": INT, "stdev_partitions": FLOAT, "imbalance_rate": FLOAT, "stdev_rate": FLOAT,
        "reported_us": INT,
    }
)  # fmt: skip
"""One row per rebalance: from leaving Stable (or Empty) until Stable or Empty; ``ended_by``: stable, empty, horizon.

A rebalance of a consumer group runs from a bump of the group epoch until every member has exactly its target.
``reported_us`` is when all of its members have reported the epoch, which can be long before that; null in a classic
group, or if they never have.
"""

OWNERSHIP: Final = MappingProxyType(
    {"group": TEXT, "topic": TEXT, "partition": INT, "member": TEXT, "from_us": INT, "to_us": INT, "ended_by": TEXT}
)
"""One row per stretch in which a member served a partition, zombies included; pauses do not end a stretch."""

UNAVAILABILITY: Final = MappingProxyType(
    {
        "group": TEXT, "topic": TEXT, "partition": INT, "from_us": INT, "to_us": INT, "cause": TEXT, "detail": TEXT,
    }
)  # fmt: skip
"""One row per partition, cause and detail; rows of one partition that touch are one gap.

``detail`` is empty but for what brokers hold up (cause ``detection``): ``no_leader`` (the leader is gone, and nobody
has been elected), ``new_leader`` (somebody has, and it or those who follow it have yet to begin), ``high_watermark``
(it stands, since one in sync does not fetch) and ``min_isr`` (it stands, since fewer are in sync than
``min.insync.replicas``); in groups of the consumer protocol ``revocation`` (for the donor) and ``assignment_interval``
(for a target) of a barrier, ``handover`` (for the new owner's heartbeat) of an assignment; and in groups of the
ZooKeeper protocol, by what the member is at that is to own the partition: ``backoff`` (it waits for its next try) of a
barrier, ``claim`` (it works out and claims its part), ``given_up`` (all tries have failed) and ``overlooked`` (it has
settled on something else) of an assignment.
"""

MEMBERS: Final = MappingProxyType(
    {
        "group": TEXT, "member": TEXT, "incarnation": INT, "member_id": TEXT,
        "started_us": INT, "stable_us": INT, "ended_us": INT, "ended_by": TEXT,
        "rejoins": INT, "evicted": INT, "paused_us": INT,
        "records": INT, "busy": FLOAT, "partitions": FLOAT, "read_bytes": INT, "cross_rack_bytes": INT,
    }
)  # fmt: skip
"""One row per incarnation of a member; ``stable_us`` = -1 when it never was; ``ended_by`` horizon when alive.

``records``: what it has processed, read again or not; ``busy``: the share of its life that this takes at the pace that
it could keep; ``partitions``: how many it was processing, on average over its life; ``read_bytes`` and
``cross_rack_bytes``: of these records, null where their size is not known.
"""

PARTITIONS: Final = MappingProxyType(
    {
        "group": TEXT, "topic": TEXT, "partition": INT,
        "unavailable_us": INT, "unowned_us": INT, "detection_us": INT, "away_us": INT, "barrier_us": INT,
        "assignment_us": INT, "resume_us": INT, "gap_us_max": INT, "lag_records_max": INT, "moved": INT,
        "duplicates": INT,
    }
)  # fmt: skip
"""One row per partition of the group, summed over the time that counts; ``moved`` is null in a broadcast group."""

LAG: Final = MappingProxyType({"group": TEXT, "time_us": INT, "lag_records": INT, "lag_us": INT})
"""Sampled every ``scenario.sample_every``: sum over partitions, and the age of the oldest unprocessed record."""

REQUESTS: Final = MappingProxyType({"group": TEXT, "api": TEXT, "error": TEXT, "count": INT})
"""Requests answered, by API and error code."""

STATES: Final = MappingProxyType({"group": TEXT, "from_us": INT, "to_us": INT, "state": TEXT, "generation": INT})
"""The coordinator's state of the group over time, as Kafka names its states; a group of the ZooKeeper protocol is
Empty, Rebalancing or Stable: what a bystander would say who sees all of ZooKeeper."""

DELIVERY: Final = MappingProxyType({"group": TEXT, "kind": TEXT, "cause": TEXT, "records": INT})
"""Records read twice (``duplicate``) or never (``loss``), by cause.

``output duplicate`` and ``output loss``: input records of which an output topic has more than one record, or none, for
readers of the isolation level that is the cause. Of these, ``output loss (unclean)``: there was one, which is in no log
any more, or whose transaction nobody decides, because of an unclean election; ``output loss (truncated input)``: the
input was in no log any more before any was committed; ``output duplicate (unclean)``: made or shown again because of an
unclean election of the output, of the offsets or of ``__transaction_state``.
"""

EVENTS: Final = MappingProxyType({"group": TEXT, "time_us": INT, "entry": TEXT, "verb": TEXT, "target": TEXT})
"""What the timeline did, resolved: one row per entry and affected member, group, topic or broker."""

ZOOKEEPER: Final = MappingProxyType(
    {
        "group": TEXT, "reads": INT, "writes": INT, "pings": INT, "watch_notifications": INT, "stale_reads": INT,
        "conflicts": INT, "failed_tries": INT, "failed_rebalances": INT, "stale_settlements": INT,
        "two_readers_us": INT, "no_reader_us": INT, "utilisation_max": FLOAT, "utilisation_mean": FLOAT,
    }
)  # fmt: skip
"""One row per group of the ZooKeeper protocol, summed over the time that counts.

``stale_reads``: lists of members that were not those registered when they were read; ``conflicts``: owner nodes that
somebody else had; ``failed_tries``: of a rebalance, each with a backoff; ``failed_rebalances``: all tries of one member
have failed; ``stale_settlements``: a member has settled on a list of members that was not true any more;
``two_readers_us``, ``no_reader_us``: partition-time; ``utilisation``: of the busiest server, and of all, by all groups.
"""

COORDINATORS: Final = MappingProxyType(
    {
        "partition": INT, "node": INT, "groups": INT, "members": INT, "requests": INT, "utilisation": FLOAT,
        "basis": TEXT, "queue_mean": FLOAT, "queue_max": FLOAT, "wait_p50_us": INT, "wait_p99_us": INT,
        "wait_max_us": INT, "saturated_from": INT, "starved_from": INT, "loads": INT, "loading_us": INT,
    }
)  # fmt: skip
"""One row per shard, a partition of ``__consumer_offsets`` whose event loop works on the requests of some groups.

``node``: the broker that it is on at the end, -1: none. ``utilisation``: the share of the time that counts in which
the event loop is busy. ``basis``: ``queue`` where every request has taken its turn and was measured, ``formula``
where waits follow from the requests, as if these had come at random; then ``queue_max`` is null, and ``wait_max_us``
a bound that one of 8,192 exceeds. Waits are null where a queue has no end. ``saturated_from``: members from whom on
it has none; ``starved_from``: members from whom on heartbeats can wait longer than a session; both if its groups grow
alike. ``loads``: how often another broker has loaded it, and how long that took."""

BROKERS: Final = MappingProxyType({"node": INT, "from_us": INT, "to_us": INT, "state": TEXT, "leaders": INT})
"""One row per stretch in which a broker was in one state and led as many data partitions.

``state``: ``up``, ``closing`` (SIGTERM has come), ``unnoticed`` (dead, and not fenced yet), ``down``, ``starting``, or
``fenced`` (it runs, and the controller does not hear of it). ``leaders``: by what the controller has decided, so one
that is dead and unnoticed leads what it led; partitions that come into being count from its next decision on.
"""

SHARDS: Final = MappingProxyType(
    {"partition": INT, "groups": INT, "node": INT, "from_us": INT, "to_us": INT, "state": TEXT}
)
"""One row per stretch in which a shard (`COORDINATORS`) was on one broker: ``loading`` or ``active``; or ``nowhere``,
on broker -1."""

QUEUES: Final = MappingProxyType(
    {
        "partition": INT, "from_us": INT, "to_us": INT, "requests": INT, "wait_p50_us": INT, "wait_p99_us": INT,
        "wait_max_us": INT,
    }
)  # fmt: skip
"""What requests waited that had their turn within each stretch of ``scenario.sample_every``; one row per stretch with
any, and shard where each request takes its turn (``basis`` in `COORDINATORS` is ``queue``)."""

RECORDS: Final = MappingProxyType(
    {
        "group": TEXT, "topic": TEXT, "partition": INT, "offset": INT, "produced_us": INT, "delivery": INT,
        "fetched_us": INT, "processed_us": INT, "member": TEXT, "committed_us": INT, "lost": TEXT,
        "read_committed": INT, "read_uncommitted": INT,
    }
)  # fmt: skip
"""Of runs with ``data: exact``: one row for each time that a record was processed, and one for a record that never was.

``delivery``: 1 for the first time, 2 for the second; 0: never. ``fetched_us``: poll() returned it; ``committed_us``: an
offset beyond it was committed for the first time, whether it was processed or not. Times are -1 where it never
happened. ``lost``: why it was skipped (see the table ``delivery``); empty if it was processed, is still to be, or is
older than where the group began (``auto.offset.reset: latest``), which is no loss: ``delivery`` 0, no member, times of
reading -1, and ``committed_us`` that of the first commit. ``read_committed``, ``read_uncommitted``:
how often readers of that isolation level get what the group made of it; -1 in a group that produces nothing.
"""

LATENCY: Final = MappingProxyType(
    {"group": TEXT, "span": TEXT, "records": INT, "p50_us": INT, "p99_us": INT, "max_us": INT}
)
"""Of runs with ``data: exact``: how long records took, by what ended within the time that counts.

``processed``: from production until it was processed for the first time; ``committed``: from then until an offset
beyond it was committed.
"""

TRANSACTIONS: Final = MappingProxyType(
    {
        "group": TEXT, "member": TEXT, "incarnation": INT, "transactional_id": TEXT, "committed": INT, "aborted": INT,
        "records_committed": INT, "records_aborted": INT, "records_open": INT, "took_us": INT, "took_us_max": INT,
        "ended_by": TEXT,
    }
)  # fmt: skip
"""One row per incarnation of a member that produces, over the whole run.

``aborted``: by itself, by a successor, or by the coordinator; ``records_open``: undecided at the horizon; ``took_us``:
from the end of a batch until its transaction is committed, in all; ``ended_by``: the error that ended the producer.
"""

OUTPUT: Final = MappingProxyType(
    {
        "group": TEXT, "topic": TEXT, "partition": INT, "high_watermark": INT, "last_stable_offset": INT,
        "markers": INT, "lag_max": INT, "blocked_us": INT, "blocked_us_max": INT,
    }
)  # fmt: skip
"""One row per partition that a group has written to, over the whole run.

``lag_max``: high watermark less last stable offset; ``blocked_us``: time in which a ``read_committed`` reader could not
read to the end, ``blocked_us_max``: how long a record waited to become readable to one.
"""

PRODUCERS: Final = MappingProxyType(
    {
        "producer": TEXT, "topic": TEXT, "partition": INT, "records": INT, "acknowledged": INT, "failed": INT,
        "open": INT, "batches": INT, "retries": INT, "in_log": INT, "truncated_leader": INT,
        "truncated_unclean": INT, "lost_unsent": INT, "failed_in_log": INT, "duplicated": INT, "reordered": INT,
        "took_us_max": INT,
    }
)  # fmt: skip
"""One row per producer of ``producers`` and partition, in records over the whole run; ``batches`` that were
acknowledged or given up, and how often they were sent again.

``truncated_...`` and ``lost_...`` were acknowledged and are in no log: only a leader that died had them (``leader``), a
leader was elected that was not in sync (``unclean``), nobody heard of them (``unsent``: acks=0). Whoever reads has been
shown none of them, so that ``delivery`` has no loss of it, but where the topic is read as a flow (``truncated log``).
``failed_in_log``: given up, and in the log all the same; ``duplicated``: written again by a retry; ``reordered``:
behind a record that was sent later; ``took_us_max``: until a batch was acknowledged.
"""

TABLES: Final = MappingProxyType(
    {
        "summary": SUMMARY, "rebalances": REBALANCES, "ownership": OWNERSHIP, "unavailability": UNAVAILABILITY,
        "partitions": PARTITIONS, "members": MEMBERS, "lag": LAG, "requests": REQUESTS, "states": STATES,
        "delivery": DELIVERY, "events": EVENTS, "zookeeper": ZOOKEEPER,
        "coordinators": COORDINATORS, "placement": PLACEMENT, "over_groups": OVER_GROUPS,
        "brokers": BROKERS, "shards": SHARDS, "queues": QUEUES,
        "records": RECORDS, "latency": LATENCY,
        "transactions": TRANSACTIONS, "output": OUTPUT,
        "producers": PRODUCERS,
    }
)  # fmt: skip

SORTED_BY: Final = MappingProxyType(
    {
        "summary": ("group",),
        "rebalances": ("group", "start_us"),
        "ownership": ("group", "topic", "partition", "from_us", "member"),
        "unavailability": ("group", "topic", "partition", "from_us"),
        "partitions": ("group", "topic", "partition"),
        "members": ("group", "member", "incarnation"),
        "lag": ("group", "time_us"),
        "requests": ("group", "api", "error"),
        "states": ("group", "from_us"),
        "delivery": ("group", "kind", "cause"),
        "events": ("time_us", "group", "entry", "target"),
        "zookeeper": ("group",),
        "coordinators": ("partition",),
        "placement": ("node",),
        "over_groups": ("metric",),
        "brokers": ("node", "from_us"),
        "shards": ("partition", "from_us"),
        "queues": ("partition", "from_us"),
        "records": ("group", "topic", "partition", "offset", "delivery"),
        "latency": ("group", "span"),
        "transactions": ("group", "member", "incarnation"),
        "output": ("group", "topic", "partition"),
        "producers": ("producer", "topic", "partition"),
    }
)

CAUSES: Final = ("unowned", "detection", "away", "barrier", "assignment", "resume")
"""Causes of unavailability in order of precedence (the first that holds)."""

STATE_NAMES: Final = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
"""States of a classic group as Kafka prints them; the 0.9 coordinator says AwaitingSync for CompletingRebalance."""


def no_table(name: object, there: Iterable[str]) -> str:
    """What to say of a table that is not there."""
    return f"there is no table {name!r}; tables: {', '.join(there)}"
