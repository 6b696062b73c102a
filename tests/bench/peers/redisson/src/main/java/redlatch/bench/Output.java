// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import com.google.gson.Gson;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a measurement gave, printed as one line of JSON. */
final class Output {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    Output put(String name, Object value) {
        fields.put(name, value);
        return this;
    }

    void print() {
        System.out.println(new Gson().toJson(fields));
    }

    /** CPU time of all threads of this process, user and system; those of the JVM are among them. */
    static double processCpuSeconds() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() / 1e9;
    }
}
