// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Semaphore;

/** The threads that make the calls: each number is one Java thread with a queue of its own, since threads own locks. */
final class Workers {
    private final ConcurrentMap<Integer, Worker> workers = new ConcurrentHashMap<>();

    /** Queues work for a thread, which is started when it is first used. */
    void submit(int number, Runnable work) {
        workers.computeIfAbsent(number, Worker::new).queue.add(work);
    }

    /** Interrupts a thread's current call. Returns whether there was one. */
    boolean interrupt(int number) {
        var worker = workers.get(number);
        return worker != null && worker.interruptWork();
    }

    /** Returns whether a thread sleeps until a message comes. It does so in a semaphore of its lock. */
    boolean sleeps(int number) {
        var worker = workers.get(number);
        return worker != null && Arrays.stream(worker.thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(Semaphore.class.getName()));
    }

    private static final class Worker implements Runnable {
        private final BlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();
        private final Thread thread;
        private boolean working;

        Worker(int number) {
            thread = new Thread(this, "worker-" + number);
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void run() {
            while (true) {
                try {
                    var work = queue.take();
                    setWorking(true);
                    work.run();
                } catch (InterruptedException unexpected) {
                    throw new IllegalStateException("interrupted between two calls", unexpected);
                } finally {
                    setWorking(false);
                }
            }
        }

        private synchronized void setWorking(boolean value) {
            working = value;
            if (!value) {
                Thread.interrupted(); // an interrupt after the end of a call is not for the next call
            }
        }

        private synchronized boolean interruptWork() {
            if (working) {
                thread.interrupt();
            }
            return working;
        }
    }
}
