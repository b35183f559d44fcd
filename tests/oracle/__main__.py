"""The command line of the oracle: ``python -m tests.oracle play --scenario FILE ... --out DIR``, ``... report``,
``... crowd --out DIR``, ``... service-times --out DIR`` or ``... leader-changes --out DIR``."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from groupsim.scenarios import ScenarioFileError
from tests.oracle import leader_changes, service_times
from tests.oracle.crowded_calls import record
from tests.oracle.failures import OracleError
from tests.oracle.outage_report import write_outages
from tests.oracle.report import write_report
from tests.oracle.stage import play_all
from tests.oracle.translation import read


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what the arguments name; exit code 0, 2 (cannot be played), 3 (went wrong) or 128 + signal."""
    options = _parser().parse_args(arguments)
    if options.command == "report":
        _say(f"{write_report()} {write_outages()}")
        return 0
    try:
        if options.command == "crowd":
            _say(" ".join(map(str, record(options.out))))
            return 0
        if options.command == "service-times":
            _say(" ".join(map(str, service_times.record(options.out))))
            return 0
        if options.command == "leader-changes":
            _say(str(leader_changes.record(options.out, options.partitions)))
            return 0
        sources = [read(path) for path in options.scenario]
        return asyncio.run(_until_told(play_all(sources, _repetitions(options), options.at_once, options.out, _say)))
    except (OracleError, ScenarioFileError) as error:
        print(error, file=sys.stderr)
        return getattr(error, "exit_code", 2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description="real consumers on a real Kafka broker")
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("report", help="hold all recordings against the present model, and write REPORT.md")
    crowd = commands.add_parser("crowd", help="record what Kafka's assignors answer where buckets are crowded")
    crowd.add_argument(
        "--out", type=Path, required=True, help="client-crowded.jsonl.gz and server-crowded.jsonl.gz go here"
    )
    times = commands.add_parser("service-times", help="measure what requests take of a coordinator's event loop")
    times.add_argument(
        "--out", type=Path, required=True, help="event-loop.csv and request-metrics.csv go here; takes five minutes"
    )
    changes = commands.add_parser("leader-changes", help="measure how long brokers take to lead what they take over")
    changes.add_argument("--out", type=Path, required=True, help="taken-over.csv goes here; takes twelve minutes")
    changes.add_argument("--partitions", type=_positive, nargs="+", default=leader_changes.PARTITIONS, help="of topics")
    play = commands.add_parser("play", help="play scenarios in real time and record what happens")
    play.add_argument("--scenario", nargs="+", required=True, help="files, or names of built-in scenarios")
    play.add_argument(
        "--repetitions", type=_positive, default=1, help="of each scenario; number n has the draws of seed n"
    )
    play.add_argument("--first", type=_positive, default=1, help="number of the first repetition")
    play.add_argument("--at-once", type=_positive, default=3, help="repetitions that share a broker and the time")
    play.add_argument("--out", type=Path, required=True, help="recordings go to OUT/<scenario>/<n>.jsonl.gz")
    return parser


def _repetitions(options: argparse.Namespace) -> range:
    return range(options.first, options.first + options.repetitions)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _say(text: str) -> None:
    print(text, flush=True)


async def _until_told(playing: Coroutine[Any, Any, None]) -> int:
    """Play until it is over, or until SIGINT or SIGTERM: then everything that was started is ended first."""
    task = asyncio.ensure_future(playing)
    told: list[int] = []

    def stop(number: int) -> None:
        told.append(number)
        task.cancel()

    for one in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(one, stop, one)
    try:
        await task
    except asyncio.CancelledError:
        print("stopped; everything that was started has been ended", file=sys.stderr)
        return 128 + told[0]
    except ExceptionGroup as group:
        raise next((one for one in group.exceptions if isinstance(one, OracleError)), group) from None
    return 0


if __name__ == "__main__":
    sys.exit(main())
