// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;

/**
 * The Redisson clients of this process, numbered from 1. They use the servers that {@link Servers} describes, few
 * threads, and StringCodec, with which the values of group locks are the same in every language.
 *
 * <p>Options, all in ms or counts: "lockWatchdogTimeout", "fairLockWaitTimeout", "lockWatchdogBatchSize", "timeout",
 * "retryAttempts", "retryDelay", "subscriptionsPerConnection", "subscriptionConnectionPoolSize", "connectionPoolSize".
 */
final class Clients {
    private static final int THREADS = 2;

    private final AtomicInteger last = new AtomicInteger();
    private final ConcurrentMap<Integer, RedissonClient> clients = new ConcurrentHashMap<>();

    int open(JsonObject where, JsonObject options) {
        var config = new Config();
        config.setCodec(StringCodec.INSTANCE).setThreads(THREADS).setNettyThreads(THREADS);
        var servers = Servers.configure(config, where);
        for (var option : options.entrySet()) {
            set(config, servers, option.getKey(), option.getValue());
        }
        var number = last.incrementAndGet();
        clients.put(number, Redisson.create(config));
        return number;
    }

    private static void set(Config config, BaseConfig<?> servers, String name, JsonElement value) {
        switch (name) {
            case "lockWatchdogTimeout" -> config.setLockWatchdogTimeout(value.getAsLong());
            case "fairLockWaitTimeout" -> config.setFairLockWaitTimeout(value.getAsLong());
            case "lockWatchdogBatchSize" -> config.setLockWatchdogBatchSize(value.getAsInt());
            case "timeout" -> servers.setTimeout(value.getAsInt());
            case "retryAttempts" -> servers.setRetryAttempts(value.getAsInt());
            case "retryDelay" -> servers.setRetryDelay(new ConstantDelay(Duration.ofMillis(value.getAsLong())));
            case "subscriptionsPerConnection" -> servers.setSubscriptionsPerConnection(value.getAsInt());
            case "subscriptionConnectionPoolSize" -> Servers.setSubscriptionConnections(servers, value.getAsInt());
            case "connectionPoolSize" -> Servers.setConnections(servers, value.getAsInt());
            default -> throw new IllegalArgumentException("there is no option '" + name + "' of a client");
        }
    }

    RedissonClient get(int number) {
        var client = clients.get(number);
        if (client == null) {
            throw new IllegalArgumentException("there is no client " + number + "; expected what connect answered");
        }
        return client;
    }

    void close(int number) {
        get(number).shutdown(0, 1, TimeUnit.SECONDS);
        clients.remove(number);
    }
}
