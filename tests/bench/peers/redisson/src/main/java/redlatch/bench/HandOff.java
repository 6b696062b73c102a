// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.redisson.api.RLock;

/**
 * The hand-off game of hand_off.h: two processes pass one lock to and fro, and a sample is the time from the call of
 * unlock in one to the return of lock in the other, which both read from the same monotonic clock. The second process
 * is started by the first and talks with it through its standard input and output, never while a sample is running.
 *
 * <p>The first process tells the second how many passes a game has and how long the lock is held: in the game that
 * warms both up it is hardly held at all.
 */
final class HandOff implements Program {
    private static final double WARM_PASS_SECONDS = 0.002; // about as long as one takes

    private final RLock lock;
    private final BufferedReader input;
    private final PrintStream output;
    private final Process second;
    private final SplittableRandom random = new SplittableRandom(1);
    private final int passes;

    HandOff(Arguments arguments) throws IOException {
        arguments.knowing("port", "passes", "warm", "second");
        lock = Locks.connect(arguments.integer("port", 6379)).getLock("bench:hand_off");
        passes = arguments.integer("passes", 200);
        if (arguments.integer("second", 0) != 0) {
            input = reader(System.in);
            output = System.out;
            second = null;
            playSecond();
            Runtime.getRuntime().halt(0);
        } else {
            second = startSecond(arguments);
            input = reader(second.getInputStream());
            output = new PrintStream(second.getOutputStream(), true, StandardCharsets.UTF_8);
        }
    }

    private static BufferedReader reader(InputStream stream) {
        return new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    private static Process startSecond(Arguments arguments) throws IOException {
        var command = new ArrayList<String>(List.of(ProcessHandle.current().info().command().orElseThrow()));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(), "hand-off"));
        command.addAll(arguments.words());
        command.addAll(List.of("--second", "1"));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    @Override
    public void warmUp(double seconds) throws IOException {
        game((int) (seconds / WARM_PASS_SECONDS) + 2, 100_000);
    }

    @Override
    public Output measure() throws IOException {
        return new Output().put("samples_us", game(passes, 2_000_000));
    }

    private List<Double> game(int count, int heldNanoseconds) throws IOException {
        output.println(count);
        output.println(heldNanoseconds);
        var samples = play(0, count, heldNanoseconds);
        for (int i = 0; i < count / 2; i++) {
            samples.add(Double.valueOf(hear()));
        }
        return samples;
    }

    @Override
    public void close() throws InterruptedException {
        output.close();
        second.waitFor();
    }

    private void playSecond() throws IOException {
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            play(1, Integer.parseInt(line), Integer.parseInt(hear())).forEach(output::println);
        }
    }

    private String hear() throws IOException {
        var line = input.readLine();
        if (line == null) {
            throw new IllegalStateException("the other player of the hand-off is gone");
        }
        return line;
    }

    /** Plays one side. Side 0 begins as the holder; who acquired says when, and who released has the sample. */
    private List<Double> play(int side, int count, int heldNanoseconds) throws IOException {
        var samples = new ArrayList<Double>();
        if (side == 0) {
            lock.lock();
            output.println("holds");
        } else {
            hear();
        }
        for (int pass = 0; pass < count; pass++) {
            if (pass % 2 == side) {
                hear(); // the other is about to wait
                LockSupport.parkNanos(random.nextInt(heldNanoseconds, 2 * heldNanoseconds));
                var released = System.nanoTime();
                lock.unlock();
                samples.add((Long.parseLong(hear()) - released) / 1e3);
            } else {
                output.println("waits");
                lock.lock();
                output.println(System.nanoTime());
            }
        }
        if (count % 2 == side) {
            lock.unlock();
        }
        return samples;
    }
}
