package groupsim.oracle.service;

import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData.TopicPartitions;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatResponse;

/** Members of the consumer protocol, each on a connection of its own. */
final class ConsumerGroup extends Members {
    private final int[] epochs;
    private final boolean[] owe;
    private final ConsumerGroupHeartbeatResponseData.Assignment[] assigned;

    ConsumerGroup(String name, int port, int members) {
        super(name, port, members);
        epochs = new int[members];
        owe = new boolean[members];
        assigned = new ConsumerGroupHeartbeatResponseData.Assignment[members];
        Arrays.setAll(ids, member -> Uuid.randomUuid().toString());
    }

    /** A member that the group does not have asks to be let in. */
    void join(int member) {
        var data = data(member).setMemberEpoch(0).setRebalanceTimeoutMs(SESSION_MS)
            .setSubscribedTopicNames(List.of(TOPIC)).setServerAssignor("uniform").setTopicPartitions(List.of());
        send(member, ApiKeys.CONSUMER_GROUP_HEARTBEAT, request(data));
        endHeartbeat(member);
    }

    /** Whether all have what they are to have, after a heartbeat of each that says what it has now. */
    boolean settles() {
        int before = Arrays.stream(epochs).min().orElseThrow();
        all(member -> {
            var data = data(member).setMemberEpoch(epochs[member]);
            if (owe[member]) {
                data.setTopicPartitions(assigned[member].topicPartitions().stream()
                    .map(topic -> new TopicPartitions().setTopicId(topic.topicId()).setPartitions(topic.partitions())).toList());
                owe[member] = false;
            }
            send(member, ApiKeys.CONSUMER_GROUP_HEARTBEAT, request(data));
            endHeartbeat(member);
        });
        int now = Arrays.stream(epochs).min().orElseThrow();
        for (int member = 0; member < size(); member++) {
            if (owe[member] || epochs[member] != now || assigned[member] == null) {
                return false;
            }
        }
        return now == before;
    }

    @Override
    void heartbeat(int member) {
        send(member, ApiKeys.CONSUMER_GROUP_HEARTBEAT, request(data(member).setMemberEpoch(epochs[member])));
    }

    @Override
    void endHeartbeat(int member) {
        var told = ((ConsumerGroupHeartbeatResponse) answer(member)).data();
        check(Errors.forCode(told.errorCode()));
        epochs[member] = told.memberEpoch();
        if (told.assignment() != null) {
            assigned[member] = told.assignment();
            owe[member] = true;
        }
    }

    @Override
    int epoch(int member) {
        return epochs[member];
    }

    @Override
    void leave(int member) {
        send(member, ApiKeys.CONSUMER_GROUP_HEARTBEAT, request(data(member).setMemberEpoch(-1)));
        endHeartbeat(member);
    }

    private ConsumerGroupHeartbeatRequestData data(int member) {
        return new ConsumerGroupHeartbeatRequestData().setGroupId(name).setMemberId(ids[member]);
    }

    private static ConsumerGroupHeartbeatRequest request(ConsumerGroupHeartbeatRequestData data) {
        return new ConsumerGroupHeartbeatRequest.Builder(data).build(ApiKeys.CONSUMER_GROUP_HEARTBEAT.latestVersion());
    }
}
