"""Generated groups in which nobody owns anything yet."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from groupsim.assignors import GroupSnapshot, MemberSubscription, Topics

TOPICS = ["clicks", "orders", "payments", "users"]
RACKS = ["rack-a", "rack-b", "rack-c"]


def topics(*, racks: bool = False) -> st.SearchStrategy[Topics]:
    plain = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 9), min_size=1).map(Topics.of)
    return plain.flatmap(with_racks) if racks else plain


def with_racks(plain: Topics) -> st.SearchStrategy[Topics]:
    replicas = st.lists(st.sampled_from(RACKS), min_size=1, max_size=2).map(tuple)
    by_position = st.lists(replicas, min_size=plain.n_partitions, max_size=plain.n_partitions)
    return by_position.map(lambda racks: Topics(plain.names, plain.counts, tuple(racks)))


@st.composite
def groups(draw: st.DrawFn, *, equal: bool, racks: bool = False, loads: bool = False) -> GroupSnapshot:
    """With one member at least: Kafka asks no assignor of an empty group."""
    known = draw(topics(racks=racks))
    if loads:
        per_partition = {"min_size": known.n_partitions, "max_size": known.n_partitions}
        known = replace(known, rates=tuple(draw(st.lists(st.integers(0, 20), **per_partition))))
    ids = draw(st.lists(st.from_regex(r"consumer-[0-9]{1,3}", fullmatch=True), min_size=1, max_size=8, unique=True))
    names = st.sets(st.sampled_from([*known.names, "unknown"]), min_size=1)
    subscription = names.map(lambda chosen: tuple(sorted(chosen)))
    shared = draw(subscription)
    static = draw(st.sampled_from([[True], [False], [True, False]]))
    members = [
        MemberSubscription(
            member_id,
            shared if equal else draw(subscription),
            instance_id=f"static-{member_id}" if draw(st.sampled_from(static)) else None,
            rack=draw(st.sampled_from([None, *RACKS])) if racks else None,
            capacity=draw(st.integers(1, 5)) if loads else None,
        )
        for member_id in ids
    ]
    return GroupSnapshot(known, tuple(members))
