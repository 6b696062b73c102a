// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Answers, one line each: {"id", "ms", "result"}. Instead of the result a failure has "error" (the exception's class),
 * "message" and "causes" (the classes of its causes). "interrupted" is there if the call left its thread's interrupt
 * flag set.
 */
final class Answers {
    private final Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private final PrintStream output;

    Answers(OutputStream output) {
        this.output = new PrintStream(output, false, StandardCharsets.UTF_8);
    }

    void result(JsonElement id, long nanoseconds, Object result, boolean interrupted) {
        var answer = begin(id, nanoseconds, interrupted);
        answer.add("result", plain(result));
        print(answer);
    }

    void failure(JsonElement id, long nanoseconds, Throwable thrown, boolean interrupted) {
        var error = thrown;
        var wrapped = error instanceof CompletionException || error instanceof ExecutionException;
        if (wrapped && error.getCause() != null) {
            error = error.getCause();
        }
        var answer = begin(id, nanoseconds, interrupted);
        answer.addProperty("error", error.getClass().getName());
        answer.addProperty("message", error.getMessage());
        var causes = new JsonArray();
        for (var cause = error.getCause(); cause != null; cause = cause.getCause()) {
            causes.add(cause.getClass().getName());
        }
        answer.add("causes", causes);
        print(answer);
    }

    private static JsonObject begin(JsonElement id, long nanoseconds, boolean interrupted) {
        var answer = new JsonObject();
        answer.add("id", id);
        answer.addProperty("ms", nanoseconds / 1e6);
        if (interrupted) {
            answer.addProperty("interrupted", true);
        }
        return answer;
    }

    private JsonElement plain(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Number || value instanceof String
                || value instanceof Iterable) {
            return gson.toJsonTree(value);
        }
        return gson.toJsonTree(value.toString());
    }

    private synchronized void print(JsonObject answer) {
        output.print(gson.toJson(answer) + "\n");
        output.flush();
    }
}
