// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What the C programs of the benchmarks measure of redlatch, measured of Redisson: the first word names the program,
 * the others are pairs of "--name value".
 *
 * <p>A JVM compiles what runs often, and is slow until it has. So a program warms up until it used --warm seconds of
 * CPU time, says so by a first line of JSON, and then measures for each line that it reads, and prints one. It ends
 * when its input ends.
 */
public final class Main {
    private Main() {
    }

    /** Runs one program. */
    public static void main(String[] words) {
        var arguments = new Arguments(Arrays.asList(words).subList(Math.min(1, words.length), words.length));
        try {
            var program = program(words.length == 0 ? "" : words[0], arguments);
            serve(program, arguments.seconds("warm", 1));
        } catch (Throwable error) { // whatever it is, there is no figure
            Threads.giveUp(error);
        }
        Runtime.getRuntime().halt(0); // Redisson's own threads do not keep the process
    }

    /** CPU time is what the compiler needs; a program that mostly sleeps is warm after twice the time. */
    private static void warmUp(Program program, double seconds) throws Exception {
        var start = System.nanoTime();
        while (Output.processCpuSeconds() < seconds && (System.nanoTime() - start) / 1e9 < 2 * seconds) {
            program.warmUp(seconds / 10);
        }
    }

    private static void serve(Program program, double warmSeconds) throws Exception {
        warmUp(program, warmSeconds);
        System.out.println("{}");
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (input.readLine() != null) {
            program.measure().print();
        }
        program.close();
    }

    private static Program program(String name, Arguments arguments) throws Exception {
        return switch (name) {
            case "pair" -> new Pair(arguments);
            case "hand-off" -> new HandOff(arguments);
            case "fair" -> new Fair(arguments);
            case "redlock" -> new RedLock(arguments);
            case "turns" -> new Turns(arguments);
            default -> throw new IllegalArgumentException("there is no program '" + name
                    + "'; expected pair, hand-off, fair, redlock or turns");
        };
    }
}
