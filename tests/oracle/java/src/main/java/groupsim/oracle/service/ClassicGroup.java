package groupsim.oracle.service;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocolCollection;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.HeartbeatRequest;
import org.apache.kafka.common.requests.HeartbeatResponse;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.JoinGroupResponse;
import org.apache.kafka.common.requests.LeaveGroupRequest;
import org.apache.kafka.common.requests.LeaveGroupResponse;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.requests.SyncGroupResponse;

/** Members of the classic protocol, each on a connection of its own, as one partition each is assigned to them. */
final class ClassicGroup extends Members {
    private static final String RANGE = "range";
    private int generation;
    private int leader;

    ClassicGroup(String name, int port, int members) {
        super(name, port, members);
        for (int member = 0; member < members; member++) {
            send(member, ApiKeys.JOIN_GROUP, join(member));
            ids[member] = ((JoinGroupResponse) answer(member)).data().memberId();
        }
        // The first one is alone in a generation until the second one joins, and has to join again then.
        send(0, ApiKeys.JOIN_GROUP, join(0));
        generation = ((JoinGroupResponse) answer(0)).data().generationId();
        if (members > 1) {
            for (int member = 1; member < members; member++) {
                send(member, ApiKeys.JOIN_GROUP, join(member));
            }
            send(0, ApiKeys.JOIN_GROUP, join(0));
            receiveJoins();
        }
        all(member -> send(member, ApiKeys.SYNC_GROUP, sync(member)));
        endSyncs();
    }

    /** Who does something with the requests of a part of a rebalance. */
    interface Watch {
        void part(String name, int count, Runnable requests);
    }

    /** A rebalance in which nobody comes or goes, in parts: the leader's join, the others but one, that, syncs, the leader's. */
    void rebalance(Watch watch) {
        int first = leader;
        int last = first == size() - 1 ? Math.max(size() - 2, 0) : size() - 1;
        if (first != last) {
            // Whoever comes before the leader has changed nothing, and is answered at once.
            watch.part("JoinGroup of the leader", 1, () -> send(first, ApiKeys.JOIN_GROUP, join(first)));
            watch.part("JoinGroup", size() - 2, () -> all(member -> {
                if (member != first && member != last) {
                    send(member, ApiKeys.JOIN_GROUP, join(member));
                }
            }));
        }
        watch.part("JoinGroup of the last", 1, () -> {
            send(last, ApiKeys.JOIN_GROUP, join(last));
            receiveJoins();
        });
        watch.part("SyncGroup", size() - 1, () -> all(member -> {
            if (member != leader) {
                send(member, ApiKeys.SYNC_GROUP, sync(member));
            }
        }));
        watch.part("SyncGroup of the leader", 1, () -> {
            send(leader, ApiKeys.SYNC_GROUP, sync(leader));
            endSyncs();
        });
    }

    private void endSyncs() {
        all(member -> check(Errors.forCode(((SyncGroupResponse) answer(member)).data().errorCode())));
    }

    private void receiveJoins() {
        int before = generation;
        for (int member = 0; member < size(); member++) {
            JoinGroupResponseData told = ((JoinGroupResponse) answer(member)).data();
            while (told.generationId() == before) {
                send(member, ApiKeys.JOIN_GROUP, join(member));
                told = ((JoinGroupResponse) answer(member)).data();
            }
            check(Errors.forCode(told.errorCode()));
            generation = told.generationId();
            if (told.memberId().equals(told.leader())) {
                leader = member;
            }
        }
    }

    void heartbeat(int member) {
        var data = new HeartbeatRequestData().setGroupId(name).setGenerationId(generation).setMemberId(ids[member]);
        send(member, ApiKeys.HEARTBEAT, new HeartbeatRequest.Builder(data).build(ApiKeys.HEARTBEAT.latestVersion()));
    }

    void endHeartbeat(int member) {
        check(((HeartbeatResponse) answer(member)).error());
    }

    @Override
    int epoch(int member) {
        return generation;
    }

    @Override
    void leave(int member) {
        var identity = new MemberIdentity().setMemberId(ids[member]).setReason("the consumer is being closed");
        send(member, ApiKeys.LEAVE_GROUP, new LeaveGroupRequest.Builder(name, List.of(identity)).build(ApiKeys.LEAVE_GROUP.latestVersion()));
        check(((LeaveGroupResponse) answer(member)).error());
    }

    private JoinGroupRequest join(int member) {
        ByteBuffer metadata = ConsumerProtocol.serializeSubscription(new Subscription(List.of(TOPIC)));
        var protocols = new JoinGroupRequestProtocolCollection();
        protocols.add(new JoinGroupRequestProtocol().setName(RANGE).setMetadata(metadata.array()));
        var data = new JoinGroupRequestData().setGroupId(name).setMemberId(ids[member]).setProtocolType("consumer")
            .setProtocols(protocols).setSessionTimeoutMs(SESSION_MS).setRebalanceTimeoutMs(SESSION_MS);
        return new JoinGroupRequest.Builder(data).build(ApiKeys.JOIN_GROUP.latestVersion());
    }

    private SyncGroupRequest sync(int member) {
        var data = new SyncGroupRequestData().setGroupId(name).setMemberId(ids[member]).setGenerationId(generation)
            .setProtocolType("consumer").setProtocolName(RANGE);
        if (member == leader) {
            List<SyncGroupRequestAssignment> assignments = new ArrayList<>();
            for (int one = 0; one < size(); one++) {
                var owned = new Assignment(List.of(new TopicPartition(TOPIC, one)));
                assignments.add(new SyncGroupRequestAssignment().setMemberId(ids[one])
                    .setAssignment(ConsumerProtocol.serializeAssignment(owned).array()));
            }
            data.setAssignments(assignments);
        }
        return new SyncGroupRequest.Builder(data).build(ApiKeys.SYNC_GROUP.latestVersion());
    }
}
