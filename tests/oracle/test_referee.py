"""Kafka's own assignors and ours, asked the same: thousands of random chains of changes, beyond the recorded calls.

``GROUPSIM_CHAINS`` is the number of chains for each assignor, ``GROUPSIM_SEED`` begins others, and a failure prints the
line that replays its chain alone.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conformance.assignors.kafka_calls import recorded
from tests.oracle.classic_chain import ClassicChain
from tests.oracle.failures import CannotPlay
from tests.oracle.referee import Referee
from tests.oracle.target_chain import TargetChain

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

CHAINS = int(os.environ.get("GROUPSIM_CHAINS", "2500"))
SEED = int(os.environ.get("GROUPSIM_SEED", "1"))
ONLY = os.environ.get("GROUPSIM_CHAIN")
ASSIGNORS = [
    "client-range", "client-roundrobin", "client-sticky", "client-cooperative-sticky", "server-range", "server-uniform",
]  # fmt: skip
RECORDINGS = [*ASSIGNORS, "client-edges", "server-edges", "client-crowded", "server-crowded"]
CROWDED_EVERY = 4
"""Of so many chains one has names of which many share buckets."""
_AT_ONCE = 50

Step = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def referee() -> Iterator[Referee]:
    try:
        with Referee() as kafka:
            yield kafka
    except CannotPlay as missing:
        pytest.skip(str(missing))


@dataclass(frozen=True)
class Difference:
    """A call that Kafka answers differently."""

    call: dict[str, Any]
    ours: dict[str, Any]
    kafkas: dict[str, Any]

    @property
    def size(self) -> int:
        return sum(topic["partitions"] for topic in self.call["topics"]) + len(self.call["members"])

    def lines(self) -> Iterator[str]:
        call, ours, kafkas = self.call, self.ours.get("assignment"), self.kafkas.get("assignment")
        side, assignor, seed, chain, step = call["id"].split("/")
        yield f"{assignor} ({side}), chain {chain} of seed {seed}, step {step} ({call['kind']}; {call['shape']}):"
        if ours is None or kafkas is None:
            yield f"  ours    {json.dumps(self.ours)[:500]}\n  Kafka's {json.dumps(self.kafkas)[:500]}"
        for member in sorted({*(ours or ()), *(kafkas or ())}) if ours is not None and kafkas is not None else []:
            if ours.get(member) != kafkas.get(member):
                yield f"  {member}\n    ours    {ours.get(member)}\n    Kafka's {kafkas.get(member)}"
        yield f"the call: {json.dumps(call)}"
        yield (
            f"replay: GROUPSIM_SEED={seed} GROUPSIM_CHAIN={chain} .venv/bin/pytest tests/oracle/test_referee.py "
            f"-m oracle -k 'chains and {side}-{assignor}'"
        )


def steps(assignor: str, number: int) -> list[Step]:
    """A chain, which depends on the assignor, the seed and the number alone."""
    side, _, name = assignor.partition("-")
    chain = f"{side}/{name}/{SEED}/{number}"
    kind = ClassicChain if side == "client" else TargetChain
    return list(kind(name, random.Random(chain), chain, crowded=number % CROWDED_EVERY == 0).steps())


def answered(referee: Referee, assignor: str, numbers: list[int]) -> Iterator[list[tuple[Step, dict[str, Any]]]]:
    """Chains with Kafka's answers: it answers some while we make the next ones."""
    asked: tuple[list[list[Step]], Future[list[dict[str, Any]]]] | None = None
    with ThreadPoolExecutor(1) as line:
        for start in range(0, len(numbers) + _AT_ONCE, _AT_ONCE):
            chains = [steps(assignor, number) for number in numbers[start : start + _AT_ONCE]]
            answers = line.submit(referee.answers, [call for chain in chains for call, _ in chain])
            if asked is not None:
                each = iter(asked[1].result())
                yield from ([(step, next(each)) for step in chain] for chain in asked[0])
            asked = chains, answers


def first_difference(chain: list[tuple[Step, dict[str, Any]]]) -> Difference | None:
    """What comes after it in its chain builds on our answer, not Kafka's."""
    return next((Difference(call, ours, kafkas) for (call, ours), kafkas in chain if ours != kafkas), None)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_random_chains_of_changes_are_assigned_as_by_kafka(referee: Referee, assignor: str) -> None:
    numbers = list(range(CHAINS)) if ONLY is None else [int(ONLY)]
    compared, differences = 0, []
    for chain in answered(referee, assignor, numbers):
        compared += 1
        differences += [found] if (found := first_difference(chain)) else []
    assert compared == len(numbers)
    if differences:
        smallest = min(differences, key=lambda difference: difference.size)
        pytest.fail("\n".join([f"{len(differences)} of {compared} chains differ", *smallest.lines()]), pytrace=False)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_the_referee_answers_as_was_recorded(referee: Referee, recording: str) -> None:
    """Who judges is judged: a referee that reads calls wrongly would find us wrong where we are right."""
    calls = recorded(recording)
    told = zip(calls, referee.answers(calls), strict=True)
    wrong = [call["id"] for call, answer in told if answer != {key: call["result"].get(key) for key in answer}]
    assert wrong == []
