package groupsim.oracle.referee;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What a member's assignor adds to its subscription, in bytes. */
final class UserData {
    private static final int CAPACITY = 1 << 20;

    private UserData() {
    }

    /**
     * Bytes of user data.
     *
     * <p>{@code hex}: these. {@code received}: what Kafka's assignor sends after it was assigned that list.
     * {@code owned}: that list in this order, which only Kafka's own classes of long ago would write otherwise.
     * {@code generation} alone: what the cooperative assignor sends.
     */
    static ByteBuffer of(String assignor, JsonNode described) {
        if (described == null) {
            return null;
        }
        if (described.has("hex")) {
            return ByteBuffer.wrap(HexFormat.of().parseHex(described.get("hex").asText()));
        }
        if (assignor.equals(CooperativeStickyAssignor.COOPERATIVE_STICKY_ASSIGNOR_NAME)) {
            return sentBy(new CooperativeStickyAssignor(), new Assignment(List.of()), described.get("generation").asInt());
        }
        if (described.has("received")) {
            var received = new Assignment(Runs.partitions(described.get("received")));
            return sentBy(new StickyAssignor(), received, described.get("generation").asInt());
        }
        return written(described.get("owned"), described.get("generation"));
    }

    private static ByteBuffer sentBy(ConsumerPartitionAssignor assignor, Assignment assignment, int generation) {
        if (generation >= 0) {
            // SyncGroup groups the list by topic; that is the order in which the member remembers it
            var synced = ConsumerProtocol.deserializeAssignment(ConsumerProtocol.serializeAssignment(assignment));
            assignor.onAssignment(synced, new ConsumerGroupMetadata("g", generation, "m", Optional.empty()));
        }
        return assignor.subscriptionUserData(Set.of());
    }

    /** The sticky assignor's schema V1, or V0 where there is no generation. */
    private static ByteBuffer written(JsonNode runs, JsonNode generation) {
        ByteBuffer bytes = ByteBuffer.allocate(CAPACITY).putInt(runs.size());
        for (JsonNode run : runs) {
            byte[] topic = run.get(0).asText().getBytes(StandardCharsets.UTF_8);
            bytes.putShort((short) topic.length).put(topic).putInt(run.get(1).size());
            run.get(1).forEach(number -> bytes.putInt(number.asInt()));
        }
        if (generation != null) {
            bytes.putInt(generation.asInt());
        }
        return bytes.flip();
    }
}
