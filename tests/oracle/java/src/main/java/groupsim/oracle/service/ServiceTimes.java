package groupsim.oracle.service;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import groupsim.oracle.Broker;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;

/**
 * What requests take of the event loop of a broker in this JVM, by kind and group size, one JSON object a line.
 *
 * <p>Members are connections that send what a client would. All groups are of one shard, which one thread works on: its
 * CPU time is what they take. Requests come one after the other, each when the last one is answered, or one of each
 * member at once.
 */
public final class ServiceTimes {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int[] SIZES = {1, 10, 100, 1_000};
    private static final int WARM_MEMBERS = 100;
    private static final int WARM_ROUNDS = 4;
    private static final int WARM_REQUESTS = 12_000;
    private static final int WARM_REBALANCES = 20;
    private static final int REPETITIONS = 7;
    private static final int REQUESTS = 300;
    private static final int REBALANCES = 3;
    private static final int LOGGED = 100;
    /** {@code group.consumer.assignment.interval.ms}. */
    private static final int INTERVAL_MS = 1_000;
    private static final int BROKER_RESTS_MS = 3_000;
    private final int port;
    private EventLoopClock clock;
    private RequestTimes log;
    private boolean tells;

    private ServiceTimes(int port) {
        this.port = port;
    }

    /** Arguments: the properties file of a broker, the cluster id, its port. */
    public static void main(String[] arguments) throws Exception {
        Thread broker = new Thread(() -> Broker.main(new String[] {arguments[0], arguments[1]}), "broker");
        broker.setDaemon(true);
        broker.start();
        new ServiceTimes(Integer.parseInt(arguments[2])).run();
        System.exit(0);
    }

    private void run() throws Exception {
        prepare();
        // Brokers log what groups do at this level, and the event loop is who does it.
        Configurator.setLevel("org.apache.kafka.coordinator", Level.INFO);
        Configurator.setLevel("org.apache.kafka.coordinator.group.GroupMetadataManager", Level.INFO);
        clock = new EventLoopClock();
        log = new RequestTimes();
        for (int round = 0; round < WARM_ROUNDS; round++) {
            classic(WARM_MEMBERS, WARM_REQUESTS / WARM_ROUNDS, WARM_REBALANCES);
            consumer(WARM_MEMBERS, WARM_REQUESTS / WARM_ROUNDS);
        }
        tells = true;
        for (int repetition = 0; repetition < REPETITIONS; repetition++) {
            for (int size : SIZES) {
                classic(size, REQUESTS, REBALANCES);
                consumer(size, REQUESTS);
            }
        }
    }

    private void prepare() throws Exception {
        awaitPort();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", "127.0.0.1:" + port))) {
            admin.createTopics(List.of(new NewTopic(Members.TOPIC, SIZES[SIZES.length - 1] + 1, (short) 1))).all().get();
        }
        try (Wire wire = new Wire(port)) {
            var data = new FindCoordinatorRequestData().setCoordinatorKeys(List.of("any"));
            var request = new FindCoordinatorRequest.Builder(data).build(ApiKeys.FIND_COORDINATOR.latestVersion());
            FindCoordinatorResponse told;
            do {
                Thread.sleep(200);
                told = wire.ask(ApiKeys.FIND_COORDINATOR, request);
            } while (told.data().coordinators().get(0).errorCode() != 0);
        }
        Thread.sleep(BROKER_RESTS_MS);
    }

    private void awaitPort() throws InterruptedException {
        for (int tries = 0; ; tries++) {
            try (Wire wire = new Wire(port)) {
                return;
            } catch (UncheckedIOException error) {
                if (tries == 300) {
                    throw error;
                }
                Thread.sleep(200);
            }
        }
    }

    private void classic(int size, int requests, int rebalances) {
        try (var group = new ClassicGroup("classic-" + size + "-" + System.nanoTime(), port, size)) {
            for (int round = 0; round < rebalances; round++) {
                group.rebalance((part, count, send) -> {
                    if (count > 0) {
                        tell("classic", part, size, count, false, clock.during(send));
                    }
                });
            }
            steady("classic", "Heartbeat", group, requests);
            tell("classic", "LeaveGroup", size, size, false, clock.during(() -> group.all(group::leave)));
        }
    }

    private void consumer(int size, int requests) {
        try (var group = new ConsumerGroup("consumer-" + size + "-" + System.nanoTime(), port, size)) {
            join(size, group);
            settle(size, group);
            steady("consumer", "ConsumerGroupHeartbeat", group, requests);
            long took = clock.during(() -> group.all(group::leave));
            tell("consumer", "ConsumerGroupHeartbeat that leaves", size, size, false, took);
        }
    }

    /** The first one has a target computed, and so has the last one, as the assignment interval is over by then. */
    private void join(int size, ConsumerGroup group) {
        if (size > 1) {
            group.join(0);
        }
        if (size > 2) {
            long took = clock.during(() -> {
                for (int member = 1; member < size - 1; member++) {
                    group.join(member);
                }
            });
            tell("consumer", "ConsumerGroupHeartbeat that joins", size, size - 2, false, took);
        }
        pause(INTERVAL_MS + 100);
        tell("consumer", "ConsumerGroupHeartbeat that joins and has a target computed", size, 1, false,
            clock.during(() -> group.join(size - 1)));
    }

    private void settle(int size, ConsumerGroup group) {
        for (int round = 0; ; round++) {
            boolean[] settled = new boolean[1];
            long took = clock.during(() -> settled[0] = group.settles());
            if (settled[0]) {
                return;
            }
            if (round == 0 && size > 1) {
                tell("consumer", "ConsumerGroupHeartbeat that reconciles", size, size, false, took);
            }
            if (round == 20) {
                throw new IllegalStateException("a consumer group does not settle");
            }
            pause(INTERVAL_MS / 5);
        }
    }

    private void steady(String protocol, String heartbeat, Members group, int requests) {
        kind(protocol, heartbeat, group, requests, group::heartbeat, group::endHeartbeat);
        kind(protocol, "OffsetCommit", group, requests, group::commit, group::endCommit);
        kind(protocol, "OffsetFetch", group, requests, group::fetch, group::endFetch);
    }

    private void kind(String protocol, String kind, Members group, int requests, IntConsumer send, IntConsumer end) {
        int size = group.size();
        IntConsumer both = member -> {
            send.accept(member);
            end.accept(member);
        };
        tell(protocol, kind, size, requests, false, clock.during(() -> turns(size, requests, both)));
        if (size > 1) {
            int rounds = Math.max(1, requests / size);
            long took = clock.during(() -> {
                for (int round = 0; round < rounds; round++) {
                    group.all(send);
                    group.all(end);
                }
            });
            tell(protocol, kind, size, rounds * size, true, took);
        }
        if (tells) {
            log.during(() -> turns(size, LOGGED, both));
            pause(20);
            say(log.into(fact("request times", protocol, kind, size)));
        }
    }

    private static void turns(int size, int requests, IntConsumer each) {
        for (int request = 0; request < requests; request++) {
            each.accept(request % size);
        }
    }

    private static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private void tell(String protocol, String kind, int members, int requests, boolean atOnce, long tookNs) {
        if (tells) {
            say(fact("event loop", protocol, kind, members).put("requests", requests).put("at_once", atOnce)
                .put("took_us", tookNs / 1e3));
        }
    }

    private static ObjectNode fact(String what, String protocol, String kind, int members) {
        return JSON.createObjectNode().put("what", what).put("protocol", protocol).put("kind", kind).put("members", members);
    }

    private static void say(ObjectNode fact) {
        System.out.println(fact);
    }
}
