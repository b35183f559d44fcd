package groupsim.oracle.referee;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Answers calls of Kafka's own assignors: a line of JSON in, a line out, until the input ends.
 *
 * <p>A line is a list of calls in the form of groupsim's recordings (tests/golden/assignors/README.md); the answer is the
 * list of their results: {@code assignment}, or {@code error} and {@code error_message} where Kafka throws. Anything
 * that goes wrong outside of Kafka's assignor ends the program.
 */
public final class Referee {
    static final ObjectMapper JSON = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private Referee() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err); // what anybody else prints must not get between the answers
        var calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            answers.println(JSON.writeValueAsString(answersTo(JSON.readTree(line))));
            answers.flush();
        }
    }

    private static ArrayNode answersTo(JsonNode calls) {
        Map<String, ClassicLeader> leaders = new HashMap<>();
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode call : calls) {
            answers.add(call.get("side").asText().equals("client")
                ? leader(call, leaders).answer(call) : Coordinator.answer(call));
        }
        return answers;
    }

    /** A leader that stays one keeps its assignor, and with it what that has seen. */
    private static ClassicLeader leader(JsonNode call, Map<String, ClassicLeader> leaders) {
        String name = call.get("assignor").asText();
        if (!call.has("reuse")) {
            return new ClassicLeader(name);
        }
        return leaders.computeIfAbsent(call.get("reuse").asText(), key -> new ClassicLeader(name));
    }

    /** The assignment that an assignor makes, or its exception: those are answers too. */
    static ObjectNode outcome(Callable<ObjectNode> assignor) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            answer.set("assignment", assignor.call());
        } catch (Exception thrown) {
            answer.put("error", thrown.getClass().getName());
            answer.put("error_message", thrown.getMessage());
        }
        return answer;
    }
}
