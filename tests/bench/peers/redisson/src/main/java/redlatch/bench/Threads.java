// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** Threads with numbers. When one fails there is no figure, so that the program ends. */
final class Threads {
    private Threads() {
    }

    static List<Thread> start(int count, IntConsumer work) {
        var threads = IntStream.range(0, count).mapToObj(number -> new Thread(() -> work.accept(number))).toList();
        for (var thread : threads) {
            thread.setUncaughtExceptionHandler((failed, error) -> giveUp(error));
            thread.start();
        }
        return threads;
    }

    static void giveUp(Throwable error) {
        error.printStackTrace();
        Runtime.getRuntime().halt(1);
    }
}
