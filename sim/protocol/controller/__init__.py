"""What the active controller knows of a cluster, and what it decides. Pure: no clock, no network (Kafka 4.4, KRaft).

Of each partition there are its replicas, those *in sync* (ISR), one of these that leads, and a leader epoch. A broker
is *active* while its session is alive and it is not on its way down. What changes them:

=====================  =============================================================================================
event                  what follows
=====================  =============================================================================================
controlled shutdown    SIGTERM: the broker asks for it, leaves every ISR but those of which it is the last, and leads
                       nothing any more (``ReplicationControlManager.handleBrokerInControlledShutdown``)
session over           ``broker.session.timeout.ms`` without a heartbeat: *fenced*; the same for its partitions
                       (``handleBrokerFenced``)
back                   registered, caught up with the metadata, unfenced: what has no leader elects one
                       (``handleBrokerUnfenced``)
caught up              the leader asks for the follower to be in the ISR again (``alterPartition``)
preferred election     ``leader.imbalance.check.interval.seconds``, or on demand: the first replica leads if it is in
                       the ISR (``maybeBalancePartitionLeaders``, ``electLeaders``)
=====================  =============================================================================================

An election takes the first of the replicas, in their order, that is active and in the ISR
(``PartitionChangeBuilder.electAnyLeader``). Who leaves an ISR smaller than ``min.insync.replicas`` is *eligible*
(ELR, KIP-966): the high watermark stands still then (``Partition.maybeIncrementLeaderHW``), so it has what was
acknowledged. It is elected if nobody is in sync, but not after SIGKILL, for then its log may have lost its end. If
nobody is eligible either, the last one that led is waited for. Without ELR (before 4.1) the last one in an ISR stays in
it, dead or not. So whatever every replica of an ISR had when it was acknowledged, each later leader has, unless
``unclean.leader.election.enable`` lets anybody lead who is active: what that one lacks is gone
(`sim.protocol.controller.replica_logs`).

A broker beats every ``broker.heartbeat.interval.ms``. The controller looks for sessions that are over eight times in
``broker.session.timeout.ms`` (``QuorumController.registerMaybeFenceStaleBroker``), so a broker that is killed is fenced
7.0 to 10.1 s later by the defaults. A controller that takes over gives every session its full length
(``BrokerHeartbeatManager``, ``ClusterControlManager.activate``). While the session of a former incarnation is alive,
nobody else registers under its id (``DuplicateBrokerRegistrationException``).
"""
