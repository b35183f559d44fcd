"""JoinGroup at a classic group: who is let in, who is given an id first, and how a static instance comes back.

Source: ``GroupMetadataManager`` (below: ``GMM``), Kafka 4.4.
"""

from __future__ import annotations

from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.classic.rebalance import ANSWERED, COMPLETING, DEAD, EMPTY, PREPARING, STABLE, Rebalance
from groupsim.sim.protocol.classic.records import GroupMetadata, NewGroup, StaticReplacement
from groupsim.sim.protocol.classic.removal import Removal
from groupsim.sim.protocol.classic.roster import Member
from groupsim.sim.protocol.facts import MemberAdmitted, MemberIdGiven, MemberReplaced
from groupsim.sim.protocol.interface import Waiter
from groupsim.sim.protocol.messages import Error, JoinGroup, JoinResponse, SyncResponse


class Admission:
    """Works on JoinGroups.

    Parameters
    ----------
    rebalance : Rebalance
    removal : Removal
        Both of the group.
    """

    def __init__(self, rebalance: Rebalance, removal: Removal) -> None:
        self._rebalance = rebalance
        self._removal = removal

    def join(self, now: int, request: JoinGroup, waiter: Waiter) -> None:
        """``GMM.classicGroupJoinToClassicGroup``: admit, refuse, or park until the join phase is over.

        Raises
        ------
        ProtocolMisuse
            A static instance joins with a handed-out id, or is replaced in a group without members.
        """
        rebalance, config, member_id = self._rebalance, self._rebalance.config, request.member_id
        if not config.min_session_timeout_us <= request.session_timeout_us <= config.max_session_timeout_us:
            self._refuse(waiter, Error.INVALID_SESSION_TIMEOUT, member_id)
        elif rebalance.state is DEAD:
            self._refuse(waiter, Error.COORDINATOR_NOT_AVAILABLE, member_id)
        elif member_id and rebalance.is_unknown:
            self._refuse(waiter, Error.UNKNOWN_MEMBER_ID, member_id)
        elif not self._has_room(member_id):
            self._removal.turn_away(member_id)
            self._refuse(waiter, Error.GROUP_MAX_SIZE_REACHED)
        elif not rebalance.roster.supports(request, is_empty=rebalance.state is EMPTY):
            self._refuse(waiter, Error.INCONSISTENT_GROUP_PROTOCOL, member_id)
        elif member_id:
            self._join_with_id(now, request, waiter)
        else:
            self._join_without_id(now, request, waiter)
        if not member_id and rebalance.is_unknown and rebalance.state is not DEAD:
            self._create(now, waiter)

    def _refuse(self, waiter: Waiter | None, error: Error, member_id: str = "") -> None:
        self._rebalance.reply(waiter, JoinResponse(error, member_id=member_id))

    def _has_room(self, member_id: str) -> bool:
        """``GMM.acceptJoiningMember``: pending ids do not count; while preparing, the last to rejoin are too many."""
        state, roster, limit = self._rebalance.state, self._rebalance.roster, self._rebalance.config.max_size
        if state is EMPTY:
            return True
        member = roster.get(member_id)
        if state is PREPARING:
            return (member is not None and member.join_waiter is not None) or roster.awaiting_join < limit
        return member is not None or len(roster) < limit

    def _create(self, now: int, waiter: Waiter) -> None:
        """The group is new: that it exists is logged, and nobody waits for it."""
        rebalance = self._rebalance
        rebalance.create(now)
        record = GroupMetadata(rebalance.generation, protocol=None, leader=None, state_us=rebalance.state_us)
        rebalance.append(record, NewGroup(waiter), is_awaited=False)

    def not_created(self, group: NewGroup, error: Error) -> None:
        """That the group exists could not be logged: who made it is refused, if it is still parked.

        As in Kafka its join counts as parked on, so that the phase does not wait for it; nobody hears of its end.
        """
        creator = next((one for one in self._rebalance.roster if one.join_waiter is group.waiter), None)
        if creator is not None:
            self._refuse(group.waiter, error)
            creator.join_waiter = ANSWERED

    def _join_without_id(self, now: int, request: JoinGroup, waiter: Waiter) -> None:
        """``GMM.classicGroupJoinNewMember``; before JoinGroup v4 no id is asked for."""
        rebalance, fresh = self._rebalance, request.fresh_id
        known = rebalance.roster.static.get(request.instance_id) if request.instance_id is not None else None
        if known is not None:
            self._replace_static(now, known, request, waiter)
        elif request.instance_id is None and request.knows_member_id_required and not rebalance.is_old:
            rebalance.roster.pending[fresh] = request.name
            rebalance.timers.arm_session(fresh, now + request.session_timeout_us)
            rebalance.note(MemberIdGiven(fresh, request.name))
            self._refuse(waiter, Error.MEMBER_ID_REQUIRED, fresh)
        else:
            self._add(now, request, fresh, waiter)

    def _join_with_id(self, now: int, request: JoinGroup, waiter: Waiter) -> None:
        """``GMM.classicGroupJoinExistingMember``."""
        rebalance, member_id, state = self._rebalance, request.member_id, self._rebalance.state
        if member_id in rebalance.roster.pending:
            if request.instance_id is not None:
                raise ProtocolMisuse(f"instance {request.instance_id} joins with the handed-out id {member_id}")
            self._add(now, request, member_id, waiter)
            return
        error = rebalance.roster.validate(member_id, request.instance_id)
        member = rebalance.roster.get(member_id)
        if error is not Error.NONE or state is EMPTY or member is None:
            self._refuse(waiter, error if error is not Error.NONE else Error.UNKNOWN_MEMBER_ID, member_id)
            return
        leads, reason = rebalance.roster.leader == member_id, f"Updating metadata for member {request.name}"
        may_be_current = state is COMPLETING or (state is STABLE and not leads)
        if may_be_current and member.same_protocols(request.protocols):
            rebalance.reply(waiter, rebalance.join_response(member))
            return
        if state is STABLE and leads:
            reason = f"Leader {request.name} re-joining group during Stable"
        self._update(now, member, request, waiter, reason)

    def _add(self, now: int, request: JoinGroup, member_id: str, waiter: Waiter) -> None:
        """``GMM.addMemberThenRebalanceOrCompleteJoin``."""
        rebalance = self._rebalance
        if rebalance.state is PREPARING and rebalance.previous_state is EMPTY:
            rebalance.new_member_added = True
        rebalance.roster.add(request, member_id, waiter)
        if rebalance.is_old:
            rebalance.timers.cancel_session(member_id)
        else:
            rebalance.timers.arm_session(member_id, now + rebalance.config.new_member_join_timeout_us)
        rebalance.note(MemberAdmitted(member_id, request.name))
        rebalance.prepare_or_complete(now, f"Adding new member {request.name}", request.reason)

    def _update(self, now: int, member: Member, request: JoinGroup, waiter: Waiter, reason: str) -> None:
        """``GMM.updateMemberThenRebalanceOrCompleteJoin``: the session timer is not touched."""
        self._rebalance.roster.update(member, request)
        self._rebalance.roster.park_join(member, waiter)
        self._rebalance.prepare_or_complete(now, reason, request.reason)

    # --- static members -----------------------------------------------------------------------------------------------

    def _replace_static(self, now: int, old_id: str, request: JoinGroup, waiter: Waiter) -> None:
        """``GMM.updateStaticMemberThenRebalanceOrCompleteJoin``: the instance comes back under a new member id.

        Only the selected protocol's *name* decides whether that is a rebalance (KIP-345, KIP-814).
        """
        rebalance, roster = self._rebalance, self._rebalance.roster
        old, leader = roster.get(old_id), roster.leader
        assert old is not None
        replacement = StaticReplacement(
            request.fresh_id, old_id, leader, waiter, old.protocols, old.session_timeout_us, old.rebalance_timeout_us,
            request.knows_skip_assignment,
        )  # fmt: skip
        new = self._rename(now, old, request.fresh_id)
        roster.update(new, request)
        roster.park_join(new, waiter)
        rebalance.note(MemberReplaced(old_id, request.name, new.member_id))
        rebalance.note(MemberAdmitted(new.member_id, request.name))
        if rebalance.state is EMPTY:
            raise ProtocolMisuse(f"instance {request.instance_id} is replaced in an Empty group")
        if rebalance.state is not STABLE:
            reason = f"Static member {request.name} joined during {rebalance.state.value}"
            rebalance.prepare_or_complete(now, reason, "")
        elif roster.select_protocol() != rebalance.protocol:
            reason = f"Group's selectedProtocol will change because static member {request.name} joined"
            rebalance.prepare_or_complete(now, reason, "")
        else:
            rebalance.append(rebalance.summary(), replacement)

    def _rename(self, now: int, old: Member, member_id: str) -> Member:
        """``ClassicGroup.replaceStaticMember``: who waits under the old id is fenced, the session starts anew."""
        rebalance, timers = self._rebalance, self._rebalance.timers
        joining = rebalance.roster.release_join(old)
        rebalance.reply(joining, JoinResponse(Error.FENCED_INSTANCE_ID, member_id=old.member_id))
        rebalance.reply(old.sync_waiter, SyncResponse(Error.FENCED_INSTANCE_ID))
        new = rebalance.roster.replace_static(old, member_id)
        timers.cancel_session(old.member_id)
        timers.renew(now, new)
        return new

    def replaced(self, now: int, replacement: StaticReplacement, error: Error) -> None:
        """The new id is in the log, or is not; whoever was answered otherwise meanwhile is not answered again."""
        member = self._rebalance.roster.get(replacement.member_id)
        if member is None:
            return
        if error is Error.NONE:
            self._confirm(member, replacement)
        else:
            self._revert(now, member, replacement, error)

    def _confirm(self, member: Member, replacement: StaticReplacement) -> None:
        """Whatever the new member has parked by now is answered (``ClassicGroup.completeJoinFuture``)."""
        rebalance, response = self._rebalance, self._rebalance.join_response(member)
        if replacement.knows_skip_assignment:
            response.skip_assignment = response.leader == member.member_id
            if response.skip_assignment and rebalance.state is PREPARING:
                return  # Kafka throws here: there is no generation to tell of, the join stays parked
        else:
            response.leader, response.members = replacement.leader or "", ()
        rebalance.reply(rebalance.roster.release_join(member), response)

    def _revert(self, now: int, member: Member, was: StaticReplacement, error: Error) -> None:
        """The instance is the old member again, in whatever state; what it has parked since then is forgotten.

        The JoinGroup that replaced it is refused if it has not been answered
        (``GMM.updateStaticMemberThenRebalanceOrCompleteJoin``, on failure).
        """
        rebalance, roster = self._rebalance, self._rebalance.roster
        if roster.release_join(member) is not None:
            response = rebalance.join_response(member)
            response.error, response.member_id, response.members = error, "", ()
            response.leader = was.leader or ""
            rebalance.reply(was.waiter, response)
        roster.set_member(member, was.protocols, was.session_timeout_us, was.rebalance_timeout_us)
        old = self._rename(now, member, was.old_id)
        self._rebalance.note(MemberReplaced(was.member_id, member.name, old.member_id))
        self._rebalance.note(MemberAdmitted(old.member_id, old.name))
