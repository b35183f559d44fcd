package groupsim.oracle.referee;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A cluster's metadata as a client has it: brokers enough for every replica to be in its rack. */
final class Brokers {
    private record Place(int replica, String rack) {
    }

    private final Map<Place, Node> nodes = new HashMap<>();

    private Brokers() {
    }

    static Cluster cluster(JsonNode topics) {
        var brokers = new Brokers();
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode topic : topics) {
            for (int number = 0; number < topic.get("partitions").asInt(); number++) {
                partitions.add(brokers.partition(topic, number));
            }
        }
        return new Cluster("cluster", brokers.nodes.values(), partitions, Set.of(), Set.of());
    }

    private PartitionInfo partition(JsonNode topic, int number) {
        JsonNode racks = topic.path("racks").path(number);
        Node[] replicas = new Node[racks.size()];
        for (int at = 0; at < replicas.length; at++) {
            replicas[at] = node(new Place(at, racks.get(at).isNull() ? null : racks.get(at).asText()));
        }
        Node leader = replicas.length == 0 ? null : replicas[0];
        return new PartitionInfo(topic.get("name").asText(), number, leader, replicas, replicas);
    }

    private Node node(Place place) {
        return nodes.computeIfAbsent(place, key -> new Node(nodes.size(), "localhost", 9092, key.rack()));
    }
}
