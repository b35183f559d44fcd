package groupsim.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.protocol.Errors;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/**
 * Requests and answers of members of the consumer protocol, as facts: no logger of theirs tells heartbeats and commits.
 *
 * <p>NetworkClient logs every request and every answer, fetches too: a text is thrown away as soon as its beginning says so.
 */
final class RequestLog extends AbstractAppender {
    static final String LOGGER = "org.apache.kafka.clients.NetworkClient";
    private static final Map<String, String> TOLD = Map.of(
        "CONSUMER_GROUP_HEARTBEAT", "ConsumerGroupHeartbeat", "OFFSET_COMMIT", "OffsetCommit", "FIND_COORDINATOR", "FindCoordinator");
    private static final Pattern LINE = Pattern.compile("^\\[Consumer (?:instanceId=[^,]+, )?clientId=([^,]+), groupId=[^]]*] (Sending|Received) ([A-Z_]+) re");
    private static final Pattern MEMBER = Pattern.compile("memberId='([^']*)', memberEpoch=(-?\\d+)");
    private static final Pattern ERROR = Pattern.compile("errorCode=(-?[1-9]\\d*)");
    private static final Pattern PARTITIONS = Pattern.compile("partitions=\\[([^]]*)]");
    private static final Set<String> FOLLOWED = ConcurrentHashMap.newKeySet();

    RequestLog() {
        super("requests", null, null, true, Property.EMPTY_ARRAY);
    }

    /** This client is a member of the consumer protocol from now on, or not. */
    static void follow(String client, boolean followed) {
        if (followed) {
            FOLLOWED.add(client);
        } else {
            FOLLOWED.remove(client);
        }
    }

    @Override
    public void append(LogEvent event) {
        long now = Lines.now();
        String message = event.getMessage().getFormattedMessage();
        Matcher line = LINE.matcher(message);
        if (line.find() && TOLD.containsKey(line.group(3)) && FOLLOWED.contains(line.group(1))) {
            boolean sent = line.group(2).equals("Sending");
            ObjectNode fact = Lines.fact(sent ? "sent" : "answered", now).put("client", line.group(1)).put("api", TOLD.get(line.group(3)));
            if (!sent) {
                Matcher error = ERROR.matcher(message);
                fact.put("error", error.find() ? Errors.forCode(Short.parseShort(error.group(1))).name() : null);
            }
            if (line.group(3).equals("CONSUMER_GROUP_HEARTBEAT")) {
                heartbeat(fact, message, sent ? "topicPartitions=[" : "assignment=A", sent ? "owned" : "promised");
            }
            Lines.tell(fact);
        }
    }

    /** The member and its epoch, and of how many partitions a heartbeat speaks, if it does. */
    private static void heartbeat(ObjectNode fact, String message, String beginning, String what) {
        Matcher member = MEMBER.matcher(message);
        if (member.find()) {
            fact.put("member_id", member.group(1)).put("epoch", Integer.parseInt(member.group(2)));
        }
        int from = message.indexOf(beginning);
        if (from >= 0) {
            int partitions = 0;
            for (Matcher some = PARTITIONS.matcher(message).region(from, message.length()); some.find(); ) {
                partitions += some.group(1).isEmpty() ? 0 : some.group(1).split(",").length;
            }
            fact.put(what, partitions);
        }
    }
}
