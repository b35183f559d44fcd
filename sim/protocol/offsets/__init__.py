"""Committed offsets of a group: what its coordinator keeps of them, and how they come to an end.

Pure, as all of `sim.protocol`. Source: ``OffsetMetadataManager``, ``OffsetExpirationConditionImpl`` and
``GroupCoordinatorShard.cleanupGroupMetadata``, Kafka 4.4. Whether a member may commit or fetch is its group's affair
(``Group.validateOffsetCommit``, ``validateOffsetFetch``); everything else is here:

=========================  =========================================================================================
what happens               what becomes of an offset
=========================  =========================================================================================
commit                     it is the committed one, whatever it says; what a transaction has pending stays pending
commit of a transaction    it is pending for the producer, and nobody can fetch it
marker COMMIT              it is the committed one, unless a later record is
marker ABORT               it is dropped
fetch                      -1 where there is none; a consumer is told UNSTABLE_OFFSET_COMMIT where one is pending
OffsetDelete               tombstone; GROUP_SUBSCRIBED_TO_TOPIC while the group reads the topic
DeleteGroups               tombstones for all of them, pending ones too, then the group's own; only of an empty group
topic deleted              tombstones, in every group
check of retention         see `sim.protocol.offsets.expiration`
=========================  =========================================================================================

What changes is a record, and what was written can be replayed. Offsets are columns over the positions of a group
(`OffsetTable`), because quiet members commit by arithmetic, many at a time.
"""
