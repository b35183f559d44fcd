"""The classic protocol (KIP-62 and what came after): a group machine, `group`, and a member machine, `member`.

Both are pure (`sim.protocol.interface`). Names are those of Kafka 4.4: ``GMM`` is ``GroupMetadataManager``, ``CG``
``ClassicGroup``, ``AC`` ``AbstractCoordinator``, ``CC`` ``ConsumerCoordinator``.

The group: states (``ClassicGroupState``) and what a request of a member meets in each; *parked* is answered later.

=================== ==================== ==================== ==================== ====================
request             Empty                PreparingRebalance   CompletingRebalance  Stable
=================== ==================== ==================== ==================== ====================
JoinGroup, no id    MEMBER_ID_REQUIRED (KIP-394); static or before v4: a full join
JoinGroup, full     parked               parked               parked, new round    parked, new round
JoinGroup, same     UNKNOWN_MEMBER_ID    parked               current generation   follower: current
                                                                                   generation; leader:
                                                                                   parked, new round
JoinGroup, changed  UNKNOWN_MEMBER_ID    parked               parked, new round    parked, new round
SyncGroup           UNKNOWN_MEMBER_ID    REBALANCE_IN_PROG.   parked               the assignment
Heartbeat           UNKNOWN_MEMBER_ID    REBALANCE_IN_PROG.   NONE                 NONE
OffsetCommit        UNKNOWN_MEMBER_ID    NONE, when logged    REBALANCE_IN_PROG.   NONE, when logged
LeaveGroup          UNKNOWN_MEMBER_ID    NONE                 NONE, new round      NONE, new round
=================== ==================== ==================== ==================== ====================

Dead answers COORDINATOR_NOT_AVAILABLE to everything. Where there is no such group, who has a member id is told
UNKNOWN_MEMBER_ID, and GROUP_ID_NOT_FOUND if it commits; a JoinGroup without one, or a commit of nobody's, makes it.
A JoinGroup of another protocol type, or without a protocol in common, is INCONSISTENT_GROUP_PROTOCOL. Transitions:

=================== =================== ================================================== ========================
from                to                  event                                              Kafka
=================== =================== ================================================== ========================
Empty               PreparingRebalance  a full JoinGroup; waits for the initial delay      GMM.prepareRebalance
PreparingRebalance  CompletingRebalance all have joined, or the join timer; generation + 1 completeClassicGroupJoin
PreparingRebalance  Empty               the same, and nobody is left; logged               completeClassicGroupJoin
CompletingRebalance Stable              the leader's SyncGroup is in the log               setAndPropagateAssignment
CompletingRebalance PreparingRebalance  a join, leave, expiry or changed member; the       GMM.prepareRebalance
                                        append has failed: all who sync are told
Stable              PreparingRebalance  the same; the leader rejoins; loaded too large     GMM.prepareRebalance
Empty               Empty, generation 0 offsets have expired; deletion is logged           CG.createGroupTombstone
any                 Dead                unloaded; all who are parked: NOT_COORDINATOR      GMM.onUnloaded
a log               Stable, or Empty    replayed: the last summary, with or without        GMM.replay, onLoaded
                                        members; sessions start anew
=================== =================== ================================================== ========================

Timers: join (the initial delay in windows, else the largest rebalance timeout when armed), sync (the same length, from
the end of the join phase), session (one a member: armed by join completion, heartbeats, commits, the answer to a parked
SyncGroup and loading; a new member has five minutes until it has joined, a pending id one session timeout), expiry.
What waits for an append is a record of its own (`records.Awaited`); answers to commits travel with their batch. If the
append of a replaced static member fails, the old id is back, in whatever state; if that of a new group fails, who made
it is refused.

The member: states (``AC.MemberState``) and transitions.

===================== ===================== ============================================== ========================
from                  to                    event                                          Kafka
===================== ===================== ============================================== ========================
UNJOINED, STABLE,     PREPARING_REBALANCE   poll() finds rejoin_needed, and what it gives  AC.initiateJoinGroup
COMPLETING_REBALANCE                        up is given up: JoinGroup is sent
PREPARING_REBALANCE   COMPLETING_REBALANCE  a good JoinGroup response; heartbeats begin    JoinGroupResponseHandler
COMPLETING_REBALANCE  STABLE                a good SyncGroup response; the next poll()     SyncGroupResponseHandler
                                            takes the assignment over                      CC.onJoinComplete
any                   UNJOINED              UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, fenced, AC.resetStateAndRejoin
                                            poll interval exceeded, closed
===================== ===================== ============================================== ========================

A failed JoinGroup leaves PREPARING_REBALANCE, a failed SyncGroup COMPLETING_REBALANCE. Between two of these a member
can wait for its application or for a commit, and then goes on with a step (`states.Step`):

======== ============================= ================================================ ===========================
step     waits for                     then                                             Kafka
======== ============================= ================================================ ===========================
REVOKE   the commit before joining     onPartitionsRevoked, or onPartitionsLost         CC.onJoinPrepare
JOIN     onPartitionsRevoked, or Lost  JoinGroup                                        AC.initiateJoinGroup
ADOPT    onPartitionsRevoked           the assignment is adopted: onPartitionsAssigned  CC.onJoinComplete
POLL     onPartitionsAssigned          poll() goes on: positions, or another round      CC.poll
CLOSE    the last commit               onPartitionsRevoked, or onPartitionsLost         CC.onLeavePrepare
LEAVE    the last listener             LeaveGroup, closed                               AC.maybeLeaveGroup
======== ============================= ================================================ ===========================
"""
