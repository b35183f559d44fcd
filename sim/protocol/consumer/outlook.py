"""What the next heartbeat of a member would bring, asked without sending it: for members that nobody looks at."""

from __future__ import annotations

from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.messages import JOIN_EPOCH, ConsumerGroupHeartbeat
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.consumer.targets import Targets
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.messages import are_same
from groupsim.sim.units import FOREVER


class Outlook:
    """Of one group.

    Parameters
    ----------
    core : GroupCore
    topics : SubscribedTopics
    targets : Targets
    """

    def __init__(self, core: GroupCore, topics: SubscribedTopics, targets: Targets) -> None:
        self._core = core
        self._topics = topics
        self._targets = targets

    @property
    def accepts_older_epochs(self) -> bool:
        """Whether a commit counts that was sent before the member knew its epoch (4.3)."""
        return self._core.rules.accepts_older_epochs

    @property
    def work_us(self) -> int:
        """From when on a heartbeat of anybody's does something for the whole group, microseconds; `FOREVER`: none."""
        roster = self._core.roster
        if roster.patterns or self._topics.is_refresh_due(0):
            return 0
        return self._targets.wanted_us if roster.group.epoch > roster.target.epoch else FOREVER

    def is_steady(self, member_id: str, epoch: int) -> bool:
        """Whether this member's heartbeats with ``epoch`` change nothing, now and as long as nothing else happens."""
        roster = self._core.roster
        member = roster.members.get(member_id)
        if member is None or member.metadata.classic is not None or member.metadata.pattern:
            return False
        current = member.current
        return (
            current.state is MemberState.STABLE
            and current.member_epoch == epoch == roster.target.epoch
            and self.work_us == FOREVER
        )

    def concerns_nobody(self, now: int, request: object) -> bool:
        """Whether a request is a heartbeat that at most reports the epoch: its member has what it is to have."""
        roster = self._core.roster
        if not isinstance(request, ConsumerGroupHeartbeat) or request.member_epoch <= JOIN_EPOCH:
            return False
        member = roster.members.get(request.member_id)
        is_mere = request.topics is None and request.pattern is None and request.owned is None
        return (
            is_mere
            and member is not None
            and member.current.state is MemberState.STABLE
            and self.work_us > now
            and not self.has_news(request.member_id)
        )

    def has_news(self, member_id: str) -> bool:
        """Whether the next heartbeat brings this member, who is STABLE, more than an epoch."""
        roster = self._core.roster
        current, target = roster.members[member_id].current, roster.target_of(member_id).positions
        return not are_same(target, current.assigned)
