package lockstock.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * What a peer can be told. Every lock command takes a kind (lock, fair, read, write, fenced, spin, multi) and a name;
 * names of a multi lock are parted by commas. A lease of -1 means: none given, so Redisson's watchdog renews.
 */
final class Commands implements Peer.Library {
    private interface Command {
        Object run(String[] arguments) throws Exception;
    }

    private final RedissonClient redisson;
    private final Map<String, Command> commands = new HashMap<>();

    Commands(RedissonClient redisson) {
        this.redisson = redisson;
        addLocks();
        addFences();
        addPermits();
        commands.put("critical", a -> critical(lock(a), redisson.getBucket(a[2], StringCodec.INSTANCE), integer(a[3])));
    }

    @Override
    public String version() {
        return Redisson.class.getPackage().getImplementationVersion();
    }

    @Override
    public String run(String[] words) throws Exception {
        Command command = commands.get(words[2]);
        if (command == null) {
            throw new IllegalArgumentException("no command " + words[2]);
        }
        return String.valueOf(command.run(Text.arguments(words)));
    }

    private void addLocks() {
        commands.put("lock", a -> {
            lock(a).lock(number(a[2]), MILLISECONDS);
            return "";
        });
        commands.put("tryLock", a -> lock(a).tryLock(number(a[2]), number(a[3]), MILLISECONDS));
        commands.put("unlock", a -> {
            lock(a).unlock();
            return "";
        });
        commands.put("isLocked", a -> lock(a).isLocked());
        commands.put("isMine", a -> lock(a).isHeldByCurrentThread());
        commands.put("holds", a -> lock(a).getHoldCount());
        commands.put("ttl", a -> lock(a).remainTimeToLive());
        commands.put("forceUnlock", a -> lock(a).forceUnlock());
    }

    private void addFences() {
        commands.put("tokenOf", a -> redisson.getFencedLock(a[0]).tryLockAndGetToken(number(a[1]), number(a[2]), MILLISECONDS));
        commands.put("token", a -> redisson.getFencedLock(a[0]).getToken());
    }

    private void addPermits() {
        commands.put("setPermits", a -> permits(a).trySetPermits(integer(a[1])));
        commands.put("available", a -> permits(a).availablePermits());
        commands.put("acquire", a -> acquire(permits(a), integer(a[1]), number(a[2]), number(a[3])));
        commands.put("enter", a -> enter(permits(a), integer(a[1]), integer(a[2])));
        commands.put("release", a -> permits(a).tryRelease(List.of(a[1].split(","))));
    }

    /** Ids parted by commas, "" when the wait was over first. */
    private static String acquire(RPermitExpirableSemaphore permits, int count, long waitMs, long leaseMs) throws Exception {
        List<String> ids = permits.tryAcquire(count, waitMs, leaseMs, MILLISECONDS);
        return ids == null ? "" : String.join(",", ids);
    }

    /** Raises an unprotected counter, once a turn; begin and end of each turn, "begin-end,…". */
    private static String critical(RLock lock, RBucket<String> counter, int turns) {
        StringBuilder spans = new StringBuilder();
        for (int i = 0; i < turns; i++) {
            lock.lock(10_000, MILLISECONDS);
            long begin = System.nanoTime();
            String value = counter.get();
            counter.set(String.valueOf(1 + (value == null ? 0 : Long.parseLong(value))));
            spans.append(i == 0 ? "" : ",").append(begin).append('-').append(System.nanoTime());
            lock.unlock();
        }
        return spans.toString();
    }

    /** Takes permits and gives them back, a number of times; spans as of critical. */
    private static String enter(RPermitExpirableSemaphore permits, int count, int turns) throws Exception {
        StringBuilder spans = new StringBuilder();
        for (int i = 0; i < turns; i++) {
            List<String> ids = permits.acquire(count, 10_000, MILLISECONDS);
            long begin = System.nanoTime();
            Thread.sleep(1);
            spans.append(i == 0 ? "" : ",").append(begin).append('-').append(System.nanoTime());
            permits.release(ids);
        }
        return spans.toString();
    }

    private RLock lock(String[] arguments) {
        return switch (arguments[0]) {
            case "lock" -> redisson.getLock(arguments[1]);
            case "fair" -> redisson.getFairLock(arguments[1]);
            case "read" -> readWrite(arguments[1]).readLock();
            case "write" -> readWrite(arguments[1]).writeLock();
            case "fenced" -> redisson.getFencedLock(arguments[1]);
            case "spin" -> redisson.getSpinLock(arguments[1]);
            case "multi" -> multi(arguments[1].split(","));
            default -> throw new IllegalArgumentException("no kind " + arguments[0]);
        };
    }

    private RLock multi(String[] names) {
        RLock[] locks = new RLock[names.length];
        for (int i = 0; i < names.length; i++) {
            locks[i] = redisson.getLock(names[i]);
        }
        return redisson.getMultiLock(locks);
    }

    private RReadWriteLock readWrite(String name) {
        return redisson.getReadWriteLock(name);
    }

    private RPermitExpirableSemaphore permits(String[] arguments) {
        return redisson.getPermitExpirableSemaphore(arguments[0]);
    }

    private static long number(String text) {
        return Long.parseLong(text);
    }

    private static int integer(String text) {
        return Integer.parseInt(text);
    }
}
