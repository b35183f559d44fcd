package groupsim.oracle.referee;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.ModernGroup;
import org.apache.kafka.coordinator.group.modern.SubscriptionCount;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The group coordinator of a group of the consumer protocol: targets it has, and the records it would write next. */
final class Coordinator {
    private final Map<String, ConsumerGroupMember> members = new LinkedHashMap<>();
    private final Map<String, JsonNode> records = new LinkedHashMap<>();
    private final Map<String, Assignment> targets = new HashMap<>();
    private final Map<Uuid, Map<Integer, String>> holders = new HashMap<>();
    private final Map<String, SubscriptionCount> subscribers = new HashMap<>();
    private final TopicNames topics;

    private Coordinator(JsonNode call) {
        topics = new TopicNames(call.get("topics"));
        call.get("members").forEach(this::add);
    }

    static ObjectNode answer(JsonNode call) {
        var group = new Coordinator(call);
        ConsumerGroupPartitionAssignor assignor = switch (call.get("assignor").asText()) {
            case RangeAssignor.NAME -> new RangeAssignor();
            case UniformAssignor.NAME -> new UniformAssignor();
            default -> throw new IllegalArgumentException("no assignor " + call.get("assignor"));
        };
        return Referee.outcome(() -> group.targetsBy(assignor));
    }

    private void add(JsonNode member) {
        String id = member.get("id").asText();
        List<String> names = Runs.texts(member.get("topics"));
        members.put(id, new ConsumerGroupMember.Builder(id)
            .setInstanceId(member.path("instance").textValue())
            .setRackId(member.path("rack").textValue())
            .setSubscribedTopicNames(names)
            .build());
        Set.copyOf(names).forEach(name -> subscribers.compute(name, SubscriptionCount::incNameCount));
        records.put(id, member.has("target") ? member.get("target") : Referee.JSON.createArrayNode());
        if (member.has("target")) {
            Assignment target = Assignment.fromRecord(topics.record(member.get("target")));
            targets.put(id, target);
            target.partitions().forEach((topic, numbers) -> numbers.forEach(
                number -> holders.computeIfAbsent(topic, key -> new HashMap<>()).put(number, id)));
        }
    }

    private ObjectNode targetsBy(ConsumerGroupPartitionAssignor assignor) {
        var result = new ConsumerTargetAssignmentBuilder("group", 1, assignor)
            .withTime(Time.SYSTEM)
            .withMembers(members)
            .withSubscriptionType(ModernGroup.subscriptionType(subscribers, members.size()))
            .withTargetAssignment(targets)
            .withInvertedTargetAssignment(holders)
            .withMetadataImage(topics)
            .withResolvedRegularExpressions(Map.of())
            .build();
        ObjectNode after = Referee.JSON.createObjectNode();
        after.setAll(records); // who gets no record keeps the one it has
        for (CoordinatorRecord record : result.records()) {
            if (record.key() instanceof ConsumerGroupTargetAssignmentMemberKey key) {
                var value = (ConsumerGroupTargetAssignmentMemberValue) record.value().message();
                after.set(key.memberId(), Runs.of(partitions(value)));
            }
        }
        return after;
    }

    private List<TopicPartition> partitions(ConsumerGroupTargetAssignmentMemberValue record) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (var topic : record.topicPartitions()) {
            String name = topics.name(topic.topicId());
            topic.partitions().forEach(number -> partitions.add(new TopicPartition(name, number)));
        }
        return partitions;
    }
}
