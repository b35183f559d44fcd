package groupsim.oracle.referee;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Topics as the coordinator knows them, and the names by which the recordings call those that are deleted. */
final class TopicNames implements CoordinatorMetadataImage {
    private record Topic(String name, Uuid id, int partitionCount) implements TopicMetadata {
        @Override
        public List<String> partitionRacks(int partition) {
            return List.of(); // no built-in assignor asks
        }
    }

    private final Map<String, Topic> byName = new HashMap<>();
    private final Map<Uuid, Topic> byId = new HashMap<>();
    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<Uuid, String> names = new HashMap<>();

    TopicNames(JsonNode topics) {
        for (JsonNode each : topics) {
            String name = each.get("name").asText();
            Uuid id = Uuid.fromString(each.get("id").asText());
            ids.put(name, id);
            names.put(id, name);
            if (!each.path("deleted").asBoolean()) {
                var topic = new Topic(name, id, each.get("partitions").asInt());
                byName.put(name, topic);
                byId.put(id, topic);
            }
        }
    }

    String name(Uuid id) {
        return names.get(id);
    }

    ConsumerGroupTargetAssignmentMemberValue record(JsonNode runs) {
        List<ConsumerGroupTargetAssignmentMemberValue.TopicPartition> topics = new ArrayList<>();
        for (JsonNode run : runs) {
            List<Integer> numbers = new ArrayList<>();
            run.get(1).forEach(number -> numbers.add(number.asInt()));
            topics.add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(ids.get(run.get(0).asText())).setPartitions(numbers));
        }
        return new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(topics);
    }

    @Override
    public Set<Uuid> topicIds() {
        return byId.keySet();
    }

    @Override
    public Set<String> topicNames() {
        return byName.keySet();
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(Uuid id) {
        return Optional.ofNullable(byId.get(id));
    }

    @Override
    public CoordinatorMetadataDelta emptyDelta() {
        return CoordinatorMetadataDelta.EMPTY;
    }

    @Override
    public long version() {
        return 0;
    }

    @Override
    public boolean isEmpty() {
        return byId.isEmpty();
    }
}
