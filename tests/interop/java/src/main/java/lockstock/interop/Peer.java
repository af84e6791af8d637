package lockstock.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A Java service that locks with Redisson or with ShedLock, told what to do by the tests.
 *
 * <p>Arguments: the URL of Redis, lockWatchdogTimeout in milliseconds; or a JDBC URL, user, password.
 *
 * <p>Each line of stdin is {@code id actor command argument…}, words parted by one space, arguments percent-encoded. An
 * actor is a thread of its own (Redisson's owner is the thread) and runs its commands in order; actors run side by side.
 * Each answer is one line {@code id ok|error value begin end}: the value percent-encoded, and the moments in nanoseconds
 * of CLOCK_MONOTONIC, which all processes of one machine share. The end of stdin ends the peer without unlocking.
 */
public final class Peer {
    /** What one library can be told; words: id actor command argument… */
    interface Library {
        String version();

        String run(String[] words) throws Exception;
    }

    private final Map<String, ExecutorService> actors = new HashMap<>();
    private final Library library;
    private final PrintStream out;

    private Peer(Library library, PrintStream out) {
        this.library = library;
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        System.setOut(System.err); // whatever a library prints must not stand among the answers
        new Peer(library(arguments), out).serve();
        Runtime.getRuntime().halt(0); // a peer that ends lets go of nothing
    }

    private static Library library(String[] arguments) {
        return arguments[0].startsWith("jdbc:")
                ? new Schedules(arguments[0], arguments[1], arguments[2])
                : new Commands(connect(arguments[0], Long.parseLong(arguments[1])));
    }

    private static RedissonClient connect(String url, long watchdogMs) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdogMs);
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2).setConnectionPoolSize(32);
        return Redisson.create(config);
    }

    private void serve() throws IOException {
        out.println("ready " + library.version());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            actors.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor()).execute(() -> run(words));
        }
    }

    private void run(String[] words) {
        long begin = System.nanoTime();
        try {
            String value = library.run(words);
            answer(words[0], "ok", value, begin);
        } catch (Exception | LinkageError fault) {
            answer(words[0], "error", fault.getClass().getSimpleName() + ": " + fault.getMessage(), begin);
        }
    }

    private void answer(String id, String outcome, String value, long begin) {
        long end = System.nanoTime();
        out.println(id + " " + outcome + " " + Text.encode(value) + " " + begin + " " + end);
    }
}
