package groupsim.oracle.service;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;

/**
 * What RequestMetrics are updated with, request by request: the metrics themselves are rounded to milliseconds.
 *
 * <p>Both come from {@code Request.updateRequestMetrics}, which also writes the broker's request log.
 */
final class RequestTimes extends AbstractAppender {
    private static final String LOGGER = "kafka.request.logger";
    private static final Pattern TIME = Pattern.compile(
        "\"(totalTimeMs|requestQueueTimeMs|localTimeMs|remoteTimeMs|responseQueueTimeMs|sendTimeMs)\":([0-9.E-]+)");
    private final Map<String, List<Double>> times = new TreeMap<>();

    RequestTimes() {
        super("request times", null, null, true, Property.EMPTY_ARRAY);
        start();
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        Configurator.setLevel(LOGGER, Level.WARN);
        context.getConfiguration().getLoggerConfig(LOGGER).addAppender(this, Level.DEBUG, null);
        context.getConfiguration().getLoggerConfig(LOGGER).setAdditive(false);
        context.updateLoggers();
    }

    @Override
    public synchronized void append(LogEvent event) {
        Matcher time = TIME.matcher(event.getMessage().getFormattedMessage());
        while (time.find()) {
            times.computeIfAbsent(time.group(1), name -> new ArrayList<>()).add(Double.valueOf(time.group(2)));
        }
    }

    /** Takes in what is written of each request that is answered meanwhile, instead of what it had. */
    void during(Runnable requests) {
        synchronized (this) {
            times.clear();
        }
        Configurator.setLevel(LOGGER, Level.DEBUG);
        requests.run();
        Configurator.setLevel(LOGGER, Level.WARN);
    }

    /** Milliseconds by metric, a list each. */
    synchronized ObjectNode into(ObjectNode fact) {
        times.forEach((name, values) -> {
            ArrayNode array = fact.putArray(name);
            values.forEach(array::add);
        });
        return fact;
    }
}
