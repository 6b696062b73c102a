// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.api.RList;
import org.redisson.api.RLock;
import org.redisson.client.codec.StringCodec;

/**
 * Hand-overs of a fair lock with so many waiters, as redlatch_fair counts them: threads that take the lock, free it and
 * ask again, so that the queue at the server stays as long as it is.
 */
final class Fair implements Program {
    private static final String NAME = "bench:fair";

    private final int waiters;
    private final double seconds;
    private final RLock lock;
    private final RList<String> queue;

    Fair(Arguments arguments) {
        arguments.knowing("port", "waiters", "seconds", "warm");
        waiters = arguments.integer("waiters", 10);
        seconds = arguments.seconds("seconds", 1);
        var client = Locks.connect(arguments.integer("port", 6379));
        lock = client.getFairLock(NAME);
        queue = client.getList("redisson_lock_queue:{" + NAME + "}", StringCodec.INSTANCE);
    }

    @Override
    public void warmUp(double span) throws InterruptedException {
        during(span);
    }

    @Override
    public Output measure() throws InterruptedException {
        return during(seconds);
    }

    private Output during(double span) throws InterruptedException {
        var turns = new AtomicLong();
        var over = new AtomicBoolean();
        lock.lock();
        var threads = Threads.start(waiters, number -> {
            while (!over.get()) {
                lock.lock();
                turns.incrementAndGet();
                lock.unlock();
            }
        });
        while (queue.size() < waiters) {
            Thread.sleep(10);
        }
        lock.unlock();
        Thread.sleep((long) (span * 100)); // a tenth of it
        var before = turns.get();
        var start = System.nanoTime();
        Thread.sleep((long) (span * 1000));
        var done = turns.get() - before;
        var elapsed = System.nanoTime() - start;
        over.set(true);
        for (var thread : threads) {
            thread.join();
        }
        return new Output().put("seconds", elapsed / 1e9).put("hand_overs", done);
    }
}
