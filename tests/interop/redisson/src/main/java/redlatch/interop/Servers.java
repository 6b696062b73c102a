// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.TrustManagerFactory;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SingleServerConfig;

/**
 * The servers of a client: {"mode", "addresses"}, with "service" in the mode "sentinel" and "caFile" for rediss://. The
 * modes are "single", "sentinel" (with the sentinels' addresses), "cluster", "replicated", and "master-slave" (the
 * first address is the master's). All have few connections, which are opened as needed.
 */
final class Servers {
    private static final int CONNECTIONS = 8;
    private static final int SUBSCRIPTION_CONNECTIONS = 50; // Redisson's own default

    private Servers() {
    }

    /** Adds the servers to a configuration, and returns the configuration of their mode. */
    static BaseConfig<?> configure(Config config, JsonObject where) {
        var addresses = addresses(where);
        var first = addresses.get(0);
        var mode = where.get("mode").getAsString();
        BaseConfig<?> servers = switch (mode) {
            case "single" -> single(config.useSingleServer().setAddress(first));
            case "sentinel" -> several(config.useSentinelServers().addSentinelAddress(all(addresses)))
                    .setMasterName(where.get("service").getAsString());
            case "cluster" -> several(config.useClusterServers().addNodeAddress(all(addresses)));
            case "replicated" -> several(config.useReplicatedServers().addNodeAddress(all(addresses)));
            case "master-slave" -> several(config.useMasterSlaveServers().setMasterAddress(first)
                    .addSlaveAddress(all(addresses.subList(1, addresses.size()))));
            default -> throw new IllegalArgumentException("there is no mode '" + mode
                    + "'; expected single, sentinel, cluster, replicated or master-slave");
        };
        if (where.has("caFile")) { // the newer Redisson deprecates this, the older has nothing else
            servers.setSslTrustManagerFactory(trust(Path.of(where.get("caFile").getAsString())));
        }
        return servers;
    }

    static void setConnections(BaseConfig<?> servers, int size) {
        if (servers instanceof SingleServerConfig single) {
            single.setConnectionPoolSize(size);
        } else {
            ((BaseMasterSlaveServersConfig<?>) servers).setMasterConnectionPoolSize(size);
        }
    }

    static void setSubscriptionConnections(BaseConfig<?> servers, int size) {
        if (servers instanceof SingleServerConfig single) {
            single.setSubscriptionConnectionPoolSize(size);
        } else {
            ((BaseMasterSlaveServersConfig<?>) servers).setSubscriptionConnectionPoolSize(size);
        }
    }

    private static SingleServerConfig single(SingleServerConfig server) {
        return server.setConnectionPoolSize(CONNECTIONS).setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(SUBSCRIPTION_CONNECTIONS).setSubscriptionConnectionMinimumIdleSize(1)
                .setDnsMonitoringInterval(-1);
    }

    /** Reads go to the master: replies of a replica may be stale. */
    private static <T extends BaseMasterSlaveServersConfig<T>> T several(T servers) {
        return servers.setReadMode(ReadMode.MASTER)
                .setMasterConnectionPoolSize(CONNECTIONS).setMasterConnectionMinimumIdleSize(1)
                .setSlaveConnectionPoolSize(CONNECTIONS).setSlaveConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(SUBSCRIPTION_CONNECTIONS)
                .setSubscriptionConnectionMinimumIdleSize(1);
    }

    private static List<String> addresses(JsonObject where) {
        var addresses = new ArrayList<String>();
        for (var address : where.getAsJsonArray("addresses")) {
            addresses.add(address.getAsString());
        }
        return addresses;
    }

    private static String[] all(List<String> addresses) {
        return addresses.toArray(new String[0]);
    }

    private static TrustManagerFactory trust(Path certificate) {
        try (var input = Files.newInputStream(certificate)) {
            var store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(input));
            var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            return factory;
        } catch (GeneralSecurityException | IOException error) {
            throw new IllegalArgumentException(certificate + " cannot be used as the certificate of a CA", error);
        }
    }
}
