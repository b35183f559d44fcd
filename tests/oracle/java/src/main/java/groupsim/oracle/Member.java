package groupsim.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One incarnation of a member: a KafkaConsumer and the application thread around it.
 *
 * <p>The application is the one that a scenario describes: poll, spend so long on the records, perhaps commit, poll again.
 * What it is told to do it does between two polls. To close or to hang it comes out of poll() at once (wakeup(), as shutdown
 * hooks do); to subscribe to something else it comes by in its own time.
 */
final class Member implements Runnable, ConsumerRebalanceListener {
    private static final Set<String> AT_ONCE = Set.of("close", "hang");

    private final String name;
    private final String client;
    private final int incarnation;
    private final JsonNode application;
    private final Map<String, Object> config = new LinkedHashMap<>();
    private final Runnable gone;
    private final Queue<JsonNode> commands = new ConcurrentLinkedQueue<>();
    private volatile double slowness = 1.0;

    private volatile KafkaConsumer<byte[], byte[]> consumer;
    private boolean subscribed;
    private boolean closing;

    Member(JsonNode start, Runnable gone) {
        name = start.get("member").asText();
        incarnation = start.get("incarnation").asInt();
        application = start.get("application");
        start.get("config").fields().forEachRemaining(one -> config.put(one.getKey(), one.getValue().asText()));
        client = (String) config.get("client.id");
        if ("consumer".equals(config.get("group.protocol"))) {
            ClientLog.hearRequests(client);
        } else {
            RequestLog.follow(client, false);
        }
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);
        this.gone = gone;
        commands.add(start.get("subscribe"));
    }

    void start() {
        new Thread(this, name).start();
    }

    /** Slowness holds at once, also for the batch in hand; all else waits for the application to come by. */
    void command(JsonNode command) {
        if (command.get("do").asText().equals("slow")) {
            slowness = command.get("factor").asDouble();
        } else {
            commands.add(command);
            if (AT_ONCE.contains(command.get("do").asText()) && consumer != null) {
                consumer.wakeup();
            }
        }
    }

    @Override
    public void run() {
        String how = "closed";
        try {
            consumer = new KafkaConsumer<>(config);
            work();
        } catch (RuntimeException error) {
            how = "failed";
            Lines.tell(fact("error").put("error", error.getClass().getSimpleName()).put("text", error.getMessage()));
        }
        try {
            if (consumer != null) {
                consumer.close();
            }
        } catch (RuntimeException error) {
            Lines.tell(fact("error").put("error", error.getClass().getSimpleName()).put("text", error.getMessage()));
        }
        gone.run();
        Lines.tell(fact("end").put("how", how));
    }

    private void work() {
        Duration timeout = Duration.ofNanos(application.get("poll_timeout_us").asLong() * 1000);
        while (true) {
            for (JsonNode command = commands.poll(); command != null; command = commands.poll()) {
                obey(command);
            }
            if (closing) {
                return;
            }
            if (!subscribed) {
                sleep(timeout.toNanos() / 1000);
                continue;
            }
            try {
                process(consumer.poll(timeout));
            } catch (WakeupException told) {
                continue;
            } catch (RetriableException error) {
                Lines.tell(fact("error").put("error", error.getClass().getSimpleName()).put("text", error.getMessage()));
            }
        }
    }

    private void obey(JsonNode command) {
        switch (command.get("do").asText()) {
            case "close" -> closing = true;
            case "hang" -> {
                String entry = command.get("entry").asText();
                Lines.tell(fact("stuck").put("entry", entry));
                sleep(command.get("for_us").asLong());
                Lines.tell(fact("unstuck").put("entry", entry));
            }
            case "subscribe" -> subscribe(command);
            case "unsubscribe" -> {
                subscribed = false;
                consumer.unsubscribe();
            }
            default -> throw new IllegalArgumentException("no command: " + command);
        }
    }

    private void subscribe(JsonNode command) {
        subscribed = true;
        if (command.has("re2")) {
            consumer.subscribe(new SubscriptionPattern(command.get("re2").asText()), this);
        } else if (command.has("pattern")) {
            consumer.subscribe(Pattern.compile(command.get("pattern").asText()), this);
        } else {
            List<String> topics = StreamSupport.stream(command.get("topics").spliterator(), false).map(JsonNode::asText).toList();
            consumer.subscribe(topics, this);
        }
    }

    // --- records -----------------------------------------------------------------------------------------------------

    private void process(ConsumerRecords<byte[], byte[]> records) {
        ObjectNode polled = fact("polled");
        if (!records.isEmpty()) {
            ObjectNode topics = polled.putObject("read");
            for (TopicPartition partition : records.partitions()) {
                List<ConsumerRecord<byte[], byte[]>> some = records.records(partition);
                ArrayNode range = topics.withObject("/" + partition.topic()).putArray(String.valueOf(partition.partition()));
                range.add(some.get(0).offset()).add(some.get(some.size() - 1).offset() + 1).add(some.size());
            }
        }
        Lines.tell(polled);
        if (!records.isEmpty()) {
            long work = application.get("per_poll_us").asLong() + records.count() * application.get("per_record_us").asLong();
            sleep(Math.round(work * slowness));
            if (application.get("commit").asText().equals("after_batch")) {
                long sent = Lines.now();
                consumer.commitAsync((offsets, error) -> committed(sent, "async", error));
            }
        }
    }

    private void committed(long sent, String kind, Exception error) {
        ObjectNode fact = fact("commit", sent).put("kind", kind);
        Lines.tell(error == null ? fact.putNull("error") : fact.put("error", error.getClass().getSimpleName()));
    }

    private static void sleep(long us) {
        try {
            TimeUnit.MICROSECONDS.sleep(us);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    // --- rebalances --------------------------------------------------------------------------------------------------

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        ClientLog.await(client, partitions);
        called("assigned", partitions, () -> sleep(application.get("on_assigned_us").asLong()));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        ClientLog.forget(client, partitions);
        called("revoked", partitions, () -> {
            sleep(application.get("on_revoked_us").asLong());
            if (application.get("commit_on_revoked").asBoolean() && !partitions.isEmpty()) {
                commitOnRevoked();
            }
        });
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        ClientLog.forget(client, partitions);
        called("lost", partitions, () -> sleep(application.get("on_lost_us").asLong()));
    }

    private void called(String what, Collection<TopicPartition> partitions, Runnable body) {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        ObjectNode fact = fact(what).put("generation", group.generationId()).put("member_id", group.memberId());
        // The beginning is told at once: a process that is killed in its callback has told that it was called.
        Lines.tell(Lines.withPartitions(fact, partitions));
        long start = System.nanoTime();
        body.run();
        Lines.tell(fact("returned").put("took_us", (System.nanoTime() - start) / 1000));
    }

    private void commitOnRevoked() {
        long sent = Lines.now();
        try {
            consumer.commitSync();
            committed(sent, "revoke", null);
        } catch (RuntimeException error) {
            committed(sent, "revoke", error);
        }
    }

    // --- telling -----------------------------------------------------------------------------------------------------

    private ObjectNode fact(String what) {
        return fact(what, Lines.now());
    }

    private ObjectNode fact(String what, long atUs) {
        return Lines.fact(what, atUs).put("member", name).put("incarnation", incarnation);
    }
}
