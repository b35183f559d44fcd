"""The high-level consumer before 0.9: a group without a coordinator, held together by nodes in ZooKeeper.

Nodes::

    /consumers/G/ids/C        ephemeral   who is there, and which topics it reads
    /consumers/G/owners/T/p   ephemeral   the thread that owns the partition: the only lock there is
    /consumers/G/offsets/T/p  persistent  committed offset
    /brokers/ids/B            brokers
    /brokers/topics/T         partitions of a topic

ZooKeeper (`ensemble`): each server has a copy of the tree and answers reads from it; writes go through the leader, and
followers apply them later. A watch lies at the server that a client is connected to, fires once, and its event comes
before anything that the client reads afterwards on that connection. A session that says nothing for its timeout is
expired by the leader, and its ephemeral nodes are deleted in one transaction.

Consumer (`connector`, `member`): five threads, each a generator of what it waits for::

    caller      connect, register under ids, watch ids and topics, rebalance;  failure is thrown to the application
    events      watch fired: read again (which watches again), wake the watcher;  new session: forget what was owned,
                register anew, rebalance, then treat every path as changed
    watcher     woken: rebalance;  failure is only logged, the consumer owns nothing until the next change
    scheduler   every auto.commit.interval.ms: commit
    shutdown    close(): after the rebalance under way, commit, close the session

States of a member, as it reports them (`states.Phase`)::

    TRYING --every owner node made--> SETTLED --watch, new session--> TRYING
       |  ^
       |  +--rebalance.backoff.ms is over-- BACKOFF <--some node exists, or a node has vanished-- TRYING
       +--rebalance.max.retries tries have failed--> GIVEN_UP --watch, new session--> TRYING

One try: read brokers and my registration; stop fetching everything, commit, delete my owner nodes; read topics, ids and
every registration; work out my part alone; read its offsets; make an owner node for each partition. If one exists
already, delete those made in this try and fail.

The group (`group`) is nobody's: what a bystander who sees every write would say of it. It is Stable when every
registered member has settled on the present ids and topics and the owner nodes are what follows from these.

Source: ``ZookeeperConsumerConnector``, ``PartitionAssignor``, ``ZkUtils``, ``TopicCount`` (Kafka 0.8.2.2);
``ZkClient`` 0.3; ZooKeeper 3.4's Programmer's Guide (sessions, watches, consistency guarantees) and Internals. The
consumer is modelled with one stream a process and topics by name.
"""
