"""Ten thousand groups with mistakes in them: refused with place and reason, or assigned as Kafka would."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from groupsim.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignor,
    AssignorError,
    GroupSnapshot,
    InvalidSnapshot,
    KafkaAssignorFailure,
    Promise,
    Protocol,
    StickyUserData,
    Topics,
    create,
    create_server,
)
from groupsim.assignors.validity import check_valid, without_owner
from tests.conformance.assignors.wrong_groups import WrongGroup, wrong_group

pytestmark = pytest.mark.property

T = TypeVar("T")

LOOK_AT_CLAIMS = {"sticky", "cooperative-sticky", "leader-rack", "weighted"}
KAFKAS_WITH_DEFECTS = {"sticky", "cooperative-sticky"}


def result_of(call: Callable[[], T]) -> T | AssignorError:
    """What a call returns or refuses; any other exception gets out."""
    try:
        return call()
    except AssignorError as error:
        return error


def tells(error: AssignorError, expected: list[str]) -> bool:
    return isinstance(error, InvalidSnapshot) and any(told in str(error) for told in expected)


def try_group(number: int) -> str:
    """What became of a group: refused with place and reason, or assigned by all."""
    wrong = wrong_group(number)
    group = result_of(wrong.make)
    if isinstance(group, AssignorError):
        assert tells(group, wrong.refused), f"{group}; expected one of {wrong.refused}"
        return "refused"
    assert not wrong.refused, f"made in spite of {wrong.refused}"
    for name in ASSIGNORS:
        try_assignor(create(name), group, wrong)
    for name in SERVER_ASSIGNORS:
        try_server_assignor(create_server(name), group, wrong)
    return "assigned"


def try_assignor(assignor: Assignor, group: GroupSnapshot, wrong: WrongGroup) -> None:
    name = assignor.name
    to_tell = wrong.claims_outside * (name in LOOK_AT_CLAIMS) + wrong.loads_wrong * (name == "weighted")
    erring = name in KAFKAS_WITH_DEFECTS and kafka_errs(group)
    answer = result_of(lambda: assignor.assign(group))
    if isinstance(answer, KafkaAssignorFailure):
        assert erring, f"{name} fails where Kafka does not"
    elif isinstance(answer, AssignorError):
        assert tells(answer, to_tell), f"{name}: {answer}; expected one of {to_tell}"
    elif not group.subscriptions.has.any():
        assert not answer.counts.any(), f"{name} assigns what nobody subscribes to"
    else:
        assert not to_tell, f"{name} answers in spite of {to_tell}"
        if not erring:
            check_valid(group, answer)
            assert Promise.EXCLUSIVE not in assignor.promises or not answer.shared, name
            assert Protocol.COOPERATIVE in assignor.protocols or not len(without_owner(group, answer)), name


def try_server_assignor(assignor: Assignor, group: GroupSnapshot, wrong: WrongGroup) -> None:
    """The coordinator's targets cannot overlap or name what never was, so such claims are refused."""
    answer = result_of(lambda: assignor.assign(group))
    if isinstance(answer, AssignorError):
        assert tells(answer, ["the target of", "is in a target", "is in the targets"]), f"{assignor.name}: {answer}"
    else:
        assert not wrong.claims_outside, f"{assignor.name} answers in spite of {wrong.claims_outside}"
        check_valid(group, answer)
        assert not answer.shared
        assert not len(without_owner(group, answer))


def kafka_errs(group: GroupSnapshot) -> bool:
    """Whether Kafka's sticky assignors may throw or give a wrong answer: reference, not forgiveness.

    They do so when members claim partitions that are gone, when some name no topics, and when generations are mixed and
    subscriptions unequal.
    """
    generations = {member.generation for member in group.members} | {
        member.user_data.generation for member in group.members if isinstance(member.user_data, StickyUserData)
    }
    return (
        any(map(len, claims_on_what_is_gone(group)))
        or not all(member.topics for member in group.members)
        or (len(generations) > 1 and not group.subscriptions.equal)
    )


def claims_on_what_is_gone(group: GroupSnapshot) -> list[list[str]]:
    claims = []
    for member in group.members:
        layouts = [(member.layout or group.topics, member.owned)]
        if isinstance(member.user_data, StickyUserData):
            layouts.append((member.user_data.layout, member.user_data.owned))
        claims.append([gone for layout, owned in layouts for gone in beyond(group.topics, layout, owned.tolist())])
    return claims


def beyond(topics: Topics, layout: Topics, owned: list[int]) -> list[str]:
    inside = [at for at in owned if 0 <= at < layout.n_partitions]
    return [layout.label(at) for at in inside if topics.translation_from(layout)[at] < 0]


def try_groups(first: int, last: int) -> None:
    outcomes = set()
    for number in range(first, last):
        try:
            outcomes.add(try_group(number))
        except Exception as error:
            error.add_note(f"replay: try_group({number})")
            raise
    assert outcomes == {"refused", "assigned"}


def test_a_thousand_wrong_groups_are_refused_with_a_reason_or_assigned() -> None:
    try_groups(0, 1_000)


@pytest.mark.slow
def test_nine_thousand_more_wrong_groups_are_refused_with_a_reason_or_assigned() -> None:
    try_groups(1_000, 10_000)
