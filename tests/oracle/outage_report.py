"""OUTAGES.md: real clusters of three whose brokers fail, and what the simulator makes of the same outages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from groupsim.sim.model import Scenario
from tests.oracle.broker_instants import node_of
from tests.oracle.comparison import differences
from tests.oracle.crowding import crowded, headers, plays_so_far
from tests.oracle.equivalence import Verdict, of_durations
from tests.oracle.fencing import allowed, fencings, votes
from tests.oracle.outage_measures import LOADED, NO_COMMITS, NO_COMMITS_OF_ONE, outages
from tests.oracle.profile import brokers_by_chance, without_chance
from tests.oracle.replay import replay
from tests.oracle.runs import summary
from tests.oracle.study import Replayed, is_fit, played, recordings
from tests.oracle.trace import Fact

RECORDINGS: Final = Path(__file__).parents[1] / "golden" / "outages"
REPORT: Final = Path(__file__).with_name("OUTAGES.md")
FIGURES: Final = (LOADED, NO_COMMITS, NO_COMMITS_OF_ONE, "unread, worst")
REBALANCES: Final = ("rounds", "epochs")
"""Counts that are 0 where nobody rebalanced; a group of the consumer protocol has both."""


@dataclass(frozen=True)
class Outage:
    """The recordings of one scenario; ``replays`` are those that are fit to be compared."""

    name: str
    scenario: Scenario
    headers: list[Fact]
    replays: list[Replayed]
    verdicts: list[Verdict]


def names() -> list[str]:
    """Scenarios that have been recorded."""
    return sorted(path.parent.name for path in RECORDINGS.glob("*/scenario.yaml"))


def study(name: str, only: Iterable[int] = ()) -> Outage:
    """A scenario's repetitions, all that are fit or ``only`` some of them, and their replays."""
    scenario, found, wanted = played(name, RECORDINGS), recordings(name, RECORDINGS), set(only)
    fit = [one for one in found if is_fit(one) and (not wanted or one.header["repetition"] in wanted)]
    replays = []
    for one in fit:
        others = crowded(brokers_by_chance(without_chance(scenario)), plays_so_far(one.header, headers(RECORDINGS)))
        told = replay(others, one.facts, one.header["repetition"])
        replays.append(Replayed(one.header["repetition"], one.facts, told, differences(one.facts, told)))
    verdicts = of_durations(name, [(each.recording, each.told) for each in replays]) if replays else []
    return Outage(name, scenario, [one.header for one in found], replays, verdicts)


def rebalances(facts: Sequence[Fact]) -> int:
    """How often a group rebalanced after the first outage."""
    told = summary(facts)
    return int(max(told.get(name, 0) for name in REBALANCES))


def write_outages() -> Path:
    """Study every recording, and write the page."""
    REPORT.write_text("\n".join(page([study(name) for name in names()])) + "\n", encoding="utf-8")
    return REPORT


def page(found: Sequence[Outage]) -> Iterator[str]:
    """The page, line by line."""
    yield from _head(found)
    yield from _table(found)
    yield from _sessions(found)
    yield from _verdicts(found)
    yield "\n## Why some of it is not shown\n"
    yield from REASONS
    yield from _machines(found)


def _head(found: Sequence[Outage]) -> Iterator[str]:
    total, fit = sum(len(one.headers) for one in found), sum(len(one.replays) for one in found)
    pairs = [(rebalances(each.recording), rebalances(each.told)) for one in found for each in one.replays]
    yield "# Brokers that fail, on real clusters of three\n"
    yield (
        f"{total} recordings of {len(found)} scenarios, {total - fit} of them made while the machine was too busy"
        " and not"
        " compared (the rule is that of TRACE.md). Three nodes on loopback, each broker, controller and voter, so"
        " that the"
        " end of an active controller is among the outages; three replicas of everything, `min.insync.replicas` 2."
        " Up to"
        " three groups share a cluster and its outage. Groups of 3 members read 6 partitions and commit every second."
        " Made by `make oracle-report` from `tests/golden/outages`.\n"
    )
    yield (
        f"Rebalances after the outage: {sum(real for real, _ in pairs)} in {len(pairs)} recordings,"
        f" {sum(mine for _, mine in pairs)} in their replays. Kafka's own system tests of consumers expect no"
        " unexpected"
        " rebalance of a rolling bounce of brokers, and none of a broker's failure.\n"
    )


# --- figures ----------------------------------------------------------------------------------------------------------


def _table(found: Sequence[Outage]) -> Iterator[str]:
    yield "## What was recorded, and what the replays do\n"
    yield (
        "Seconds, median [least, most]; the replays, which have the instants of their recordings, in the same form"
        " below."
        " *Victim*: what else the first broker was. *Without a commit*: between two commits that were accepted, of"
        " anybody"
        " in the group; members commit every second, a third of a second apart or all at once.\n"
    )
    titles = ("coordinator loaded", "without a commit", "the same, one member", "unread, worst partition")
    yield f"| scenario | victim | n | | {' | '.join(titles)} | rebalances |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for one in found:
        for victim in ("", "controller"):
            some = [each for each in one.replays if _victim(each.recording) == victim]
            if some:
                yield _row(f"{one.name} | {victim} | {len(some)} | recorded", [each.recording for each in some])
                yield _row(" | | | simulated", [each.told for each in some])


def _victim(facts: Sequence[Fact]) -> str:
    roles = next(fact for fact in facts if fact["what"] == "roles")
    return "controller" if roles["controller"] == node_of(outages(facts)[0]["target"]) else ""


def _row(head: str, runs: Sequence[Sequence[Fact]]) -> str:
    told = [summary(facts) for facts in runs]
    cells = [_spread([one[name] for one in told if name in one]) for name in FIGURES]
    return f"| {head} | {' | '.join(cells)} | {sum(rebalances(facts) for facts in runs)} |"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.2f} [{min(values):.2f}, {max(values):.2f}]" if values else ""


def _sessions(found: Sequence[Outage]) -> Iterator[str]:
    each = [(one, fencing) for study_ in found for one in study_.replays for fencing in fencings(one.recording)]
    alone = [fencing.session for _, fencing in each if not fencing.was_controller]
    after = [fencing.session for _, fencing in each if fencing.was_controller]
    elected = [fencing.elected for _, fencing in each if fencing.elected is not None]
    low, high = allowed(found[0].scenario)
    first, second = votes(found[0].scenario)
    yield "\n## Sessions of brokers, and elections of controllers\n"
    yield (
        f"A broker that was killed was fenced {_spread(alone)} s after its last heartbeat; the simulator's rule gives"
        f" {low:.2f} to {high:.2f} s. If it was the active controller, another one was active {_spread(elected)} s"
        f" after the kill: {_spread([one for one in elected if one <= first[1]])} s where the first vote was won, which"
        f" the rule puts {first[0]:.1f} to 2.0 s after the kill, and"
        f" {_spread([one for one in elected if one > first[1]])} s where both controllers became candidates at once and"
        f" voted for themselves, by the rule {second[0]:.1f} to 4.0 s (two of nine such kills; what votes take comes on"
        f" top). It fenced the broker {_spread(after)} s later. So a kill is noticed after 7.0 to 10.1 s, that of an"
        " active controller after 10.7 to 12.4 s; then brokers take over one partition after the other before they load"
        " coordinators.\n"
    )


def _verdicts(found: Sequence[Outage]) -> Iterator[str]:
    verdicts = [each for one in found for each in one.verdicts]
    counts = {kind: sum(one.verdict == kind for one in verdicts) for kind in ("shown", "not shown", "differs")}
    yield f"\n## Durations: {', '.join(f'{number} {kind}' for kind, number in counts.items())}\n"
    yield (
        "Simulated minus recorded, 90 % interval of the mean, by the bounds of REPORT.md: 100 ms or 2 % for what timers"
        " decide, 20 ms or 2 % for the network.\n"
    )
    yield "| scenario | figure | pairs | recorded, s | simulated - recorded, ms | bound, ms | agreement |"
    yield "|---|---|---|---|---|---|---|"
    for one in verdicts:
        apart = "" if one.low is None or one.high is None else f"{1e3 * one.low:.0f} to {1e3 * one.high:.0f}"
        yield (
            f"| {one.scenario} | {one.figure} | {one.n} | {one.recorded:.3f} | {apart} | {1e3 * one.bound:.0f} |"
            f" {one.verdict} |"
        )


def _machines(found: Sequence[Outage]) -> Iterator[str]:
    yield "\n## Recorded, and unfit to be compared\n"
    yield "| scenario | repetition | processors busy over ten seconds | heartbeats late, ms |"
    yield "|---|---|---|---|"
    for one in found:
        fit = {each.repetition for each in one.replays}
        for header in (header for header in one.headers if header["repetition"] not in fit):
            machine = header["machine"]
            yield f"| {one.name} | {header['repetition']} | {machine['load_max']} | {machine['beats_late_ms']:.0f} |"


REASONS: Final = (
    "- Durations of outages are the brokers' work, not only timers': taking over a partition took 12 to 58 ms on two"
    " cores that had other work too. A replay has the instants of heartbeats, elections and fencing. How long each"
    " broker takes for partitions no recording says, so it is drawn by the law of `sim.cluster.local_leaders`: 20 ms"
    " in the middle for each of the first fifty, a third of a second more for a process that was just started.",
    "- Topics of plays that are over stay on the cluster: 118 partitions before the first batch of an outage, 208"
    " before the last, and a replay has as many. How long a broker took for each that it took over, until it loaded"
    " coordinators, follows its age: where another broker was closed, 12 to 28 ms (median 15.5, n = 13) if it had taken"
    " over others since it was started, 21 to 55 ms (28.5, n = 9) if it had not. In a roll every broker is started anew"
    " within a minute and a half, and it was 25 to 58 ms (37, n = 28). No rule of Kafka's says so; most"
    " likely it is the machine, on whose two cores three processes compile what they run after they were started.",
    "- That is the time of the broker that loads coordinators, about half of what replays of rolls lack. The rest is"
    " mostly the other broker's: a partition is read on when its leader leads and its follower follows, so the slower"
    " of two decides. Of 14 rolled groups 10 read their worst partition again within 4 ms of a partition of another"
    " group of the same cluster, two more within 26 ms; that group is of the other protocol in 8 of these 12. So"
    " brokers end it, and no client's backoff. In repetition 3, when the last broker closed, one that had run for half"
    " a minute began to load after 1.9 s, one started 8 s before was done after 3.6 s at the latest (its heartbeat let"
    " the closed one go), and three groups read on after 3.7 s. Replays were tried with a time for both, the slower"
    " one's inferred from when groups read on: repetition 3, last close, 1.9 and 3.5 s: unread for 4.7 s (recorded"
    " 3.4; 1.7 without); 6, last close, 2.7 and 3.25 s: 4.6 (4.9; 1.7); 5, second close, 1.5 and 3.0 s: 4.5 (2.9;"
    " 1.5). The heartbeats of that slower one of repetition 5 say 0.8 s, so something else made it late; that is not"
    " explained, nor are two groups of the 14 (0.7 and 1.1 s after all others).",
    "- A broker that begins to follow a partition before its leader leads is refused, and waits for"
    " `replica.fetch.backoff.ms` (1 s): high watermarks move at once or up to a second later. Which broker was first is"
    " a race of milliseconds and is not recorded; replays draw it. In recordings, where a broker was closed, the first"
    " commit was accepted 0.45 s or more after it was due and its coordinator loaded in 19 of 35, and never more than"
    " 1.0 s after.",
    "- What is drawn makes intervals wide: the second of that race is ten times the bound, so that much is not shown.",
    "- Of consumer-coordinator-bounced the time without a commit is 0.1 to 0.8 s too long: members commit each second,"
    " and whether one is due just before or just after the coordinator is loaded makes a second.",
    "- What differs else is in rolls (coordinator loaded, commits, unread; both protocols): the time that brokers take."
    " The last one to close hands over three quarters of all partitions to two that were started half a minute before:"
    " one of them began to load coordinators 1.8 to 2.7 s later. Brokers that had nothing else to do took 1.0 s for"
    " fifty partitions, 1.3 s where they had just been started (`tests/golden/leader_changes`).",
    "- The classic client asks for its coordinator, and commits, every 0.1 s while it is nowhere; how often it is"
    " refused is"
    " the same only in order of size, so that replays without any difference are rare.",
    "- A partition's gap begins with its last record, up to a tenth of a second before the outage.",
)
"""What of the figures cannot be had from these recordings."""
