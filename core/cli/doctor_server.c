/* Checks what a server reports of itself, for `redlatch doctor`: version, role, eviction, memory, persistence,
 * replication.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

static void check_version(struct doctor *doctor) {
    char version[32] = "";
    int major = 0;
    int minor = 0;
    bool valkey = doctor_info(doctor, "valkey_version", version, sizeof version);
    if (!valkey && !doctor_info(doctor, "redis_version", version, sizeof version)) {
        doctor_add(doctor, LEVEL_NOTE, "version", NULL, "the server does not tell its version");
        return;
    }
    sscanf(version, "%d.%d", &major, &minor);
    const char *maker = valkey ? "Valkey" : "Redis";
    if (major < 6) {
        doctor_add(doctor, LEVEL_PROBLEM, "version", "Use Redis 6.0 or newer, better 7.0 or newer.",
                   "%s %s is older than 6.0: redlatch was not tried with it", maker, version);
    } else if (!valkey && major < 7) {
        doctor_add(doctor, LEVEL_WARNING, "version", "Use Redis 7.0 or newer, or Valkey.",
                   "Redis %s is old: a script that the user's rights stop halfway leaves what it wrote before, and"
                   " min-replicas-to-write does not stop scripts",
                   version);
    } else {
        doctor_add(doctor, LEVEL_OK, "version", NULL, "%s %s", maker, version);
    }
}

static void check_role(struct doctor *doctor) {
    char role[16] = "";
    char host[256] = "?";
    if (!doctor_info(doctor, "role", role, sizeof role)) {
        return;
    }
    if (strcmp(role, "slave") == 0) {
        doctor_info(doctor, "master_host", host, sizeof host);
        doctor_add(doctor, LEVEL_PROBLEM, "role",
                   "Use the master's address, or a URL that finds it: redis+sentinel:// or redis+replicas://.",
                   "the server is a replica of %s: it grants no lock", host);
    } else {
        doctor_add(doctor, LEVEL_OK, "role", NULL, "the server is a master");
    }
    long long loading = 0;
    if (doctor_info_number(doctor, "loading", &loading) && loading) {
        doctor_add(doctor, LEVEL_PROBLEM, "role", "Wait until it is ready.", "the server is loading its data");
    }
}

static void check_eviction(struct doctor *doctor) {
    char policy[32];
    long long maximum = 0;
    long long evicted = 0;
    if (!doctor_info(doctor, "maxmemory_policy", policy, sizeof policy)) {
        return;
    }
    doctor_info_number(doctor, "maxmemory", &maximum);
    doctor_info_number(doctor, "evicted_keys", &evicted);
    const char *advice = "Set maxmemory-policy noeviction, or keep locks on a server of their own.";
    if (strcmp(policy, "noeviction") == 0) {
        doctor_add(doctor, LEVEL_OK, "eviction", NULL, "maxmemory-policy is noeviction");
    } else if (maximum > 0) {
        doctor_add(doctor, LEVEL_PROBLEM, "eviction", advice,
                   "maxmemory-policy is %s: when memory is full, the server may delete a lock that is held", policy);
    } else {
        doctor_add(doctor, LEVEL_WARNING, "eviction", advice,
                   "maxmemory-policy is %s, without a maxmemory: as soon as there is one, the server may delete a lock"
                   " that is held",
                   policy);
    }
    if (evicted > 0) {
        doctor_add(doctor, LEVEL_WARNING, "eviction", advice,
                   "the server has evicted %lld keys since it was started; locks may have been among them", evicted);
    }
}

static void check_memory(struct doctor *doctor) {
    long long used = 0;
    long long maximum = 0;
    long long not_counted = 0;
    if (!doctor_info_number(doctor, "used_memory", &used) || !doctor_info_number(doctor, "maxmemory", &maximum)) {
        return;
    }
    doctor_info_number(doctor, "mem_not_counted_for_evict", &not_counted);
    if (maximum == 0) {
        doctor_add(doctor, LEVEL_OK, "memory", NULL, "%lld MiB used, no maxmemory", used >> 20);
        return;
    }
    long long percent = (used - not_counted) * 100 / maximum;
    doctor_add(doctor,
               percent >= 97   ? LEVEL_PROBLEM
               : percent >= 85 ? LEVEL_WARNING
                               : LEVEL_OK,
               "memory", "Raise maxmemory, or keep locks on a server of their own.",
               percent >= 85 ? "%lld %% of maxmemory is used (%lld of %lld MiB): when it is full, no lock can be"
                               " acquired; releases and renewals still work"
                             : "%lld %% of maxmemory is used (%lld of %lld MiB)",
               percent, (used - not_counted) >> 20, maximum >> 20);
}

static bool is_failed(const struct doctor *doctor, const char *field) {
    char status[16];
    return doctor_info(doctor, field, status, sizeof status) && strcmp(status, "ok") != 0;
}

static void check_persistence(struct doctor *doctor) {
    char save[256];
    char fsync[16] = "";
    long long aof = 0;
    if (!doctor_info_number(doctor, "aof_enabled", &aof)) {
        return;
    }
    bool known = doctor_setting(doctor, "save", save, sizeof save);
    doctor_setting(doctor, "appendfsync", fsync, sizeof fsync);
    if (aof) {
        bool always = strcmp(fsync, "always") == 0;
        doctor_add(doctor, LEVEL_OK, "persistence", NULL, "append-only file%s%s%s", *fsync ? ", fsync " : "", fsync,
                   always || !*fsync ? "" : ": a crash of the machine may lose the locks of the last moment");
    } else if (known && !*save) {
        doctor_add(doctor, LEVEL_WARNING, "persistence",
                   "Set appendonly yes; with appendfsync always, locks survive every restart.",
                   "the server keeps nothing on disk: a restart frees all locks at once, while their holders go on");
    } else {
        doctor_add(
            doctor, LEVEL_WARNING, "persistence",
            "Set appendonly yes; with appendfsync always, locks survive every restart.",
            "no append-only file%s: a restart loses the locks since the last snapshot, while their holders go on",
            known ? "" : " (whether there are snapshots is unknown: CONFIG GET is forbidden)");
    }
    if (is_failed(doctor, "rdb_last_bgsave_status") || (aof && is_failed(doctor, "aof_last_write_status"))) {
        doctor_add(doctor, LEVEL_PROBLEM, "persistence", "See the server's log; its disk may be full.",
                   "the server could not write its data to disk: by default it refuses writes, and so all locks");
    }
}

/* Checks a replica by its line of INFO: whether it is connected and close behind. */
static void check_replica(struct doctor *doctor, int number) {
    char field[16];
    char text[256];
    snprintf(field, sizeof field, "slave%d", number);
    if (!doctor_info(doctor, field, text, sizeof text)) {
        return;
    }
    const char *lag = strstr(text, "lag=");
    bool online = strstr(text, "state=online") != NULL;
    long seconds = lag ? strtol(lag + 4, NULL, 10) : 0;
    if (!online || seconds > 2) {
        doctor_add(doctor, LEVEL_WARNING, "replication", "See the replica's log and the network between them.",
                   "the replica %s is %s: it does not have the newest locks", text,
                   online ? "behind" : "not connected");
    }
}

static void check_replication(struct doctor *doctor) {
    char role[16] = "";
    char minimum[16] = "";
    long long replicas = 0;
    doctor_info(doctor, "role", role, sizeof role);
    if (strcmp(role, "master") != 0 || !doctor_info_number(doctor, "connected_slaves", &replicas)) {
        return;
    }
    static const char option[] = "min_replicas=";
    const char *minimum_wanted = strstr(server_url(doctor->server), option);
    bool acknowledged = minimum_wanted && strtol(minimum_wanted + sizeof option - 1, NULL, 10) > 0;
    if (replicas == 0 && doctor->cluster) {
        doctor_add(doctor, LEVEL_WARNING, "replication", "Give each master of the cluster a replica.",
                   "the master has no replica: while it is down, nobody gets a lock in its slots");
    } else if (replicas == 0) {
        doctor_add(doctor, LEVEL_NOTE, "replication", NULL,
                   "the server has no replicas: while it is down, nobody gets a lock");
    } else if (acknowledged) {
        doctor_add(doctor, LEVEL_OK, "replication", NULL, "%lld replicas, and the URL has min_replicas", replicas);
    } else {
        doctor_setting(doctor, "min-replicas-to-write", minimum, sizeof minimum);
        doctor_add(doctor, LEVEL_WARNING, "replication",
                   "Add min_replicas=1 to the URL: a lock is granted only when a replica has it.",
                   "%lld replicas get the locks a moment later: a failover may lose one that was just granted%s",
                   replicas,
                   strcmp(minimum, "0") == 0 ? ", and min-replicas-to-write is 0: a master that is cut off goes on"
                                               " granting"
                                             : "");
    }
    for (int i = 0; i < 10; i++) {
        check_replica(doctor, i);
    }
}

static void check_connections(struct doctor *doctor) {
    long long connected = 0;
    long long maximum = 0;
    if (doctor_info_number(doctor, "connected_clients", &connected) &&
        doctor_info_number(doctor, "maxclients", &maximum) && maximum > 0 && connected * 10 >= maximum * 9) {
        doctor_add(doctor, LEVEL_WARNING, "connections", "Raise maxclients, or find who opens so many.",
                   "%lld of %lld connections are in use: soon new ones are refused", connected, maximum);
    }
}

void doctor_check_server(struct doctor *doctor) {
    doctor_add(doctor, LEVEL_OK, "server", NULL, "connected to %s", redlatch_client_url(doctor->client));
    doctor->info[0] = '\0';
    int status = doctor_command(doctor, (const char *[]){"INFO", NULL}, doctor->info, sizeof doctor->info);
    if (status != REDLATCH_OK) {
        doctor_add(doctor, LEVEL_WARNING, "server",
                   "Allow the user INFO: redlatch uses it, too, to tell servers apart.",
                   "INFO is refused, so that version, role, eviction, memory, persistence and replication are unknown"
                   " (%s)",
                   redlatch_last_error());
        return;
    }
    check_version(doctor);
    check_role(doctor);
    check_eviction(doctor);
    check_memory(doctor);
    check_persistence(doctor);
    check_replication(doctor);
    check_connections(doctor);
}
