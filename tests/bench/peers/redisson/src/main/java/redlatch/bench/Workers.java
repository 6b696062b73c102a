// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.LongStream;

/** Threads that do pairs (an acquire and a release) for a given time, and a tenth of it before: workers.h in Java. */
final class Workers {
    private final List<Runnable> work;
    private final long[] warmPairs;
    private final long[] pairs;
    private final CyclicBarrier begin;
    private final CyclicBarrier end;
    private final Output output = new Output();
    private double cpuBefore;
    private long start;

    /** Each of the works is one pair of one thread, to be done again and again. */
    Workers(List<Runnable> work) {
        this.work = work;
        warmPairs = new long[work.size()];
        pairs = new long[work.size()];
        begin = new CyclicBarrier(work.size(), this::startWatch);
        end = new CyclicBarrier(work.size(), this::stopWatch);
    }

    /** How many pairs they did; to be called once. */
    Output run(double seconds) throws InterruptedException {
        var span = (long) (seconds * 1e9);
        for (var thread : Threads.start(work.size(), number -> member(number, span))) {
            thread.join();
        }
        return output.put("pairs", LongStream.of(pairs).sum()).put("warm_pairs", LongStream.of(warmPairs).sum())
                .put("per_thread", pairs);
    }

    private void member(int number, long span) {
        try {
            warmPairs[number] = pairsUntil(work.get(number), System.nanoTime() + span / 10);
            begin.await();
            pairs[number] = pairsUntil(work.get(number), start + span);
            end.await();
        } catch (InterruptedException | BrokenBarrierException error) {
            throw new IllegalStateException(error);
        }
    }

    private static long pairsUntil(Runnable pair, long deadline) {
        long done = 0;
        while (System.nanoTime() < deadline) {
            pair.run();
            done++;
        }
        return done;
    }

    private void startWatch() {
        cpuBefore = Output.processCpuSeconds();
        start = System.nanoTime();
    }

    private void stopWatch() {
        output.put("seconds", (System.nanoTime() - start) / 1e9)
                .put("cpu_seconds", Output.processCpuSeconds() - cpuBefore);
    }
}
