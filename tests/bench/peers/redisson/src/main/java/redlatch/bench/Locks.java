// SPDX-License-Identifier: Apache-2.0
package redlatch.bench;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's clients, as they are without any setting but the address, and its locks by the names of their kinds. */
final class Locks {
    private Locks() {
    }

    static RedissonClient connect(int port) {
        var config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
        return Redisson.create(config);
    }

    /** A client of the master that the sentinels at these addresses name. */
    static RedissonClient connectBySentinels(String[] addresses, String service) {
        var config = new Config();
        config.useSentinelServers().setMasterName(service)
                .addSentinelAddress(Stream.of(addresses).map(address -> "redis://" + address).toArray(String[]::new));
        return Redisson.create(config);
    }

    /** A client of the cluster that has nodes at these addresses. */
    static RedissonClient connectByCluster(String[] addresses) {
        var config = new Config();
        config.useClusterServers()
                .addNodeAddress(Stream.of(addresses).map(address -> "redis://" + address).toArray(String[]::new));
        return Redisson.create(config);
    }

    /** A lock; one of the kind "multi" has so many members, mutexes whose names begin with the one given. */
    static RLock of(RedissonClient client, String kind, String name, int members) {
        return switch (kind) {
            case "mutex" -> client.getLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "multi" -> client.getMultiLock(IntStream.range(0, members)
                    .mapToObj(member -> client.getLock(name + ":" + member)).toArray(RLock[]::new));
            default -> throw new IllegalArgumentException("there is no kind '" + kind
                    + "'; expected mutex, read or multi");
        };
    }

    /** A lock on the majority of servers, with a client for each. */
    @SuppressWarnings("deprecation") // Redisson would rather have none, but there is no other name for it
    static RLock majority(List<Integer> ports, String name) {
        var clients = ports.stream().map(Locks::connect).toList();
        return clients.get(0).getRedLock(clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
    }
}
