"""Calls where buckets of Java's tables are crowded, with Kafka's answers, in the form of tests/golden/assignors."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from groupsim.assignors import TopicIds
from groupsim.assignors.java.ordering import text_codes
from tests.oracle.classic_chain import ClassicChain
from tests.oracle.referee import Referee
from tests.oracle.target_chain import TargetChain

ASSIGNORS = {
    "client": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "server": ("range", "uniform"),
}
_CHAINS = 14
"""Of each assignor."""
_TELLING = {"sticky": (283, 327, 545), "cooperative-sticky": (146,), "uniform": (72, 134, 421)}
"""Further chains: in each the answer would be another one without some table's tree that seldom shows."""
_LONGEST = 16_000
"""Characters of a call that is not too long to be kept."""


def record(folder: Path) -> list[Path]:
    """Write one file for either side; returns their paths.

    Raises
    ------
    CannotPlay
        No Java, no Maven, or no artifacts.
    """
    with Referee() as kafka:
        return [_written(folder / f"{side}-crowded.jsonl.gz", _answered(kafka, side)) for side in ASSIGNORS]


def _answered(kafka: Referee, side: str) -> Iterator[dict[str, Any]]:
    for assignor in ASSIGNORS[side]:
        some = islice(filter(_is_fit, (_calls(side, assignor, number) for number in count())), _CHAINS)
        telling = (_calls(side, assignor, number) for number in _TELLING.get(assignor, ()))
        calls = list(chain.from_iterable(chain(some, telling)))
        for call, answer in zip(calls, kafka.answers(calls), strict=True):
            yield {**call, "result": answer}


def _calls(side: str, assignor: str, number: int) -> list[dict[str, Any]]:
    name = f"crowded/{side}/{assignor}/{number}"
    kind = ClassicChain if side == "client" else TargetChain
    return [call for call, _ in kind(assignor, random.Random(name), name, crowded=True).steps()]


def _is_fit(calls: list[dict[str, Any]]) -> bool:
    """Whether there is a tree, and no call is long."""
    return any(map(_has_tree, calls)) and max(len(json.dumps(call)) for call in calls) <= _LONGEST


def _has_tree(call: dict[str, Any]) -> bool:
    """Whether more than eight names or ids are in one of 64 buckets; it takes two more, that double smaller tables."""
    codes = [
        text_codes([each["id"] for each in call["members"]]),
        text_codes([each["name"] for each in call["topics"]]),
    ]
    if call["side"] == "server":
        codes.append(TopicIds.of([each["id"] for each in call["topics"]]).codes)
    return any(max(Counter((each & 63).tolist()).values(), default=0) > 10 for each in codes)


def _written(path: Path, calls: Iterator[dict[str, Any]]) -> Path:
    lines = "".join(json.dumps(call, separators=(",", ":")) + "\n" for call in calls)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        file.write(lines.encode())
    part = path.with_suffix(".part")
    part.write_bytes(packed.getvalue())
    part.replace(path)
    return path
