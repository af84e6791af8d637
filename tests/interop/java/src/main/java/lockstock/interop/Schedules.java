package lockstock.interop;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.concurrent.ConcurrentHashMap;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * ShedLock as its users set it up: JdbcTemplateLockProvider with usingDbTime. A lock is known by actor and name; durations
 * are milliseconds.
 */
final class Schedules implements Peer.Library {
    private final JdbcTemplate jdbc;
    private final LockProvider provider;
    private final Map<String, SimpleLock> held = new ConcurrentHashMap<>();

    Schedules(String url, String user, String password) {
        jdbc = new JdbcTemplate(new DriverManagerDataSource(url, user, password));
        provider = new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(jdbc)
                .withLockedByValue("java-" + ProcessHandle.current().pid())
                .usingDbTime()
                .build());
    }

    /** The library says it nowhere but in the name of its file. */
    @Override
    public String version() {
        String path = JdbcTemplateLockProvider.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return path.replaceAll(".*-|\\.jar$", "");
    }

    @Override
    public String run(String[] words) throws Exception {
        String[] arguments = Text.arguments(words);
        String key = words[1] + " " + (arguments.length == 0 ? "" : arguments[0]);
        return String.valueOf(switch (words[2]) {
            case "zones" -> TimeZone.getDefault().getID() + " " + jdbc.queryForObject("SELECT @@session.time_zone", String.class);
            case "lock" -> keep(key, lock(arguments[0], millis(arguments[1]), millis(arguments[2])));
            case "extend" -> keep(key, held.get(key).extend(millis(arguments[1]), millis(arguments[2])));
            case "unlock" -> unlock(key);
            case "work" -> work(arguments[0], Integer.parseInt(arguments[1]));
            case "first" -> first(arguments[0], Integer.parseInt(arguments[1]));
            default -> throw new IllegalArgumentException("no command " + words[2]);
        });
    }

    private Optional<SimpleLock> lock(String name, Duration atMost, Duration atLeast) {
        return provider.lock(new LockConfiguration(Instant.now(), name, atMost, atLeast));
    }

    private boolean keep(String key, Optional<SimpleLock> lock) {
        lock.ifPresent(l -> held.put(key, l));
        return lock.isPresent();
    }

    private String unlock(String key) {
        held.remove(key).unlock();
        return "";
    }

    /** Takes the lock until it has had it a number of times; begin and end of each, "begin-end,…". */
    private String work(String name, int turns) throws InterruptedException {
        StringBuilder spans = new StringBuilder();
        for (int i = 0; i < turns; ) {
            Optional<SimpleLock> lock = lock(name, Duration.ofSeconds(10), Duration.ZERO);
            long begin = System.nanoTime();
            Thread.sleep(1);
            if (lock.isPresent()) {
                spans.append(i++ == 0 ? "" : ",").append(begin).append('-').append(System.nanoTime());
                lock.get().unlock();
            }
        }
        return spans.toString();
    }

    /** The first lock ever of each of these names, prefix:0, prefix:1, …: "1" or "0" for each. */
    private String first(String prefix, int count) {
        StringBuilder won = new StringBuilder();
        for (int i = 0; i < count; i++) {
            won.append(lock(prefix + ":" + i, Duration.ofMinutes(1), Duration.ZERO).isPresent() ? '1' : '0');
        }
        return won.toString();
    }

    private static Duration millis(String text) {
        return Duration.ofMillis(Long.parseLong(text));
    }
}
