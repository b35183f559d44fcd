"""What happened to one group, ready to be drawn: rows, stretches, gaps, states and events in seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from groupsim.analysis.data.availability import S, gaps
from groupsim.analysis.data.load import Source, measure_of, table
from groupsim.analysis.errors import MissingTable, ResultError
from groupsim.analysis.figures.cluster_history import ClusterHistory, cluster_history
from groupsim.sim.tables import CAUSES

PLACE = ["topic", "partition"]
MOVED = "leaders moved"
"""What an instant is called at which they did so without an entry of the timeline."""
COUNTED = ("rebalances", "stop_the_world_s")
"""What a headline takes from the summary, because it cannot be counted again from what is drawn."""


@dataclass(frozen=True, slots=True)
class History:
    """One group over time.

    A row stands for a partition; in a broadcast group, where every member reads every partition, for a member.

    Parameters
    ----------
    partitions : tuple of str
        ``topic-partition``, sorted by the first member that served each, then by topic and number.
    members : tuple of str
        In the order of their numbers.
    shared : bool
        The group is a broadcast group. Nobody is a zombie then.
    stretches : DataFrame with row (position in ``rows``), from_s, to_s, member (position in ``members``)
        Who served; where two overlap, the one that began last. Of a broadcast group: when a member read anything.
    zombies : DataFrame of the same columns
        What a member still read after the next one had begun.
    pieces : DataFrame with row (position in ``partitions``), from_s, to_s, cause (position in ``CAUSES``)
    gaps : DataFrame with row (as pieces), from_s, to_s, startup (bool: the group had served nothing before)
    states : DataFrame with from_s, to_s, state, generation
    generation : str
        What a generation of the group is called: one that ZooKeeper holds together has none, and counts changes of its
        members and topics.
    rebalances : DataFrame with from_s, to_s
    counted : mapping of str to float
        What the row of ``summary`` says of the window in which metrics count.
    measured : (float, float)
        That window; the whole run where nothing says which it is.
    events : DataFrame with time_s, entry, verb, target
    cluster : ClusterHistory or None
        What happened to brokers and coordinators, if anything did.
    """

    scenario: str
    group: str
    groups: int
    horizon_s: float
    partitions: tuple[str, ...]
    members: tuple[str, ...]
    shared: bool
    stretches: pd.DataFrame
    zombies: pd.DataFrame
    pieces: pd.DataFrame
    gaps: pd.DataFrame
    states: pd.DataFrame
    generation: str
    rebalances: pd.DataFrame
    counted: Mapping[str, float]
    measured: tuple[float, float]
    events: pd.DataFrame
    cluster: ClusterHistory | None

    @property
    def rows(self) -> tuple[str, ...]:
        """What each row is called, from the top."""
        return self.members if self.shared else self.partitions

    def short(self, name: str) -> str:
        """A member's or target's name without the group's."""
        return name.removeprefix(f"{self.group}/")


def history(source: Source, group: str | None) -> History:
    """The history of a group; without a name, of the group that was unread longest.

    Raises
    ------
    MissingTable, SchemaMismatch
        As ``analysis.data.load.table``.
    ResultError
        The result has no such group.
    """
    names = ("summary", "ownership", "unavailability", "states", "rebalances")
    tables = {name: table(source, name) for name in names} | _zookeeper(source)
    found = sorted({str(one) for frame in tables.values() for one in frame["group"].unique()})
    if group is not None and group not in found:
        raise ResultError(f"no group {group!r} in this result; it has: {', '.join(found) or 'none'}")
    chosen = group if group is not None else _worst(found, tables["unavailability"])
    mine = {name: frame[frame["group"] == chosen] for name, frame in tables.items()}
    events = table(source, "events")
    window = measure_of(source)
    own = events[events["group"].isin([chosen, ""])]
    return _built(chosen, len(found), mine, own, window, cluster_history(source))


def _zookeeper(source: Source) -> dict[str, pd.DataFrame]:
    """The table of groups that ZooKeeper holds together, if the result has it."""
    try:
        return {"zookeeper": table(source, "zookeeper")}
    except MissingTable:
        return {}


def _worst(groups: list[str], unavailability: pd.DataFrame) -> str:
    if not groups:
        return ""
    length = unavailability["to_us"] - unavailability["from_us"]
    totals = length.groupby(unavailability["group"]).sum().reindex(groups, fill_value=0)
    return groups[int(totals.to_numpy().argmax())]


def _built(
    group: str,
    groups: int,
    tables: dict[str, pd.DataFrame],
    events: pd.DataFrame,
    window: Mapping[str, float],
    cluster: ClusterHistory | None,
) -> History:
    ownership, unavailability, summary = tables["ownership"], tables["unavailability"], tables["summary"]
    members = sorted({str(name) for name in ownership["member"].unique()}, key=_natural)
    rows = _rows(ownership, unavailability, members)
    served = _seconds(_placed(ownership, rows)).assign(member=_codes(ownership["member"], members))
    pieces = _seconds(_placed(unavailability, rows)).assign(cause=_codes(unavailability["cause"], list(CAUSES)))
    shared = bool(summary["partitions_moved"].isna().any())  # undefined for broadcast, and for nothing else
    stretches, zombies = _by_member(served) if shared else _untangled(served)
    states = _seconds(tables["states"])[["from_s", "to_s", "state", "generation"]]
    rebalances = _seconds(tables["rebalances"].rename(columns={"start_us": "from_us", "end_us": "to_us"}))
    horizon_s = _horizon(summary, [served, pieces, states])
    return History(
        scenario=str(summary["scenario"].iloc[0]) if len(summary) else "",
        group=group,
        groups=groups,
        horizon_s=horizon_s,
        partitions=tuple(f"{topic}-{partition}" for topic, partition in rows.index),
        members=tuple(members),
        shared=shared,
        stretches=stretches,
        zombies=zombies,
        pieces=pieces,
        gaps=_gaps(unavailability, rows, served),
        states=states,
        generation="change" if len(tables.get("zookeeper", ())) else "generation",
        rebalances=rebalances[["from_s", "to_s"]],
        counted={name: float(summary[name].sum()) for name in COUNTED},
        measured=(window.get("from", 0.0), min(window.get("to", horizon_s), horizon_s)),
        events=_events(events, cluster.moves_s if cluster is not None else []),
        cluster=cluster,
    )


def _events(events: pd.DataFrame, moves_s: list[float]) -> pd.DataFrame:
    """What the timeline did, and when else leaders moved: preferred ones are elected again after a while."""
    told = events.assign(time_s=events["time_us"] / S)[["time_s", "entry", "verb", "target"]]
    others = [time for time in moves_s if not (told["time_s"] == time).any()]
    moved = pd.DataFrame({"time_s": others, "entry": MOVED, "verb": "", "target": ""})
    return pd.concat([told, moved], ignore_index=True) if others else told


def _rows(ownership: pd.DataFrame, unavailability: pd.DataFrame, members: list[str]) -> pd.Series[int]:
    """Row of each (topic, partition): neighbours were first served by the same member."""
    everyone = pd.concat([ownership[PLACE], unavailability[PLACE]]).drop_duplicates()
    first = ownership.sort_values("from_us", kind="stable").drop_duplicates(PLACE).set_index(PLACE)["member"]
    rank = {name: position for position, name in enumerate(members)}
    owner = first.map(rank).reindex(pd.MultiIndex.from_frame(everyone)).fillna(len(members)).to_numpy()
    ordered = everyone.assign(owner=owner).sort_values(["owner", *PLACE], kind="stable")
    return pd.Series(range(len(ordered)), index=pd.MultiIndex.from_frame(ordered[PLACE]), dtype="int64")


def _placed(frame: pd.DataFrame, rows: pd.Series[int]) -> pd.DataFrame:
    return frame.assign(row=rows.reindex(pd.MultiIndex.from_frame(frame[PLACE])).to_numpy())


def _seconds(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(from_s=frame["from_us"] / S, to_s=frame["to_us"] / S)


def _codes(column: pd.Series[str], categories: list[str]) -> pd.Series[int]:
    codes = pd.Categorical(column, categories=categories).codes
    return pd.Series(codes.astype("int64"), index=column.index)


def _untangled(served: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stretches that do not overlap (the last to begin wins), and what overlapped."""
    columns = ["row", "from_s", "to_s", "member"]
    ordered = served.sort_values(["row", "from_s"], kind="stable", ignore_index=True)[columns]
    following = ordered.groupby("row")["from_s"].shift(-1)
    over = ordered["to_s"] > following
    zombies = ordered[over].assign(from_s=following[over])
    return ordered.assign(to_s=ordered["to_s"].where(~over, following)), zombies


def _by_member(served: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """When each member read at least one partition, in the member's row; no zombies."""
    ordered = served.sort_values(["member", "from_s"], kind="stable", ignore_index=True)
    ends = ordered.groupby("member")["to_s"].cummax()
    fresh = (ordered["member"] != ordered["member"].shift()) | (ordered["from_s"] > ends.shift())
    merged = ordered.assign(to_s=ends, row=ordered["member"]).groupby(fresh.cumsum())
    stretches = pd.DataFrame({one: merged[one].first() for one in ("row", "from_s", "member")})
    return stretches.assign(to_s=merged["to_s"].last()).reset_index(drop=True), served.head(0)


def _gaps(unavailability: pd.DataFrame, rows: pd.Series[int], served: pd.DataFrame) -> pd.DataFrame:
    single = _seconds(_placed(gaps(unavailability), rows))
    first = float(served["from_s"].min()) if len(served) else float("inf")
    return single.assign(startup=single["from_s"] < first)[["row", "from_s", "to_s", "startup"]]


def _horizon(summary: pd.DataFrame, frames: list[pd.DataFrame]) -> float:
    if len(summary):
        return float(summary["horizon_s"].max())
    return max([float(frame["to_s"].max()) for frame in frames if len(frame)], default=1.0)


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which member 2 comes before member 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
