"""The consumer protocol (KIP-848): a group machine, `group`, and a member machine, in `member`.

Both are pure (`sim.protocol.interface`). Names are those of Kafka 4.4: ``GMM`` is ``GroupMetadataManager``, ``CG``
``ConsumerGroup``, ``CAB`` ``CurrentAssignmentBuilder``.

There is one request, ConsumerGroupHeartbeat. Nothing is pushed: what is decided reaches a member with the answer to its
own next heartbeat. Three epochs say how far things are: the *group epoch* goes up with whatever may change the
assignment, the *assignment epoch* is the group epoch for which the targets were computed, and each member's *member
epoch* is the assignment epoch that it has reached.

The group: states, which follow from what the log says (``CG.maybeUpdateGroupState``).

=========== ========================================================= ===============================================
state       when                                                      left by
=========== ========================================================= ===============================================
Empty       no members                                                a join
Assigning   the group epoch is above the assignment epoch             the next heartbeat of anybody, once the
                                                                      assignment interval is over
Reconciling somebody is not yet where the target wants it             heartbeats of the members concerned
Stable      every member is STABLE at the assignment epoch            a bump of the group epoch
Dead        there is no such group, or its coordinator is elsewhere   a join
=========== ========================================================= ===============================================

What bumps the group epoch, and who computes:

============================================= ======================================== ===============================
event                                         the group epoch                          a target is computed
============================================= ======================================== ===============================
new member, other topics subscribed to        + 1                                      in the same heartbeat
a regular expression that is resolved already + 1                                      in the same heartbeat
a regular expression that is new              unchanged until it is resolved, then + 1 by the next heartbeat
metadata of subscribed topics have changed    + 1, in the next heartbeat               in that heartbeat
another assignor wins the vote (4.4)          + 1                                      in the same heartbeat
leave (-1), session over, not revoked in time + 1                                      by the next heartbeat
static leave (-2), static replacement         unchanged                                no
timeouts or rack changed                      unchanged                                no
============================================= ======================================== ===============================

A heartbeat computes once the assignment interval since the last computation is over, or if there was none (timestamp 0:
the group is new, upgraded, or was emptied (4.4)). Nothing wakes up at the end of the interval.

A member at the coordinator: states, A what it may own, V what it is giving up, T its target at assignment epoch E
(``CAB.build``).

============= ============= ============================================== =====================================
from          to            a heartbeat that finds                         the answer
============= ============= ============================================== =====================================
STABLE        UNREVOKED     A - T not empty, and not shown to be given up  its old epoch, A without A - T
STABLE        UNRELEASED    T - A partly held by others                    E, and what of T is free
STABLE        STABLE        everything of T free                           E; the assignment if it is another one
UNREVOKED     UNREVOKED     no owned partitions, or some of V among them   as before, whatever the target is by now
UNREVOKED     any           owned partitions, none of V among them         as from STABLE
UNRELEASED    any           anything                                       as from STABLE; what has become free
UNKNOWN       any           no partitions owned                            as from STABLE; else FENCED_MEMBER_EPOCH
============= ============= ============================================== =====================================

V counts as held until its acknowledgement is replayed. Every change is a record (`records`), replayed at once
(`roster`), while the answer travels with the batch; an error undoes what its request has written, and a batch that
cannot be appended is undone with all that were built upon it (`journal`). Timers are not undone.

What a request meets:

========================== ================================================================================
error                      when
========================== ================================================================================
INVALID_REQUEST            fields that do not go together
UNSUPPORTED_ASSIGNOR       an assignor that the broker does not offer
GROUP_ID_NOT_FOUND         there is no such group, and the epoch is not 0
GROUP_MAX_SIZE_REACHED     the group is full, and does not know who asks
UNKNOWN_MEMBER_ID          the group does not know who asks, or its instance id, and the epoch is not 0
FENCED_MEMBER_EPOCH        the epoch is above the member's, or below and not that of a lost answer
UNRELEASED_INSTANCE_ID     a join with an instance id whose member has not left with -2
FENCED_INSTANCE_ID         an instance id that is known by another member id
INVALID_REGULAR_EXPRESSION RE2/J refuses it
UNKNOWN_SERVER_ERROR       the assignor throws
STALE_MEMBER_EPOCH         a commit whose epoch is above the member's, or below for a partition got since then;
                           ILLEGAL_GENERATION if the member uses the classic protocol
========================== ================================================================================

Timers: session (from each heartbeat that succeeds, anew for everybody when the log is loaded; not from commits, not
from a leave with -2), rebalance (from each new UNREVOKED state; fences whoever is still at that epoch). Tasks: one, to
resolve all regular expressions of the group together, at most every 10 s.
"""
