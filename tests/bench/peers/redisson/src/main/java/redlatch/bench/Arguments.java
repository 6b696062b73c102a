// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A command line of pairs "--name value". Names are asked for without the dashes; one that nobody knows is refused. */
final class Arguments {
    private final List<String> words;
    private final Map<String, String> values = new HashMap<>();

    Arguments(List<String> words) {
        this.words = words;
        for (int i = 0; i < words.size(); i += 2) {
            if (!words.get(i).startsWith("--") || i + 1 == words.size()) {
                throw new IllegalArgumentException(words.get(i) + ": expected pairs of --name value");
            }
            values.put(words.get(i).substring(2), words.get(i + 1));
        }
    }

    /** To be called before any other: only these names may stand here. */
    void knowing(String... names) {
        for (var name : values.keySet()) {
            if (!List.of(names).contains(name)) {
                throw new IllegalArgumentException("--" + name + " is not an argument of this program");
            }
        }
    }

    /** As they came. */
    List<String> words() {
        return words;
    }

    String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    int integer(String name, int otherwise) {
        return Integer.parseInt(text(name, Integer.toString(otherwise)));
    }

    double seconds(String name, double otherwise) {
        return Double.parseDouble(text(name, Double.toString(otherwise)));
    }

    /** Whole numbers with commas between them. */
    List<Integer> integers(String name) {
        return Stream.of(text(name, "").split(",")).map(Integer::valueOf).toList();
    }
}
