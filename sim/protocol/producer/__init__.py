"""What a producer sends and what a partition's log makes of it: sequences, epochs, transactions. All pure.

Names are those of Kafka 4.4: ``PAI`` is ``ProducerAppendInfo``, ``PSM`` ``ProducerStateManager``, ``UL``
``UnifiedLog``. A batch meets at the leader, in this order:

================================================= ============================= ===================================
batch                                             answer                        Kafka
================================================= ============================= ===================================
same epoch, same sequences as one of the last 5   NONE, with the old offset     PSM ``findDuplicateBatch``
transaction opened, and not added or verified     INVALID_TXN_STATE             UL ``verificationGuard``
epoch below the known one                         INVALID_PRODUCER_EPOCH        PAI ``checkProducerEpoch``
TV2, transactional, producer unknown, not from 0  OUT_OF_ORDER_SEQUENCE_NUMBER  PAI ``checkSequence``
higher epoch, not from 0                          OUT_OF_ORDER_SEQUENCE_NUMBER  PAI ``checkSequence``
not the sequence after the last one               OUT_OF_ORDER_SEQUENCE_NUMBER  PAI ``checkSequence``
transaction open, batch not of it                 INVALID_TXN_STATE             PAI ``appendDataBatch``
any other                                         NONE; a first one of a        PAI ``appendDataBatch``
                                                  transaction opens it here
================================================= ============================= ===================================

A marker needs an epoch above the known one (TV2; equal is a repetition if nothing is open, written and without effect)
or not below it (TV1), and a coordinator epoch that is not older: TRANSACTION_COORDINATOR_FENCED. It takes one offset.
From then on its epoch is the known one: late batches of the transaction are refused.

Up to the *last stable offset* everything is decided: the least of the high watermark and the first offset of any
transaction that is open, or whose marker the high watermark has not passed. ``read_committed`` reads up to there,
without what was aborted; ``read_uncommitted`` reads everything up to the high watermark.
"""
