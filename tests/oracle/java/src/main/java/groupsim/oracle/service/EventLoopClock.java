package groupsim.oracle.service;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.stream.LongStream;

/** How long the threads that work on the events of shards have been at work, in this JVM. */
final class EventLoopClock {
    private static final String THREADS = "group-coordinator-event-processor-";
    private static final int QUIET_MS = 2;
    private static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
    private final long[] threads;

    EventLoopClock() {
        threads = LongStream.of(BEAN.getAllThreadIds())
            .filter(id -> BEAN.getThreadInfo(id) != null && BEAN.getThreadInfo(id).getThreadName().startsWith(THREADS))
            .toArray();
        if (threads.length == 0) {
            throw new IllegalStateException("no thread is called " + THREADS);
        }
    }

    /** Their CPU time, nanoseconds: unlike a duration it does not count when others have the processor. */
    long now() {
        return LongStream.of(threads).map(BEAN::getThreadCpuTime).sum();
    }

    /** Nanoseconds that they were at work while the requests were sent and until nothing of them is left to do. */
    long during(Runnable requests) {
        rest();
        long before = now();
        requests.run();
        return rest() - before;
    }

    /** Waits until they have nothing to do; their CPU time then. */
    long rest() {
        long last = -1;
        for (int quiet = 0; quiet < 3; ) {
            try {
                Thread.sleep(QUIET_MS);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            long now = now();
            quiet = now == last ? quiet + 1 : 0;
            last = now;
        }
        return last;
    }
}
