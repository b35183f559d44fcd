"""Whatever is handed to the public names of `assignors`, out comes an answer or one of groupsim's own errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignment,
    AssignorError,
    CooperativeStickyUserData,
    GroupSnapshot,
    InvalidSnapshot,
    MemberSubscription,
    RandomAssignor,
    StickyUserData,
    Topics,
    create,
    create_server,
    load_class,
    positions_of,
)

pytestmark = pytest.mark.property

ODD = st.sampled_from(
    [
        None, True, 0, -1, 7, 2**31, 2**70, -(2**70), 1.5, float("nan"), 10**400, "", "t", "orders", b"t", (), ("t",),
        (1,), ("t", None), (None,), (("a",),), ([],), [], ["t"], [1, 2], [[1], [2, 3]], {}, {"t": 1}, {"t": 1.5},
        {"t": "1"}, {1: 2}, {"t": True}, {"t": 2**40}, set(), object(), int, len, np.int32(3), np.array([0]),
        np.array([0.5]),        np.array(["t"]), np.array([[0]]), np.array([2**40]), np.array(0), Topics.of({"t": 2}),
        Topics.of({"t": 0}),
    ]
)  # fmt: skip
"""Values of all kinds, some of which are right somewhere."""
FINE: dict[Callable[..., Any], dict[str, Any]] = {
    Topics: {"names": ("t",), "counts": (2,), "racks": None, "rates": None},
    MemberSubscription: {
        "member_id": "m", "topics": ("t",), "owned": np.array([0], dtype=np.int32), "generation": 1,
        "instance_id": None, "rack": None, "user_data": None, "layout": None, "capacity": None,
    },
    StickyUserData: {"layout": Topics.of({"t": 2}), "owned": np.array([0], dtype=np.int32), "generation": 1},
    CooperativeStickyUserData: {"generation": 1},
    GroupSnapshot: {"topics": Topics.of({"t": 2}), "members": (MemberSubscription("m", ("t",)),)},
    GroupSnapshot.of_lists: {"counts": {"t": 2}, "members": {"m": (["t"], [("t", 0)])}, "generation": 1},
    Topics.of: {"counts": {"t": 2}},
    RandomAssignor: {"seed": 1},
    create: {"name": "random", "seed": 1},
    create_server: {"name": "uniform"},
    load_class: {"path": "nosuch:Class"},
    positions_of: {"values": [1]},
    Assignment.of_lists: {"topics": Topics.of({"t": 2}), "lists": [[0], [1]]},
}  # fmt: skip


def made(what: Callable[..., Any], **values: Any) -> Any:
    """What comes of it; None for a refusal. Any other exception gets out."""
    try:
        return what(**values)
    except AssignorError:
        return None


@given(data=st.data())
@settings(max_examples=500)
def test_wrong_types_are_refused_with_groupsims_own_errors(data: st.DataObject) -> None:
    what = data.draw(st.sampled_from(list(FINE)))
    names = data.draw(st.sets(st.sampled_from(list(FINE[what])), min_size=1, max_size=2))
    made(what, **(FINE[what] | {name: data.draw(ODD) for name in sorted(names)}))


@given(data=st.data())
@settings(max_examples=300)
def test_what_is_taken_is_assigned_or_refused(data: st.DataObject) -> None:
    """A group of odd parts, asked of every assignor."""
    parts = {"t": Topics, "member": MemberSubscription, "data": StickyUserData}
    odd = data.draw(st.sampled_from(list(parts)))
    changed = {data.draw(st.sampled_from(list(FINE[parts[odd]]))): data.draw(ODD)}
    topics = made(Topics, **(FINE[Topics] | (changed if odd == "t" else {})))
    memory = made(StickyUserData, **(FINE[StickyUserData] | (changed if odd == "data" else {})))
    claims = {"user_data": data.draw(st.sampled_from([memory, None]))}
    member = made(MemberSubscription, **(FINE[MemberSubscription] | claims | (changed if odd == "member" else {})))
    group = made(GroupSnapshot, topics=topics, members=(member, MemberSubscription("x", ("t",))))
    if group is not None:
        for assignor in [*map(create, ASSIGNORS), *map(create_server, SERVER_ASSIGNORS)]:
            made(assignor.assign, snapshot=group)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: MemberSubscription("m", "orders"), "topics of member 'm' must be a tuple of names, not 'orders'"),  # type: ignore[arg-type]
        (
            lambda: MemberSubscription("m", ("t",), generation=2**70),
            "generation of member 'm' must be a whole number of 32",
        ),
        (lambda: Topics.of({"t": 2.5}), "partition counts must be a tuple of whole numbers"),  # type: ignore[dict-item]
        (lambda: Topics(("t",), (2,), rates=(1.5, 2.5)), "rates must be a tuple of ints"),  # type: ignore[arg-type]
        (lambda: StickyUserData(Topics.of({"t": 2}), positions_of([0]), 2**70), "generation of user data must be"),
        (lambda: GroupSnapshot(Topics.of({"t": 2}), [MemberSubscription("m", ("t",))]), "must be a tuple"),  # type: ignore[arg-type]
    ],
)
def test_the_refusal_names_what_is_wrong(make: Callable[[], object], says: str) -> None:
    with pytest.raises(InvalidSnapshot, match=says):
        make()
