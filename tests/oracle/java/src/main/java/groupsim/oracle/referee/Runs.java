package groupsim.oracle.referee;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.common.TopicPartition;

import java.util.ArrayList;
import java.util.List;

/** Lists of partitions as the recordings write them: {@code [["t0", [0, 1]], ["t1", [0]], ["t0", [7]]]}, ordered. */
final class Runs {
    private Runs() {
    }

    static List<TopicPartition> partitions(JsonNode runs) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode run : runs) {
            for (JsonNode number : run.get(1)) {
                partitions.add(new TopicPartition(run.get(0).asText(), number.asInt()));
            }
        }
        return partitions;
    }

    static ArrayNode of(List<TopicPartition> partitions) {
        ArrayNode runs = Referee.JSON.createArrayNode();
        String topic = null;
        ArrayNode numbers = null;
        for (TopicPartition each : partitions) {
            if (!each.topic().equals(topic)) {
                topic = each.topic();
                numbers = runs.addArray().add(topic).addArray();
            }
            numbers.add(each.partition());
        }
        return runs;
    }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }
}
