package lockstock.interop;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * The bench's row of Redisson: threads that lock and unlock, each a lock of its own, through one client.
 *
 * <p>Arguments: port of Redis, threads, seconds of warm-up, seconds. Prints one JSON line: cycles per second, percentiles of
 * a cycle in microseconds, CPU seconds of the whole process.
 */
public final class Cycles {
    private static final int LEASE_S = 60;

    private final long opensAt;
    private final long closesAt;

    private Cycles(long opensAt, long closesAt) {
        this.opensAt = opensAt;
        this.closesAt = closesAt;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int threads = Integer.parseInt(arguments[1]);
        Config config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]).setConnectionMinimumIdleSize(threads)
                .setConnectionPoolSize(threads);
        RedissonClient client = Redisson.create(config);
        long opensAt = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[2]));
        long closesAt = opensAt + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[3]));
        Cycles cycles = new Cycles(opensAt, closesAt);
        List<long[]> taken = cycles.runAll(client, threads);
        print(taken, Double.parseDouble(arguments[3]));
        Runtime.getRuntime().halt(0);
    }

    private List<long[]> runAll(RedissonClient client, int count) throws InterruptedException {
        List<long[]> taken = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            RLock lock = client.getLock("bench/" + i);
            Thread thread = new Thread(() -> {
                long[] mine = run(lock);
                synchronized (taken) {
                    taken.add(mine);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
        return taken;
    }

    /** What each cycle of the window took, in nanoseconds. */
    private long[] run(RLock lock) {
        long[] taken = new long[1024];
        int count = 0;
        for (long begun = System.nanoTime(); begun < closesAt;) {
            lock.lock(LEASE_S, TimeUnit.SECONDS);
            lock.unlock();
            long ended = System.nanoTime();
            if (begun >= opensAt) {
                if (count == taken.length) taken = Arrays.copyOf(taken, 2 * count);
                taken[count++] = ended - begun;
            }
            begun = ended;
        }
        return Arrays.copyOf(taken, count);
    }

    private static void print(List<long[]> taken, double seconds) {
        long[] all = taken.stream().flatMapToLong(Arrays::stream).sorted().toArray();
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.printf(Locale.ROOT, "{\"rate\":%.1f,\"p50\":%d,\"p99\":%d,\"cpu\":%.2f}%n", all.length / seconds,
                all[all.length / 2] / 1000, all[(int) (all.length * 0.99)] / 1000, system.getProcessCpuTime() / 1e9);
    }
}
