// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * A process that makes calls of Redisson. Requests come as JSON lines on standard input. Answers go as JSON lines to
 * standard output, in the order in which the calls end. The process ends when its input ends.
 *
 * <p>A request is {"id", "thread", "on", "call", "arguments"}. The call is made on the Java thread of that number,
 * after the earlier requests for that thread. {@link Calls} describes the arguments, {@link Objects} describes "on".
 * Requests without "on" are about the process: see {@link #ownCall}.
 */
public final class Peer {
    private final Answers answers = new Answers(System.out);
    private final Clients clients = new Clients();
    private final Objects objects = new Objects(clients);
    private final Workers workers = new Workers();

    private Peer() {
    }

    /** Serves standard input until it ends. */
    public static void main(String[] arguments) throws IOException {
        var peer = new Peer();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            peer.serve(line);
        }
        // What is held stays held until its lease ends, as when a process dies. Waiting threads do not keep the process
        // alive.
        Runtime.getRuntime().halt(0);
    }

    private void serve(String line) {
        JsonElement id = null;
        try {
            var request = JsonParser.parseString(line).getAsJsonObject();
            id = request.get("id");
            var call = request.has("call") ? request.get("call").getAsString() : "";
            if (call.equals("interrupt") || call.equals("sleeps")) { // about a thread that is busy itself
                var number = arguments(request).get(0).getAsInt();
                var does = call.equals("sleeps") ? workers.sleeps(number) : workers.interrupt(number);
                answers.result(id, 0, does, false);
                return;
            }
            var requestId = id;
            workers.submit(request.get("thread").getAsInt(), () -> carryOut(requestId, request));
        } catch (RuntimeException error) {
            answers.failure(id, 0, error, false);
        }
    }

    private void carryOut(JsonElement id, JsonObject request) {
        var started = System.nanoTime();
        try {
            var call = request.get("call").getAsString();
            var result = request.has("on")
                    ? Calls.make(objects.find(request.getAsJsonObject("on")), call, arguments(request))
                    : ownCall(call, arguments(request));
            answers.result(id, System.nanoTime() - started, result, Thread.interrupted());
        } catch (Throwable error) { // tests check errors of every kind
            answers.failure(id, System.nanoTime() - started, error, Thread.interrupted());
        }
    }

    private Object ownCall(String call, JsonArray arguments) {
        switch (call) {
            case "connect": // servers and options; returns the number of a new client
                return clients.open(arguments.get(0).getAsJsonObject(), arguments.get(1).getAsJsonObject());
            case "close": // a client's number
                objects.forget(arguments.get(0).getAsInt());
                clients.close(arguments.get(0).getAsInt());
                return null;
            case "owner": // a client's number; returns the field under which this thread holds locks
                return clients.get(arguments.get(0).getAsInt()).getId() + ":" + Thread.currentThread().getId();
            default:
                throw new IllegalArgumentException("there is no call '" + call
                        + "' without an object; expected connect, close, owner, interrupt or sleeps");
        }
    }

    private static JsonArray arguments(JsonObject request) {
        var found = request.getAsJsonArray("arguments");
        return found == null ? new JsonArray() : found;
    }
}
