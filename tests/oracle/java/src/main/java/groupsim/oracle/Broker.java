package groupsim.oracle;

import java.io.IOException;
import java.io.PrintStream;

/** A Kafka broker that ends with its standard input, so that it never outlives whoever started it. */
public final class Broker {
    private Broker() {}

    /** Arguments: the properties file, the cluster id. */
    public static void main(String[] arguments) {
        PrintStream nowhere = new PrintStream(PrintStream.nullOutputStream());
        kafka.tools.StorageTool.execute(new String[] {"format", "--ignore-formatted", "-t", arguments[1], "-c", arguments[0]}, nowhere);
        Thread leash = new Thread(Broker::endWithInput, "leash");
        leash.setDaemon(true);
        leash.start();
        kafka.Kafka.main(new String[] {arguments[0]});
    }

    private static void endWithInput() {
        try {
            while (System.in.read() >= 0) {
                // Nothing is said to a broker; it only matters that somebody is there who could.
            }
        } catch (IOException error) {
            // An input that cannot be read has ended.
        }
        System.exit(0);
    }
}
