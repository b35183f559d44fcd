package groupsim.oracle.service;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntConsumer;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.OffsetCommitRequest;
import org.apache.kafka.common.requests.OffsetCommitResponse;
import org.apache.kafka.common.requests.OffsetFetchRequest;
import org.apache.kafka.common.requests.OffsetFetchResponse;

/** A group whose members have a connection each, and what members of either protocol ask. */
abstract class Members implements AutoCloseable {
    static final String TOPIC = "orders";
    static final int SESSION_MS = 600_000;
    private static final short BY_NAME = 9;
    final String name;
    final String[] ids;
    private final Wire[] wires;
    private long offset;

    Members(String name, int port, int members) {
        this.name = name;
        ids = new String[members];
        wires = new Wire[members];
        Arrays.fill(ids, "");
        Arrays.setAll(wires, member -> new Wire(port));
    }

    final int size() {
        return wires.length;
    }

    final void all(IntConsumer each) {
        for (int member = 0; member < wires.length; member++) {
            each.accept(member);
        }
    }

    final void send(int member, ApiKeys api, AbstractRequest request) {
        wires[member].send(api, request);
    }

    final AbstractResponse answer(int member) {
        return wires[member].answer();
    }

    static void check(Errors error) {
        if (error != Errors.NONE) {
            throw new IllegalStateException("the broker answers " + error);
        }
    }

    abstract void heartbeat(int member);

    abstract void endHeartbeat(int member);

    /** A member leaves, and is told so. */
    abstract void leave(int member);

    /** Generation, or the member's epoch. */
    abstract int epoch(int member);

    final void commit(int member) {
        var partition = new OffsetCommitRequestPartition().setPartitionIndex(member).setCommittedOffset(offset++);
        var topic = new OffsetCommitRequestTopic().setName(TOPIC).setPartitions(List.of(partition));
        var data = new OffsetCommitRequestData().setGroupId(name).setMemberId(ids[member])
            .setGenerationIdOrMemberEpoch(epoch(member)).setTopics(List.of(topic));
        send(member, ApiKeys.OFFSET_COMMIT, OffsetCommitRequest.Builder.forTopicNames(data).build(BY_NAME));
    }

    final void endCommit(int member) {
        var told = ((OffsetCommitResponse) answer(member)).data().topics().get(0).partitions().get(0);
        check(Errors.forCode(told.errorCode()));
    }

    final void fetch(int member) {
        var topic = new OffsetFetchRequestTopics().setName(TOPIC).setPartitionIndexes(List.of(member));
        var group = new OffsetFetchRequestGroup().setGroupId(name).setTopics(List.of(topic));
        var data = new OffsetFetchRequestData().setGroups(List.of(group)).setRequireStable(true);
        send(member, ApiKeys.OFFSET_FETCH, OffsetFetchRequest.Builder.forTopicNames(data, false).build(BY_NAME));
    }

    final void endFetch(int member) {
        check(Errors.forCode(((OffsetFetchResponse) answer(member)).data().groups().get(0).errorCode()));
    }

    @Override
    public void close() {
        for (Wire wire : wires) {
            wire.close();
        }
    }
}
