package groupsim.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Topics and what is written to them: creates and grows topics, and produces to each partition at a steady rate.
 *
 * <p>The records of partitions that have the same rate are spread evenly over the time between two of them, as those of a
 * busy topic are. Were they all due at one instant, a fetch would wait for that instant, and so would what comes after it.
 */
public final class Supply {
    private static final byte[] VALUE = new byte[100];
    /** Nanoseconds between two records at a thousandth of a record a second. */
    private static final long PERIOD = 1_000_000_000_000L;

    /** Thousandths of records a second of each partition, and when the next record of each is due, System.nanoTime(). */
    private record Pace(long[] mrps, long[] due) {}

    private final Map<String, Pace> paces = new LinkedHashMap<>();
    private final Admin admin;
    private final KafkaProducer<byte[], byte[]> producer;

    private Supply(String servers) {
        admin = Admin.create(Map.of("bootstrap.servers", servers));
        producer = new KafkaProducer<>(Map.of(
            "bootstrap.servers", servers, "linger.ms", 0, "acks", "1", "enable.idempotence", false, "metadata.max.age.ms", 200,
            "retry.backoff.ms", 20, "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class));
    }

    public static void main(String[] arguments) {
        Supply supply = new Supply(arguments[0]);
        Thread writing = new Thread(supply::write, "producer");
        writing.setDaemon(true);
        writing.start();
        Lines.tell(Lines.fact("ready"));
        Lines.obey(supply::command);
    }

    private void command(JsonNode command) {
        String topic = command.get("topic").asText();
        try {
            switch (command.get("do").asText()) {
                case "create" -> create(topic, command.get("partitions").asInt());
                case "grow" -> grow(topic, command.get("partitions").asInt());
                case "configure" -> configure(topic, command.get("config"));
                case "rate" -> rate(topic, command.get("mrps"));
                case "balance" -> admin.electLeaders(ElectionType.PREFERRED, null).partitions().get();
                case "roles" -> roles(command.get("groups"));
                default -> throw new IllegalArgumentException("no command: " + command);
            }
        } catch (InterruptedException | ExecutionException error) {
            Lines.tell(Lines.fact("refused").put("topic", topic).put("error", String.valueOf(error.getMessage())));
            return;
        }
        Lines.tell(Lines.fact("done").put("do", command.get("do").asText()).put("topic", topic));
    }

    private void create(String topic, int partitions) throws InterruptedException, ExecutionException {
        CreateTopicsResult created = admin.createTopics(List.of(new NewTopic(topic, Optional.of(partitions), Optional.empty())));
        Lines.tell(Lines.fact("created").put("topic", topic).put("id", created.topicId(topic).get().toString()));
        awaitPartitions(topic, partitions);
    }

    private void grow(String topic, int partitions) throws InterruptedException, ExecutionException {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions))).all().get();
        awaitPartitions(topic, partitions);
    }

    /** The broker's configuration of one group. */
    private void configure(String group, JsonNode config) throws InterruptedException, ExecutionException {
        List<AlterConfigOp> changes = new ArrayList<>();
        config.fields().forEachRemaining(one ->
            changes.add(new AlterConfigOp(new ConfigEntry(one.getKey(), one.getValue().asText()), AlterConfigOp.OpType.SET)));
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), changes)).all().get();
    }

    /** Who is the active controller, who leads which partition, who coordinates these groups, and how many replicas lag. */
    private void roles(JsonNode groups) throws InterruptedException, ExecutionException {
        ObjectNode fact = Lines.fact("roles").put("controller", admin.describeMetadataQuorum().quorumInfo().get().leaderId());
        ObjectNode leaders = fact.putObject("leaders");
        int lagging = 0;
        var names = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        for (TopicDescription topic : admin.describeTopics(names).allTopicNames().get().values()) {
            ArrayNode some = leaders.putArray(topic.name());
            for (TopicPartitionInfo one : topic.partitions()) {
                some.add(one.leader() == null ? -1 : one.leader().id());
                lagging += one.replicas().size() - one.isr().size();
            }
        }
        ObjectNode coordinators = fact.putObject("coordinators");
        List<String> asked = StreamSupport.stream(groups.spliterator(), false).map(JsonNode::asText).toList();
        for (var group : admin.describeConsumerGroups(asked).describedGroups().entrySet()) {
            coordinators.put(group.getKey(), group.getValue().get().coordinator().id());
        }
        Lines.tell(fact.put("lagging", lagging));
    }

    /** A producer that does not know a partition yet blocks in send(), and all other topics would wait with it. */
    private void awaitPartitions(String topic, int partitions) throws InterruptedException {
        while (producer.partitionsFor(topic).size() < partitions) {
            Thread.sleep(10);
        }
    }

    private void rate(String topic, JsonNode mrps) {
        long[] rates = new long[mrps.size()];
        long[] due = new long[mrps.size()];
        long now = System.nanoTime();
        for (int i = 0; i < rates.length; i++) {
            rates[i] = mrps.get(i).asLong();
            due[i] = rates[i] == 0 ? now : now + PERIOD / rates[i] * i / rates.length;
        }
        synchronized (paces) {
            paces.put(topic, new Pace(rates, due));
        }
    }

    private void write() {
        while (true) {
            synchronized (paces) {
                long now = System.nanoTime();
                paces.forEach((topic, pace) -> writeDue(topic, pace, now));
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    private void writeDue(String topic, Pace pace, long now) {
        for (int partition = 0; partition < pace.mrps.length; partition++) {
            while (pace.mrps[partition] > 0 && pace.due[partition] <= now) {
                producer.send(new ProducerRecord<>(topic, partition, null, VALUE));
                pace.due[partition] += PERIOD / pace.mrps[partition];
            }
        }
    }
}
