// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.ArrayList;
import java.util.List;

/**
 * Pairs per second, as redlatch_pair and redlatch_hot count them: a lock for each thread, or one that all share and
 * that is waited for.
 */
final class Pair implements Program {
    private final List<Runnable> work = new ArrayList<>();
    private final double seconds;

    Pair(Arguments arguments) {
        arguments.knowing("port", "threads", "seconds", "warm", "kind", "members", "shared");
        seconds = arguments.seconds("seconds", 1);
        var client = Locks.connect(arguments.integer("port", 6379));
        var kind = arguments.text("kind", "mutex");
        var shared = arguments.integer("shared", 0) != 0;
        for (int number = 0; number < arguments.integer("threads", 1); number++) {
            var name = "bench:pair" + (shared ? "" : ":" + number);
            var lock = Locks.of(client, kind, name, arguments.integer("members", 10));
            work.add(shared ? () -> {
                lock.lock();
                lock.unlock();
            } : () -> {
                if (!lock.tryLock()) {
                    throw new IllegalStateException(name + " is held by somebody else");
                }
                lock.unlock();
            });
        }
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
        return new Workers(work).run(span);
    }
}
