package groupsim.oracle;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

/**
 * What the client library logs about requests and generations, as facts; everything else it logs is dropped.
 *
 * <p>No file and no pattern is involved: a message becomes a line of ours on the thread that logs it, and only if it begins
 * with one of a few texts. What the texts mean is for the reader to say.
 */
final class ClientLog extends AbstractAppender {
    private static final String INTERNALS = "org.apache.kafka.clients.consumer.internals.";
    private static final String FETCHES = INTERNALS + "AbstractFetch";
    private static final Pattern WHOSE = Pattern.compile("^\\[Consumer (?:instanceId=[^,]+, )?clientId=([^,]+), groupId=[^]]*] ");
    private static final Pattern FETCHED = Pattern.compile("^Added \\S+ fetch request for partition (\\S+)-(\\d+) at ");
    private static final int LONGEST = 600;
    private static final String[] BEGINNINGS = {
        "Sending FindCoordinator", "Group coordinator lookup failed", "FindCoordinator request failed",
        "Sending JoinGroup", "JoinGroup failed", "Received successful JoinGroup",
        "Sending leader SyncGroup", "Sending follower SyncGroup", "SyncGroup failed",
        "Sending Heartbeat", "Attempt to heartbeat", "Ignoring heartbeat response",
        "LeaveGroup request with", "Resetting generation", "Request joining group",
        "Sending OffsetCommit", "OffsetCommit failed", "Offset commit failed",
        "Sending asynchronous auto-commit", "Asynchronous auto-commit", "Completed asynchronous auto-commit",
        "Sending synchronous auto-commit", "Synchronous auto-commit", "Executing onJoinPrepare",
    };
    private static final String MEMBERSHIP = INTERNALS + "ConsumerMembershipManager";

    private static final Map<String, Set<TopicPartition>> AWAITED = new HashMap<>();

    private ClientLog() {
        super("facts", null, null, true, Property.EMPTY_ARRAY);
    }

    static void attach() {
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        Configuration configuration = context.getConfiguration();
        ClientLog facts = new ClientLog();
        facts.start();
        configuration.addAppender(facts);
        // OffsetCommit requests are logged at TRACE, all others at DEBUG.
        listen(configuration, facts, INTERNALS + "ConsumerCoordinator", Level.TRACE);
        listen(configuration, facts, FETCHES, Level.OFF);
        listen(configuration, facts, MEMBERSHIP, Level.INFO);
        RequestLog requests = new RequestLog();
        requests.start();
        configuration.addAppender(requests);
        listen(configuration, requests, RequestLog.LOGGER, Level.OFF);
        context.updateLoggers();
    }

    /** A member of the consumer protocol begins: its requests are heard where those of all clients are logged. */
    static synchronized void hearRequests(String client) {
        RequestLog.follow(client, true);
        setLevel(RequestLog.LOGGER, Level.DEBUG);
    }

    private static void listen(Configuration configuration, AbstractAppender facts, String logger, Level level) {
        LoggerConfig config = new LoggerConfig(logger, level, false);
        config.addAppender(facts, null, null);
        configuration.addLogger(logger, config);
    }

    /** The first fetch request for each of these partitions from now on becomes a fact. */
    static synchronized void await(String client, Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            AWAITED.computeIfAbsent(client, one -> new HashSet<>()).addAll(partitions);
            hearFetches();
        }
    }

    /** Nobody waits for fetches of these any more; whether somebody did. */
    static synchronized boolean forget(String client, Collection<TopicPartition> partitions) {
        Set<TopicPartition> awaited = AWAITED.get(client);
        if (awaited == null || !awaited.removeAll(partitions)) {
            return false;
        }
        if (awaited.isEmpty()) {
            AWAITED.remove(client);
            hearFetches();
        }
        return true;
    }

    /** A line for each partition of each fetch is most of what a client would do: only while somebody waits for one. */
    private static void hearFetches() {
        setLevel(FETCHES, AWAITED.isEmpty() ? Level.OFF : Level.DEBUG);
    }

    private static void setLevel(String logger, Level level) {
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        LoggerConfig config = context.getConfiguration().getLoggerConfig(logger);
        if (config.getLevel() != level) {
            config.setLevel(level);
            context.updateLoggers();
        }
    }

    @Override
    public void append(LogEvent event) {
        long now = Lines.now();
        String message = event.getMessage().getFormattedMessage();
        Matcher whose = WHOSE.matcher(message);
        if (!whose.find()) {
            return;
        }
        String text = message.substring(whose.end());
        if (text.startsWith("Added ")) {
            fetched(now, whose.group(1), text);
        } else if (text.startsWith("Member ") && (text.contains(" sending LeaveGroup request ") || text.contains(" transitioned from "))) {
            logged(now, whose.group(1), text);
        } else {
            for (String beginning : BEGINNINGS) {
                if (text.startsWith(beginning)) {
                    logged(now, whose.group(1), text);
                    return;
                }
            }
        }
    }

    private static void logged(long now, String client, String text) {
        Lines.tell(Lines.fact("logged", now).put("client", client).put("text", shortened(text)));
    }

    /** Without the middle of a long text: what failed stands at its beginning, why at its end. */
    private static String shortened(String text) {
        int end = text.length();
        return end <= LONGEST ? text : text.substring(0, LONGEST / 2) + " ... " + text.substring(end - LONGEST / 2);
    }

    private static synchronized void fetched(long now, String client, String text) {
        Matcher fetched = FETCHED.matcher(text);
        if (AWAITED.containsKey(client) && fetched.find()) {
            var partition = Set.of(new TopicPartition(fetched.group(1), Integer.parseInt(fetched.group(2))));
            if (forget(client, partition)) {
                Lines.tell(Lines.withPartitions(Lines.fact("fetched", now).put("client", client), partition));
            }
        }
    }
}
