"""Transactions: the coordinator of transactional ids, and the transaction of one producer. Both are pure.

Names are those of Kafka 4.4: ``TC`` is ``TransactionCoordinator``, ``TMD`` ``TransactionMetadata``, ``TSM``
``TransactionStateManager``, ``TMC`` ``TransactionMarkerChannelManager``, ``TM`` the client's ``TransactionManager``.
TV1 and TV2 are levels of the feature transaction.version; TV2 (KIP-890) is that of clusters since 4.0.

A transactional id belongs to partition abs(hash(id)) of ``__transaction_state``; the broker that leads it coordinates.
Each change of state is logged first and counts from when the log has it; until then every request for the id is
answered CONCURRENT_TRANSACTIONS. States (``TransactionState``) and transitions of one id:

==================== ==================== ================================================== =======================
from                 to                   event                                              Kafka
==================== ==================== ================================================== =======================
(unknown)            Empty                InitProducerId: a new producer id, epoch 0         TC.handleInitProducerId
Empty, Complete*     Empty                InitProducerId: epoch + 1, or a new producer id    TMD.prepareIncrement-
                                          when epochs are used up                            ProducerEpoch
Empty, Complete*     Ongoing              the first partition is added; the clock starts     TMD.prepareAddPartitions
Ongoing              Ongoing              more partitions, or a group's offsets              TMD.prepareAddPartitions
Ongoing              PrepareCommit        EndTxn(commit); TV2: epoch + 1                     TMD.prepareAbortOrCommit
Ongoing              PrepareAbort         EndTxn(abort); TV2: epoch + 1                      TMD.prepareAbortOrCommit
Ongoing              PrepareAbort         fenced by a successor, or timed out: epoch + 1     TMD.prepareFenceProducer-
                                          (in between PrepareEpochFence, in memory only)     Epoch
Empty, Complete*     PrepareAbort         TV2: EndTxn(abort) of nothing: epoch + 1           TC.endTransaction
PrepareCommit        CompleteCommit       all markers are written                            TMD.prepareComplete
PrepareAbort         CompleteAbort        all markers are written                            TMD.prepareComplete
Empty, Complete*     Dead                 not used for transactional.id.expiration.ms        TSM.removeExpired-
                                                                                             TransactionalIds
a log                the last one logged  Prepare*: markers are sent again; Ongoing: the     TSM.loadTransactions
                                          clock goes on from the start that is logged
==================== ==================== ================================================== =======================

What an EndTxn meets, by the epoch that it carries against the current one, e:

=============== ======================== ============================ ============================================
state           TV1                      TV2, epoch e                 TV2, epoch e - 1: a repetition
=============== ======================== ============================ ============================================
Ongoing         NONE, markers follow     NONE, markers follow         PRODUCER_FENCED
Prepare, same   CONCURRENT_TRANSACTIONS  PRODUCER_FENCED              CONCURRENT_TRANSACTIONS
Prepare, other  INVALID_TXN_STATE        PRODUCER_FENCED              INVALID_TXN_STATE
Complete, same  NONE                     abort: an empty abort;       NONE, and the epoch of now
                                         commit: INVALID_TXN_STATE
Complete, other INVALID_TXN_STATE        abort: an empty abort;       INVALID_TXN_STATE
                                         commit: INVALID_TXN_STATE
Empty           INVALID_TXN_STATE        abort: an empty abort;       PRODUCER_FENCED
                                         commit: INVALID_TXN_STATE
=============== ======================== ============================ ============================================

Any other epoch is PRODUCER_FENCED, another producer id INVALID_PRODUCER_ID_MAPPING. Timers: time-outs are looked for
every ``transaction.abort.timed.out.transaction.cleanup.interval.ms``, unused ids every
``transaction.remove.expired.transaction.cleanup.interval.ms``.
"""
