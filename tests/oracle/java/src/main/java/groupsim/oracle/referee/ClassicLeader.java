package groupsim.oracle.referee;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The leader of a classic group: what it has decoded of the others goes to its assignor. */
final class ClassicLeader {
    private final ConsumerPartitionAssignor assignor;

    ClassicLeader(String name) {
        assignor = assignor(name);
    }

    static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case RangeAssignor.RANGE_ASSIGNOR_NAME -> new RangeAssignor();
            case RoundRobinAssignor.ROUNDROBIN_ASSIGNOR_NAME -> new RoundRobinAssignor();
            case StickyAssignor.STICKY_ASSIGNOR_NAME -> new StickyAssignor();
            case CooperativeStickyAssignor.COOPERATIVE_STICKY_ASSIGNOR_NAME -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException("no assignor " + name);
        };
    }

    ObjectNode answer(JsonNode call) {
        var cluster = Brokers.cluster(call.get("topics"));
        // as in ConsumerCoordinator.onLeaderElected: the assignors' answers depend on the order of this table
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : call.get("members")) {
            subscriptions.put(member.get("id").asText(), subscription(member));
        }
        return Referee.outcome(() -> {
            var assignments = assignor.assign(cluster, new GroupSubscription(subscriptions)).groupAssignment();
            ObjectNode lists = Referee.JSON.createObjectNode();
            assignments.forEach((member, assignment) -> lists.set(member, Runs.of(assignment.partitions())));
            return lists;
        });
    }

    /** A member's subscription after its way through the wire, which sorts it. */
    private Subscription subscription(JsonNode member) {
        var sent = new Subscription(
            Runs.texts(member.get("topics")),
            UserData.of(assignor.name(), member.get("user_data")),
            Runs.partitions(member.get("owned")),
            member.get("generation").asInt(-1),
            Optional.ofNullable(member.get("rack")).map(JsonNode::asText));
        Subscription received = ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(sent));
        received.setGroupInstanceId(Optional.ofNullable(member.get("instance")).map(JsonNode::asText));
        return received;
    }
}
