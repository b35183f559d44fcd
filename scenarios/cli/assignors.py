"""``groupsim assignors``: what assignors promise, and what they do to a group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from groupsim.scenarios.cli.output import Progress, print_json, print_pairs, print_table, say, width
from groupsim.scenarios.cli.run import AllowCode
from groupsim.scenarios.cli.settings import import_allowed, listed
from groupsim.scenarios.cli.trials import tell, tell_all, title

if TYPE_CHECKING:
    from groupsim.assignors import GroupSnapshot
    from groupsim.scenarios.assignors.trials import Contender

WHAT_IS_TIMED: Final = (
    "CPU time of one assignment, the median of as many runs as fill a tenth of a second, at least three unless they "
    "take seconds; for each run the group is built anew. full: nobody owns anything; join: one joins a balanced group; "
    "leave: the one in the middle has left.",
    "Not in it: making the group of what members say (the last table has that; for server:range and server:uniform it "
    "is the form in which the coordinator keeps it), and hash codes of names, which Java's texts remember, too.",
    "In brackets: Kafka 4.4.0's classes on OpenJDK 17, warm, recorded once on another machine with two cores and not "
    "measured now. kafka-python is measured now, its objects built anew, too.",
)

app = typer.Typer(help="List assignors, and compare what they do to a group.", no_args_is_help=True)

Snapshot = Annotated[
    Path | None,
    typer.Argument(metavar="SNAPSHOT", help="File of topics and members; without it, equal members as below."),
]
Members = Annotated[int | None, typer.Option(min=1, max=100_000, help="Members, 40 by default.")]
Topics = Annotated[int | None, typer.Option(min=1, max=100_000, help="Topics that all of them read, 1 by default.")]
Partitions = Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Partitions in all, 200 by default.")]
Many = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, help="Members in events of many; a quarter by default."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("list")
def list_(allow_code: AllowCode = None, as_json: Json = False) -> None:
    """List assignors with protocol, side and what they promise."""
    from groupsim.analysis.text.assignors import promises_table
    from groupsim.scenarios.assignors.trials import contenders, described

    import_allowed(allow_code or [])
    found = [described(one) for one in contenders(allow_code or [])]
    if as_json:
        print_json(found)
    else:
        print_table(promises_table(found, width()))


@app.command()
def compare(
    snapshot: Snapshot = None,
    members: Members = None,
    topics: Topics = None,
    partitions: Partitions = None,
    many: Many = None,
    assignor: Annotated[
        list[str] | None, typer.Option(metavar="ASSIGNOR", callback=listed, help="Only these; all by default.")
    ] = None,
    java_order: Annotated[
        bool, typer.Option(help="Walk members as Kafka's hash tables yield their ids, or by id.")
    ] = True,
    details: Annotated[bool, typer.Option("--details", help="Print a table per event, with everything.")] = False,
    figure: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw a figure, too.")] = None,
    allow_code: AllowCode = None,
    as_json: Json = False,
) -> None:
    """Compare assignors: members join and leave, partitions are added.

    SNAPSHOT is a YAML file of topics (each a number of partitions, or a mapping of partitions, rate and replicas, the
    racks of each partition's replicas) and members (each a mapping of count, topics, rack and capacity).

    Newcomers are last in the order of ids. Of many that leave each comes from another part of that order. When
    partitions are added, every topic gets a quarter more.

    What is read from a leader in another rack is told where racks are known, as a share and, with rates, in their
    unit: give rates in bytes a second, and it is bytes a second.
    """
    from groupsim.analysis.text.assignors import failures
    from groupsim.scenarios.assignors.trials import contenders

    import_allowed(allow_code or [])
    taking_part, left_out = _taking_part(assignor or [], contenders(allow_code or [], java_order=java_order))
    group = _group(snapshot, members, topics, partitions)
    several = _many(many, group)
    if figure is not None:
        _refuse_unfit(figure)
    records = _records(taking_part, group, several)
    if figure is not None:
        _draw(records, group, figure)
    if as_json:
        shape = {"members": group.n_members, "partitions": group.topics.n_partitions, "many": several}
        print_json({**shape, "outcomes": records})
    else:
        (tell_all if details else tell)(records, group, several)
    for sentence in [*failures(records), *left_out, *_caveats(group)]:
        say(sentence)


@app.command()
def explain(
    assignor: Annotated[str, typer.Argument(metavar="ASSIGNOR", help="Such as sticky or server:uniform.")],
    partition: Annotated[str, typer.Argument(metavar="PARTITION", help="Such as topic-1-7.")],
    snapshot: Snapshot = None,
    event: Annotated[
        str, typer.Option(metavar="EVENT", help="Such as full, join-one or leave-one-first.")
    ] = "join-one",
    members: Members = None,
    topics: Topics = None,
    partitions: Partitions = None,
    many: Many = None,
    as_json: Json = False,
) -> None:
    """Explain rule by rule why one partition moves or stays, where all members read the same topics.

    All but your own assignors are explained; range, sticky and cooperative-sticky only where racks decide nothing.
    """
    from groupsim.scenarios.assignors.reasons import explained

    group = _group(snapshot, members, topics, partitions)
    told = explained(assignor, group, _many(many, group), event, partition)
    if as_json:
        print_json(told)
        return
    before, after = told["before"], told["after"]
    stays = f"stays with {after}" if before else f"goes to {after}, from nobody"
    where = f"moves from {before} to {after}" if told["moved"] else stays
    print(f"{title(group)}; {assignor}, {event}:\n{partition} {where}\n")
    print_pairs((f"{number}.", rule) for number, rule in enumerate(told["rules"], start=1))


@app.command()
def bench(
    members: Annotated[
        list[int] | None,
        typer.Option(min=100, max=10_000, help="Only groups of this size; by default three."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure assignors over the grid of Kafka's own benchmarks: minutes, and half an hour with kafka-python.

    Beside ours stand the times of Kafka's classes, recorded on another machine with two cores, and kafka-python's,
    measured now as far as they are under a minute, where it is installed (the extra "bench").
    """
    from groupsim.analysis.text.assignors import lists_table
    from groupsim.scenarios.assignors.bench import UNEQUAL, bench, from_lists, shapes
    from groupsim.scenarios.assignors.kafka_python import is_installed
    from groupsim.scenarios.assignors.trials import contenders, is_exclusive

    if not is_installed():
        say("kafka-python is not installed, so it has no times: it comes with groupsim's extra bench")
    if not as_json:
        for paragraph in WHAT_IS_TIMED:
            print(fill(paragraph, width() or 80), end="\n\n")
    grid = shapes(tuple(members)) if members else shapes()
    found = [one for one in contenders() if is_exclusive(one)]
    wanted = [(one, True) for one in found] + [(one, False) for one in found if one.label in UNEQUAL]
    records: list[dict[str, Any]] = []
    with Progress("assignor", len(wanted)) as progress:
        for done, (one, equal) in enumerate(wanted, start=1):
            records += (mine := list(bench(one, equal=equal, grid=grid)))
            if not as_json:
                _tell_times(mine)
            progress(done)
    records += (lists := list(from_lists([one for one in grid if one.topics in (10, 100)])))
    if as_json:
        print_json(records)
    else:
        print(f"{lists[0]['assignor']}, and back to them, ms of CPU:\n")
        print_table(lists_table(lists, width()))


def _tell_times(records: list[dict[str, Any]]) -> None:
    """The tables of one assignor."""
    from groupsim.analysis.text.assignors import their_times_table, times_table

    title = f"{records[0]['assignor']}, {records[0]['subscriptions']} subscriptions"
    recorded = any(one["java_ms"] for one in records)
    print(f"{title}, ms of CPU{' (in brackets: recorded)' if recorded else ''}:\n")
    print_table(times_table(records, width()))
    print()
    if (theirs := their_times_table(records, width())) is not None:
        print("kafka-python, ms of CPU:\n")
        print_table(theirs)
        print()


def _many(many: int | None, group: GroupSnapshot) -> int:
    return many or max(group.n_members // 4, 2)


def _group(snapshot: Path | None, members: int | None, topics: int | None, partitions: int | None) -> GroupSnapshot:
    from groupsim.assignors.evaluation.events import group_of
    from groupsim.scenarios.assignors.snapshot_file import load_snapshot
    from groupsim.sim.errors import ConfigError

    if snapshot is None:
        return group_of(members or 40, topics or 1, partitions or 200)
    if (members, topics, partitions) != (None, None, None):
        raise ConfigError(f"{snapshot} says who the members are and what they read: leave the numbers out")
    return load_snapshot(snapshot)


def _taking_part(names: Sequence[str], known: Sequence[Contender]) -> tuple[list[Contender], list[str]]:
    """Who is compared, and why some are not."""
    from groupsim.scenarios.assignors.trials import chosen, is_exclusive
    from groupsim.sim.errors import ConfigError

    found = chosen(known, names)
    taking_part = [one for one in found if is_exclusive(one)]
    if not taking_part:
        raise ConfigError(f"{found[0].label} cannot be compared: nothing moves where everybody has everything")
    shared = [one.label for one in found if one not in taking_part]
    return taking_part, [f"{label} is left out: nothing moves where everybody has everything" for label in shared]


def _records(taking_part: Sequence[Contender], group: GroupSnapshot, many: int) -> list[dict[str, Any]]:
    """All outcomes."""
    from groupsim.scenarios.assignors.trials import trials

    records: list[dict[str, Any]] = []
    with Progress("assignor", len(taking_part)) as progress:
        for done, one in enumerate(taking_part, start=1):
            records += trials(one, group, many)
            progress(done)
    return records


def _caveats(group: GroupSnapshot) -> list[str]:
    """What is not exact about a group as large as this one."""
    from groupsim.assignors.evaluation.events import LEAVERS_MAX
    from groupsim.assignors.evaluation.trials import EXACT_MAX

    told = []
    if group.n_members > LEAVERS_MAX:
        told.append(f"the mean is over {LEAVERS_MAX} members leaving alone, at equal distances in the order of ids")
    if not group.subscriptions.equal and group.topics.n_partitions > EXACT_MAX:
        told.append("what had to move is a lower bound: subscriptions differ, and there are many partitions")
    return told


def _refuse_unfit(path: Path) -> None:
    from groupsim.analysis.figures import refuse_unfit

    refuse_unfit(path)


def _draw(records: Sequence[dict[str, Any]], group: GroupSnapshot, path: Path) -> None:
    from groupsim.analysis.figures import save, trials

    save(trials(records, title(group)), path)
    say(f"figure in {path}")
