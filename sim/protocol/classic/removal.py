"""How members leave a classic group, by themselves or by a timer, and what that does to the rebalance.

Source: ``GroupMetadataManager`` (below: ``GMM``), Kafka 4.4.
"""

from __future__ import annotations

from groupsim.sim.protocol.classic.rebalance import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, Rebalance
from groupsim.sim.protocol.classic.records import GroupTombstone
from groupsim.sim.protocol.classic.roster import Member
from groupsim.sim.protocol.facts import Cause, MemberRemoved
from groupsim.sim.protocol.messages import Error, JoinResponse, LeaveGroup, LeaveResponse, MemberIdentity
from groupsim.sim.units import FOREVER


class Removal:
    """Takes members out of a group.

    Parameters
    ----------
    rebalance : Rebalance
        Of the group.
    """

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    # --- by request ---------------------------------------------------------------------------------------------------

    def leave(self, now: int, request: LeaveGroup) -> LeaveResponse:
        """``GMM.classicGroupLeaveToClassicGroup``: first all go, then there is one rebalance for all of them."""
        rebalance = self._rebalance
        if rebalance.state is DEAD:
            return LeaveResponse(Error.COORDINATOR_NOT_AVAILABLE)
        if rebalance.is_unknown:
            return LeaveResponse(Error.UNKNOWN_MEMBER_ID)
        errors = tuple(map(self._dismiss, request.members))
        if Error.NONE in errors:
            reasons = "; ".join(dict.fromkeys(one.reason for one in request.members))
            self._after_removal(now, f"explicit LeaveGroup; {reasons}".strip("; "), timed=False)
        return LeaveResponse(Error.NONE, errors)

    def _dismiss(self, who: MemberIdentity) -> Error:
        """One of them; leaving as a pending id is a success too, and so is an instance id without a member id."""
        rebalance, roster, member_id = self._rebalance, self._rebalance.roster, who.member_id
        if not member_id:
            member_id = roster.static.get(who.instance_id or "", "")
        elif (name := self._take_back(member_id)) is not None:
            rebalance.note(MemberRemoved(member_id, name, Cause.LEFT, is_pending=True))
            return Error.NONE
        error, member = roster.validate(member_id, who.instance_id), roster.get(member_id)
        if error is Error.NONE and member is not None:
            self._remove(member)
            rebalance.note(MemberRemoved(member_id, member.name, Cause.LEFT))
        return error

    def delete(self) -> None:
        """``GMM.maybeDeleteGroup``: an Empty group is deleted in the log, and gone when that is replayed."""
        if self._rebalance.exists and self._rebalance.state is EMPTY:
            self._rebalance.append(GroupTombstone())

    def turn_away(self, member_id: str) -> None:
        """Forget who is too many (``ClassicGroup.remove``); the join phase is not completed on its account."""
        if (name := self._take_back(member_id)) is not None:
            self._rebalance.note(MemberRemoved(member_id, name, Cause.NOT_REJOINED, is_pending=True))
        elif (member := self._rebalance.roster.get(member_id)) is not None:
            self._remove(member)
            self._rebalance.note(MemberRemoved(member_id, member.name, Cause.NOT_REJOINED))

    def _take_back(self, member_id: str) -> str | None:
        """Take a handed-out id back; the name of who it was for, None if it is not pending."""
        name = self._rebalance.roster.pending.pop(member_id, None)
        if name is not None:
            self._rebalance.timers.cancel_session(member_id)
        return name

    def _remove(self, member: Member) -> None:
        """Take a member out; a parked JoinGroup is answered, a parked SyncGroup never is."""
        rebalance = self._rebalance
        rebalance.reply(rebalance.roster.release_join(member), JoinResponse(Error.UNKNOWN_MEMBER_ID))
        rebalance.roster.remove(member.member_id)
        rebalance.timers.cancel_session(member.member_id)
        rebalance.pending_sync.pop(member.member_id, None)

    def _after_removal(self, now: int, reason: str, *, timed: bool) -> None:
        """What a leave, or a removal by timer, does to the rebalance (``GMM.removeMemberAndUpdateClassicGroup``).

        In an initial rebalance only a removal by *timer* completes early.
        """
        rebalance = self._rebalance
        if rebalance.state in (STABLE, COMPLETING):
            rebalance.prepare(now, reason)
            return
        early = timed or rebalance.previous_state is not EMPTY
        if rebalance.state is PREPARING and early and rebalance.roster.all_joined:
            rebalance.complete_join(now)

    # --- by time ------------------------------------------------------------------------------------------------------

    def on_deadline(self, now: int) -> None:
        """Everything that is due, by deadline; ties: the barriers, then sessions (by member id)."""
        rebalance, timers = self._rebalance, self._rebalance.timers
        while (due := timers.earliest) <= now:
            if timers.join_due == due:
                if timers.window is not None:
                    rebalance.end_window(now)
                else:
                    rebalance.complete_join(now)
            elif timers.sync_due == due:
                self._expire_sync(now)
            elif (member_id := timers.pop_session(due)) is not None:
                self._expire_session(now, member_id)

    def _expire_sync(self, now: int) -> None:
        """``GMM.expirePendingSync`` (KAFKA-12890): whoever never synced is out, also in Stable.

        The id of a static member that was replaced before it synced is still waited for, and rebalances the group.
        """
        rebalance = self._rebalance
        rebalance.timers.sync_due = FOREVER
        late = list(rebalance.pending_sync)
        for member in filter(None, map(rebalance.roster.get, late)):
            self._remove(member)
            rebalance.note(MemberRemoved(member.member_id, member.name, Cause.NOT_SYNCED))
        rebalance.prepare(now, f"Removing {late} on pending sync request expiration")

    def _expire_session(self, now: int, member_id: str) -> None:
        """``GMM.expireClassicGroupMemberHeartbeat``; parked members are exempt unless they are new."""
        rebalance = self._rebalance
        if (name := self._take_back(member_id)) is not None:
            rebalance.note(MemberRemoved(member_id, name, Cause.EXPIRED, is_pending=True))
            if rebalance.state is PREPARING and rebalance.roster.all_joined:
                rebalance.complete_join(now)
            return
        member = rebalance.roster.get(member_id)
        if member is None or (member.is_parked and not (member.is_new and member.join_waiter is not None)):
            return
        self._remove(member)
        rebalance.note(MemberRemoved(member_id, member.name, Cause.EXPIRED))
        self._after_removal(now, f"removing member {member.name} on heartbeat expiration", timed=True)
