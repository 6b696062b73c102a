// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

/** Something that can be measured again and again. */
interface Program {
    /** Does what is to be measured for about so long. */
    void warmUp(double seconds) throws Exception;

    /** Measures once; what came out. */
    Output measure() throws Exception;

    /** Ends what the program started, if it is more than threads. */
    default void close() throws InterruptedException {
    }
}
