import java.util.*;
import java.util.concurrent.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.config.Config;

/**
 * Redisson's RLock and RFencedLock behind picklock's adapter protocol (docs/ADAPTERS.md).
 *
 *     java -cp 'adapters/redisson/target/classes:adapters/redisson/target/lib/*' Adapter [fenced] [lease]
 *
 * Without `lease` the watchdog renews; its timeout is the scenario's ttl.
 */
public class Adapter {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<Integer, ExecutorService> THREADS = new ConcurrentHashMap<>();
    static RedissonClient redisson;
    static boolean fenced, leased; static long waitMs;

    static synchronized void say(JsonNode request, ObjectNode answer) {
        System.out.println(answer.set("id", request.get("id")));
        System.out.flush();
    }

    static ObjectNode answer(String type) { return JSON.createObjectNode().put("type", type); }

    static ObjectNode init(JsonNode request) {
        JsonNode options = request.get("options");
        long ttl = options.get("ttl_ms").asLong();
        waitMs = options.get("retry_count").asLong() * options.get("retry_delay_ms").asLong();
        Config config = new Config();
        config.setLockWatchdogTimeout(ttl).setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress(request.get("nodes").get(0).asText())
            .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4)
            .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(2);
        redisson = Redisson.create(config);
        ObjectNode said = answer("ok").put("library", "redisson 4.7.0 " + (fenced ? "RFencedLock" : "RLock"));
        said.put("owner", "thread").put("nodes", 1);
        var features = said.putArray("features").add("wait").add("deadline").add("reentrant").add("several");
        if (fenced) features.add("fence");
        if (leased) return said;
        features.add("renew");
        return said.put("renew_every_ms", ttl / 3);
    }

    static ObjectNode acquire(JsonNode request) throws InterruptedException {
        String name = request.get("resource").asText();
        long wait = request.path("deadline_ms").asLong(waitMs);
        long lease = leased ? request.get("ttl_ms").asLong() : -1;
        if (fenced) {
            RFencedLock lock = redisson.getFencedLock(name);
            Long fence = lock.tryLockAndGetToken(wait, lease, TimeUnit.MILLISECONDS);
            return fence == null ? answer("fail") : answer("ok").put("fence", fence);
        }
        return answer(redisson.getLock(name).tryLock(wait, lease, TimeUnit.MILLISECONDS) ? "ok" : "fail");
    }

    static ObjectNode release(JsonNode request) {
        String name = request.get("resource").asText();
        RLock lock = fenced ? redisson.getFencedLock(name) : redisson.getLock(name);
        try {
            lock.unlock();
            return answer("ok");
        } catch (IllegalMonitorStateException notHeld) {
            return answer("fail").put("error", notHeld.getMessage());
        }
    }

    static void serve(JsonNode request) {
        try {
            switch (request.get("op").asText()) {
                case "init" -> say(request, init(request));
                case "acquire" -> say(request, acquire(request));
                case "release" -> say(request, release(request));
                default -> say(request, answer("fail").put("error", "not in this library"));
            }
        } catch (Exception error) {
            say(request, answer("info").put("error", String.valueOf(error.getMessage())));
        }
    }

    public static void main(String[] arguments) throws Exception {
        fenced = List.of(arguments).contains("fenced");
        leased = List.of(arguments).contains("lease");
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            JsonNode request = JSON.readTree(line);
            if (request.get("op").asText().equals("shutdown")) {
                Runtime.getRuntime().halt(0);
            }
            int thread = request.path("thread").asInt(1);
            THREADS.computeIfAbsent(thread, t -> Executors.newSingleThreadExecutor()).submit(() -> serve(request));
        }
        Runtime.getRuntime().halt(0);
    }
}
