"""Groups that change their protocol, online: one machine for a group id, `group`, whichever protocol its group speaks.

It is pure (`sim.protocol.interface`), and holds either a classic group or a consumer group. Names are those of Kafka
4.4: ``GMM`` is ``GroupMetadataManager``. What the group is, and what changes it:

================= ================= ============================================= ======================================
from              to                event                                         Kafka
================= ================= ============================================= ======================================
none              classic           JoinGroup without an id, a commit of nobody's GMM.getOrMaybeCreateClassicGroup
none              consumer          heartbeat with epoch 0                        GMM.getOrMaybeCreateConsumerGroup
classic, empty    consumer          the same, whatever the policy is              GMM.maybeDeleteEmptyClassicGroup
classic           consumer          the same, if the policy allows upgrades       GMM.convertToConsumerGroup
consumer, empty   classic           JoinGroup, whatever the policy is             GMM.maybeDeleteEmptyConsumerGroup
consumer          classic, which    a member leaves or is fenced, and only        GMM.validateOnlineDowngradeWith-
                  rebalances        classic ones stay, if the policy allows it    FencedMembers, convertToClassicGroup
consumer          classic           a static classic member takes the place of    GMM.validateOnlineDowngradeWith-
                                    the last other one, if the policy allows it;  ReplacedMember, convertToClassicGroup
                                    it rebalances if its targets are stale
any               the former        the log refuses the change                    CoordinatorRuntime: reverted snapshots
a log             the last one      replayed                                      GMM.replay
================= ================= ============================================= ======================================

``group.consumer.migration.policy``: ``bidirectional`` allows both, ``upgrade`` and ``downgrade`` one, ``disabled``
neither, and then (4.3) no classic member joins a consumer group. Without leave to upgrade, or if the group is too large
or of another type, the heartbeat is answered GROUP_ID_NOT_FOUND. So it is (KAFKA-18134) if a member's assignment
carries user data, as Kafka Streams' do. Kafka's own assignors have none there, sticky's memory is in subscriptions;
but leaders of librdkafka put what a member's subscription carries into its assignment.

Upgrade: whoever is parked is told REBALANCE_IN_PROGRESS. All members are STABLE at the generation, with what they had
been assigned last, as their target too, and may fetch it again. The newcomer's subscription bumps the epoch, and a
server assignor moves partitions from then on, one member after the other; that first computation waits for nothing.

Downgrade: generation is the group epoch, assignments are the targets, and sessions start anew.

What a classic member meets in a consumer group (`sim.protocol.consumer.classic_members`), by how far it has come:

============= ====================== ========================== =========================== ===========================
request       at the target, STABLE  behind the target          UNREVOKED_PARTITIONS        UNRELEASED_PARTITIONS
============= ====================== ========================== =========================== ===========================
Heartbeat     NONE                   REBALANCE_IN_PROGRESS      REBALANCE_IN_PROGRESS       the same once all is free
SyncGroup     what it may own        REBALANCE_IN_PROGRESS      what it may keep            what is free already
JoinGroup     its epoch              one step towards it        a step, if it owns nothing  what is free by then
                                                                of that any more
OffsetCommit  its epoch, or an older one at which it had the partitions (4.3); else ILLEGAL_GENERATION
LeaveGroup    it is gone, the group epoch is bumped once for all who are named
============= ====================== ========================== =========================== ===========================

Who has been called by REBALANCE_IN_PROGRESS has its rebalance timeout to join, who has joined has it to sync; then it
is fenced. An eager member tells in each JoinGroup that it owns nothing: it never waits in UNREVOKED_PARTITIONS, and is
given all that it may have by the SyncGroup that follows.
"""
