// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.ArrayList;
import org.redisson.api.RLock;

/** How long acquire and release of a lock on the majority of servers take, as redlatch_redlock measures it. */
final class RedLock implements Program {
    private final double seconds;
    private final RLock lock;

    RedLock(Arguments arguments) {
        arguments.knowing("port", "ports", "seconds", "warm");
        seconds = arguments.seconds("seconds", 1);
        lock = Locks.majority(arguments.integers("ports"), "bench:redlock");
    }

    @Override
    public void warmUp(double span) {
        during(span);
    }

    @Override
    public Output measure() {
        return during(seconds);
    }

    private Output during(double span) {
        var acquires = new ArrayList<Double>();
        var releases = new ArrayList<Double>();
        var end = System.nanoTime() + (long) (span * 1e9);
        for (var start = System.nanoTime(); start < end; start = System.nanoTime()) {
            if (!lock.tryLock()) {
                throw new IllegalStateException("the RedLock was not free");
            }
            var acquired = System.nanoTime();
            lock.unlock();
            var released = System.nanoTime();
            acquires.add((acquired - start) / 1e3);
            releases.add((released - acquired) / 1e3);
        }
        return new Output().put("acquire_us", acquires).put("release_us", releases);
    }
}
