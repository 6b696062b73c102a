// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

/** Something that can be measured again and again. */
interface Program {
    /** How long a measurement is to take. */
    double seconds();

    /** Measures for about so long; what came out. */
    Output measure(double seconds) throws Exception;

    /** Ends what the program started, if it is more than threads. */
    default void close() throws InterruptedException {
    }
}
