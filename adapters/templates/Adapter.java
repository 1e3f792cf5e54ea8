// Adapter.java: a template: put a lock library in Java behind picklock (docs/ADAPTERS.md).
//
//     javac -d /tmp adapters/templates/Adapter.java
//     picklock run --adapter 'java -Xshare:auto -XX:TieredStopAtLevel=1 -cp /tmp Adapter'
//
// Replace Library by calls of yours, and say in DECLARES what it does.
import java.io.*;
import java.net.Socket;
import java.security.SecureRandom;
import java.util.*;
import java.util.regex.*;

public class Adapter {
    // "features": all that it does, see docs/ADAPTERS.md; "nodes": or "N", for a majority of several
    static final String DECLARES = "\"library\":\"template 1\",\"owner\":\"object\",\"nodes\":1,"
        + "\"features\":[\"validity\",\"extend\",\"clock\"]";
    static final String COMPARE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call(";
    static final String DELETE = COMPARE + "'del',KEYS[1]) end return 0";
    static final String EXPIRE = COMPARE + "'pexpire',KEYS[1],ARGV[2]) end return 0";

    /** SET NX PX on one node, by hand: your library goes here. */
    static class Library {
        final String[] address;
        Socket node;
        BufferedReader lines;

        Library(String... address) throws IOException {
            this.address = address;
            connect();
        }

        void connect() throws IOException {
            node = new Socket(address[0], Integer.parseInt(address[1]));
            node.setTcpNoDelay(true);
            lines = new BufferedReader(new InputStreamReader(node.getInputStream()));
        }

        /** Throws where nobody knows what became of it; the next one connects again. */
        String ask(String... words) throws IOException {
            if (node == null) {
                connect();
            }
            Socket used = node;
            node = null;
            String line = exchange(used, words);
            node = used;
            if (line.startsWith("-")) {
                throw new IOException(line);
            }
            return line;
        }

        String exchange(Socket node, String... words) throws IOException {
            StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
            for (String word : words) {
                text.append("$").append(word.length()).append("\r\n").append(word).append("\r\n");
            }
            node.getOutputStream().write(text.toString().getBytes());
            String line = lines.readLine();
            if (line == null) {
                throw new EOFException("cut off");
            }
            return line;
        }
    }

    static Library library;
    static final Map<String, String> held = new HashMap<>();

    /** A member of a request; the lines are flat, and no text in them is escaped. */
    static String member(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\[?\"?([^\",\\]}]+)").matcher(line);
        return found.find() ? found.group(1) : "";
    }

    static double mono() {
        return System.nanoTime() / 1e6;
    }

    static boolean spent(String ttl, double begun) {
        return Double.parseDouble(ttl) * 0.99 - 2 - (mono() - begun) <= 0;
    }

    /** When it was computed, on our own monotonic clock: so that it counts from there. */
    static String promise(double ttl, double begun) {
        double validity = ttl * 0.99 - 2 - (mono() - begun);
        return "\"type\":\"ok\",\"validity_ms\":" + validity + ",\"at_ms\":" + mono();
    }

    static String serve(String op, String resource, String ttl, String line) throws IOException {
        double begun = mono();
        switch (op) {
            case "init":
                String[] node = member(line, "nodes").replace("redis://", "").split(":");
                library = new Library(node);
                return "\"type\":\"ok\"," + DECLARES;
            case "clock":
                return "\"type\":\"ok\",\"mono_ms\":" + mono() + ",\"wall_ms\":" + System.currentTimeMillis();
            case "acquire":
                byte[] bytes = new byte[20];
                new SecureRandom().nextBytes(bytes);
                String value = HexFormat.of().formatHex(bytes);
                if (!library.ask("SET", resource, value, "NX", "PX", ttl).equals("+OK")) {
                    return "\"type\":\"fail\",\"error\":\"held by another\""; // surely not held
                }
                if (spent(ttl, begun)) {
                    library.ask("EVAL", DELETE, "1", resource, value);
                    return "\"type\":\"fail\",\"error\":\"spent\""; // too late: nobody could use it
                }
                held.put(resource, value);
                return promise(Double.parseDouble(ttl), begun) + ",\"value\":\"" + value + "\"";
            case "extend":
                boolean longer = library.ask("EVAL", EXPIRE, "1", resource, held.get(resource), ttl).equals(":1");
                return longer && !spent(ttl, begun) ? promise(Double.parseDouble(ttl), begun) : "\"type\":\"fail\"";
            default:
                boolean gone = library.ask("EVAL", DELETE, "1", resource, held.get(resource)).equals(":1");
                return "\"type\":\"" + (gone ? "ok" : "fail") + "\"";
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            if (member(line, "op").equals("shutdown")) {
                return;
            }
            try {
                answer = serve(member(line, "op"), member(line, "resource"), member(line, "ttl_ms"), line);
            } catch (IOException problem) {
                answer = "\"type\":\"info\",\"error\":\"no answer\""; // nobody knows whether it happened
            }
            System.out.println("{\"id\":" + member(line, "id") + "," + answer + "}");
            System.out.flush();
        }
    }
}
