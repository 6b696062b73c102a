// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Redisson's locks and synchronizers by their descriptions: {"client", "kind", "name"}. A multi lock and a RedLock have
 * "members" instead of a name: descriptions, which may be of other clients. A group lock has also "values".
 *
 * <p>The same description names the same Java object, since these objects have state. Further entries of a description,
 * such as a number, distinguish handles of one lock.
 */
final class Objects {
    private record Known(int client, Object object) {
    }

    private final ConcurrentMap<String, Known> known = new ConcurrentHashMap<>();
    private final Clients clients;

    Objects(Clients clients) {
        this.clients = clients;
    }

    Object find(JsonObject description) {
        return known.computeIfAbsent(description.toString(),
                text -> new Known(description.get("client").getAsInt(), make(description))).object();
    }

    void forget(int client) {
        known.values().removeIf(entry -> entry.client() == client);
    }

    private Object make(JsonObject description) {
        var client = clients.get(description.get("client").getAsInt());
        var kind = description.get("kind").getAsString();
        switch (kind) {
            case "multi":
                return client.getMultiLock(members(description.getAsJsonArray("members")));
            case "red":
                return red(client, members(description.getAsJsonArray("members")));
            case "group":
                return client.getMultiLock(description.get("name").getAsString(),
                        values(description.getAsJsonArray("values")));
            default:
                return make(client, kind, description.get("name").getAsString());
        }
    }

    private static Object make(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "fair" -> client.getFairLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "spin" -> client.getSpinLock(name);
            case "non-reentrant" -> later(client, "getNonReentrantLock", name);
            case "non-reentrant fair" -> later(client, "getNonReentrantFairLock", name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            case "semaphore" -> client.getSemaphore(name);
            case "permit semaphore" -> client.getPermitExpirableSemaphore(name);
            case "latch" -> client.getCountDownLatch(name);
            default -> throw new IllegalArgumentException("there is no kind '" + kind + "'");
        };
    }

    /** Makes objects that the older supported Redisson does not have. */
    private static Object later(RedissonClient client, String method, String name) {
        try {
            return RedissonClient.class.getMethod(method, String.class).invoke(client, name);
        } catch (ReflectiveOperationException error) {
            throw new UnsupportedOperationException("this Redisson has no " + method, error);
        }
    }

    @SuppressWarnings("deprecation") // Redisson would rather have none, but there is no other name for it
    private static RLock red(RedissonClient client, RLock[] members) {
        return client.getRedLock(members);
    }

    private RLock[] members(JsonArray descriptions) {
        var members = new ArrayList<RLock>();
        for (var description : descriptions) {
            members.add((RLock) make(description.getAsJsonObject()));
        }
        return members.toArray(new RLock[0]);
    }

    private static Collection<Object> values(JsonArray array) {
        var values = new ArrayList<Object>();
        for (var value : array) {
            values.add(value.getAsString());
        }
        return values;
    }
}
