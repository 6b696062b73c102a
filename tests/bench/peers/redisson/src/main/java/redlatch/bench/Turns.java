// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import org.redisson.api.RLock;
import org.redisson.client.RedisException;

/**
 * Turns of one lock across failovers, as redlatch_turns takes them: for each measurement, when the turns stopped and
 * when they went on. An error ends a turn, and the next one begins.
 */
final class Turns implements Program {
    private static final long BETWEEN_TURNS_MS = 2;
    private static final long LONG_GAP_NS = 300_000_000;

    private final RLock lock;

    Turns(Arguments arguments) {
        arguments.knowing("port", "sentinels", "service", "nodes", "warm");
        var nodes = arguments.text("nodes", "");
        var client = nodes.isEmpty()
                ? Locks.connectBySentinels(arguments.text("sentinels", "").split(","), arguments.text("service", ""))
                : Locks.connectByCluster(nodes.split(","));
        lock = client.getLock("bench:turns:redisson");
    }

    @Override
    public void warmUp(double span) throws InterruptedException {
        var end = System.nanoTime() + (long) (span * 1e9);
        while (System.nanoTime() < end) {
            turn();
        }
    }

    @Override
    public Output measure() throws InterruptedException {
        var before = System.nanoTime();
        while (true) {
            var granted = turn();
            if (granted - before > LONG_GAP_NS) {
                return new Output().put("before_ns", before).put("granted_ns", granted);
            }
            before = Math.max(before, granted);
            Thread.sleep(BETWEEN_TURNS_MS);
        }
    }

    /** When the lock was granted; 0 if it was not. */
    private long turn() {
        var granted = 0L;
        try {
            lock.lock();
            granted = System.nanoTime();
            lock.unlock();
        } catch (RedisException | IllegalMonitorStateException error) {
            return granted; // the master is gone, or the hold is lost with it
        }
        return granted;
    }
}
