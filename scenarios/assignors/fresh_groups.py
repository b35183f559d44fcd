"""Groups built anew, so that nothing that was computed for one run is there for the next."""

from __future__ import annotations

from dataclasses import replace

from groupsim.assignors import GroupSnapshot, MemberSubscription, StickyUserData, Topics


def built_anew(group: GroupSnapshot) -> GroupSnapshot:
    """The same group in objects of its own; texts alone are shared."""
    layouts: dict[int, Topics] = {}

    def copied(topics: Topics) -> Topics:
        if id(topics) not in layouts:
            layouts[id(topics)] = Topics(topics.names, topics.counts, topics.racks, topics.rates)
        return layouts[id(topics)]

    def member(old: MemberSubscription) -> MemberSubscription:
        data = old.user_data
        if isinstance(data, StickyUserData):
            data = replace(data, layout=copied(data.layout), owned=data.owned.copy())
        layout = None if old.layout is None else copied(old.layout)
        return replace(old, owned=old.owned.copy(), user_data=data, layout=layout)

    return GroupSnapshot(copied(group.topics), tuple(map(member, group.members)))
