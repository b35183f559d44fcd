package groupsim.oracle;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.function.Consumer;
import org.apache.kafka.common.TopicPartition;

/**
 * How our programs talk: a JSON object a line, commands in and facts out.
 *
 * <p>A line is written at once and in one piece, so that a process that is killed has told all that it had to tell.
 */
final class Lines {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    private Lines() {}

    /** Microseconds since 1970, on the clock that the broker's log has, too. */
    static long now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    static ObjectNode fact(String what) {
        return fact(what, now());
    }

    static ObjectNode fact(String what, long atUs) {
        return JSON.createObjectNode().put("what", what).put("at_us", atUs);
    }

    static void tell(ObjectNode fact) {
        try {
            byte[] line = (JSON.writeValueAsString(fact) + "\n").getBytes(StandardCharsets.UTF_8);
            synchronized (OUT) {
                OUT.write(line);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Put partitions under {@code partitions} as {"orders": [0, 1]}. */
    static ObjectNode withPartitions(ObjectNode fact, Iterable<TopicPartition> partitions) {
        ObjectNode topics = fact.putObject("partitions");
        for (TopicPartition partition : partitions) {
            topics.withArray("/" + partition.topic()).add(partition.partition());
        }
        return fact;
    }

    /** Obey until the input ends or says quit; whoever started us is gone then, and so are we. */
    static void obey(Consumer<JsonNode> command) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode one = JSON.readTree(line);
                if (one.path("do").asText().equals("quit")) {
                    break;
                }
                command.accept(one);
            }
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("no command: " + error.getOriginalMessage(), error);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } finally {
            Runtime.getRuntime().halt(0);
        }
    }
}
