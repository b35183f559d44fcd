package groupsim.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Hosts members of groups, each on a thread of its own, and passes on what its input says to do with them. */
public final class Members {
    private static final Map<String, Member> RUNNING = new ConcurrentHashMap<>();

    private Members() {}

    public static void main(String[] arguments) {
        ClientLog.attach();
        Lines.tell(Lines.fact("ready"));
        Lines.obey(Members::command);
    }

    private static void command(JsonNode command) {
        String name = command.get("member").asText();
        if (command.get("do").asText().equals("start")) {
            Member member = new Member(command, () -> RUNNING.remove(name));
            RUNNING.put(name, member);
            member.start();
            return;
        }
        Member member = RUNNING.get(name);
        if (member != null) {
            member.command(command);
        }
    }
}
