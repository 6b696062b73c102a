/* Error texts of failed calls: which operation failed on which name, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include "failures.h"

#include <stdio.h>
#include <string.h>

#include "drive.h"
#include "error_reply.h"
#include "errors.h"
#include "kinds.h"

static const char *const changes[CHANGES] = {
    [SEMAPHORE_TRY_SET] = "set permits of",
    [SEMAPHORE_ADD] = "add permits to",
    [SEMAPHORE_RELEASE] = "release permits of",
    [SEMAPHORE_RELEASE_IF_EXISTS] = "release permits of",
    [SEMAPHORE_DRAIN] = "drain",
    [SEMAPHORE_COUNT] = "query",
    [SEMAPHORE_DELETE] = "delete",
    [LATCH_TRY_SET] = "set the count of",
    [LATCH_COUNT_DOWN] = "count down",
    [LATCH_COUNT] = "query",
    [LATCH_DELETE] = "delete",
    [PERMITS_TRY_SET] = "set permits of",
    [PERMITS_SET] = "set permits of",
    [PERMITS_ADD] = "add permits to",
    [PERMITS_RELEASE] = "release a permit of",
    [PERMITS_EXTEND] = "update the lease of a permit of",
    [PERMITS_LEASE] = "query",
    [PERMITS_AVAILABLE] = "query",
    [PERMITS_TAKEN] = "query",
    [PERMITS_ALL] = "query",
    [PERMITS_DELETE] = "delete",
};

const char *verb_of(const struct operation *operation) {
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_ACQUIRE:
        return "acquire";
    case OPERATION_RELEASE:
    case OPERATION_RELEASE_OWNER:
        return "release";
    case OPERATION_EXTEND:
    case OPERATION_EXTEND_OWNER:
        return "extend";
    case OPERATION_FORCE:
        return "force-release";
    case OPERATION_QUERY:
        return "query";
    case OPERATION_INSPECT:
        return "inspect";
    case OPERATION_WATCH:
        return "wait for";
    case OPERATION_CHANGE:
        return changes[operation->change];
    }
    return "call on";
}

/* Returns what kept the call waiting. A wait until a name is free has no kind of lock: the name may be of any kind. */
static const char *hindrance_of(const struct resource *resource, const struct operation *operation) {
    if (operation->kind == OPERATION_WATCH && !operation->lock_kind) {
        return "not free";
    }
    const struct kind *kind = kind_of_number(resource->kind);
    return !kind->is_counted ? "held by another owner" : kind->has_permits ? "too few permits" : "closed";
}

/* Returns whether the owner has a lost hold, which it must release before it can acquire again. */
static bool needs_release(const struct operation *operation) {
    for (uint32_t i = 0; i < (operation->set ? operation->set->count : 1); i++) {
        const struct set_member *member = operation->set ? &operation->set->members[i] : NULL;
        const struct hold *hold = resource_hold_of(member ? member->resource : operation->resource,
                                                   member ? member->lock_kind : operation->lock_kind, operation->owner);
        if (hold && hold->stage == HOLD_GONE) {
            return true;
        }
    }
    return false;
}

/* LOST: says why the hold was lost, and what to do. A grant that came too late was given back already. */
static int lost(const struct request *request, const char *verb, const char *names) {
    const struct operation *operation = &request->operation;
    const char *why = reason_text(operation->reason);
    const char *sentence = redlatch_strerror(REDLATCH_LOST);
    if (operation->kind != OPERATION_ACQUIRE) {
        fail_with(REDLATCH_LOST, "%s %s: %s: %s", verb, names, sentence, why);
    } else if (needs_release(operation)) {
        fail_with(REDLATCH_LOST, "%s %s: %s: %s; release it first", verb, names, sentence, why);
    } else {
        fail_with(REDLATCH_LOST, "%s %s: granted, but lost before the reply came: %s", verb, names, why);
    }
    return fail_for(REDLATCH_LOST, operation->reason);
}

/* What a key may hold instead of the expected lock, and how each language makes a handle for that. */
static const struct {
    const char *what;
    const char *use[4]; /* by enum redlatch_language */
} detected_kinds[] = {
    [REDLATCH_DETECTED_MUTEX] = {"a mutex", {"REDLATCH_MUTEX", "lock", "lock", "--kind mutex"}},
    [REDLATCH_DETECTED_FENCED] = {"a fenced lock", {"REDLATCH_FENCED", "fenced_lock", "fenced_lock", "--kind fenced"}},
    [REDLATCH_DETECTED_FAIR] = {"a fair lock", {"REDLATCH_FAIR", "fair_lock", "fair_lock", "--kind fair"}},
    [REDLATCH_DETECTED_READ_WRITE] = {"a read-write lock",
                                      {"REDLATCH_READ or REDLATCH_WRITE", "read_write_lock", "read_write_lock",
                                       "--kind read or --kind write"}},
    [REDLATCH_DETECTED_GROUP] = {"a group lock", {"redlatch_group_lock_new", "group_lock", "group_lock", NULL}},
    [REDLATCH_DETECTED_PLAIN] = {"a plain lock", {"REDLATCH_PLAIN", "plain_lock", "plain_lock", "--kind plain"}},
    [REDLATCH_DETECTED_COUNT] = {"a number, as of a semaphore or a latch",
                                 {"redlatch_semaphore_new or redlatch_latch_new", "semaphore or latch",
                                  "semaphore or latch", "--kind semaphore"}},
    [REDLATCH_DETECTED_PERMIT_SEMAPHORE] = {"a permit semaphore",
                                            {"redlatch_permit_semaphore_new", "permit_semaphore", "permit_semaphore",
                                             "--kind permit-semaphore"}},
};

/* WRONG_TYPE: says what the key holds, and what was expected. */
static int wrong_type(const struct client *client, const struct finding *finding, const char *verb, const char *names) {
    const struct kind *used = kind_of_number(finding->lock_kind); /* NULL: a wait until a name is free has none */
    const char *kind = used ? used->with_article : "";
    const char *not = used ? ", not " : "";
    const char *expected = used ? ": expected " : "";
    if (finding->detected_kind < 0 ||
        (size_t)finding->detected_kind >= sizeof detected_kinds / sizeof detected_kinds[0] ||
        !detected_kinds[finding->detected_kind].what) {
        return fail_with(REDLATCH_WRONG_TYPE, "%s %s: the key is a %s, which is no known lock%s%s", verb, names,
                         finding->type, expected, kind);
    }
    /* In the command, only `redlatch wait` uses latches and names without a kind. It has no option for kinds of locks,
     * so none is proposed. */
    bool only_waits = client->language == REDLATCH_LANGUAGE_COMMAND && (!used || finding->lock_kind == REDLATCH_LATCH);
    const char *use = only_waits ? NULL : detected_kinds[finding->detected_kind].use[client->language];
    return fail_with(REDLATCH_WRONG_TYPE, "%s %s: this is %s%s%s%s%s", verb, names,
                     detected_kinds[finding->detected_kind].what, not, kind, use ? "; use " : "", use ? use : "");
}

/* How a program creates a semaphore, by enum redlatch_language. */
static const char *const ways_to_make[] = {
    "try_set_permits, or the option limit",
    "try_set_permits(), limit= to make it, or wait_for_creation=True to wait until somebody does",
    "try_set_permits(), limit to make it, or wait_for_creation = true to wait until somebody does",
    "--limit to make it",
};

/* Writes a duration in the unit of the language: ms in C, s in the others. */
static const char *shown_wait(const struct client *client, int64_t wait_ms, char text[32]) {
    if (client->language == REDLATCH_LANGUAGE_C) {
        snprintf(text, 32, "%lld ms", (long long)wait_ms);
    } else {
        snprintf(text, 32, "%.12g s", (double)wait_ms / 1000);
    }
    return text;
}

/* NOT_REPLICATED: says how many replicas acknowledged the grant, which was given back, or that it was not on disk. */
static int not_replicated(const struct client *client, const struct request *request, const char *verb,
                          const char *names) {
    const struct engine_settings *settings = &client->engine.settings;
    char within[32];
    shown_wait(client, settings->replica_timeout_ms, within);
    int64_t replicas = request->operation.acknowledged;
    if (replicas >= settings->min_replicas) {
        return fail_with(REDLATCH_NOT_REPLICATED, "%s %s: the server did not have it on disk within %s", verb, names,
                         within);
    }
    return fail_with(REDLATCH_NOT_REPLICATED, "%s %s: acknowledged by %lld of %u replicas within %s", verb, names,
                     (long long)replicas, settings->min_replicas, within);
}

/* Returns the connection that the request waited for last, or the client's first without a request. */
static const struct connection *connection_of(const struct client *client, const struct request *request) {
    return &(request ? drive_io(request) : client->node.ios)->connection;
}

enum { WHERE_SIZE = 640 };

/* Writes which server did not reply: the detail of a connection that broke, or the address of one that is open. With
 * sentinels it adds the service, since the URL has no address of the master. */
static const char *who_is_silent(const struct client *client, const struct connection *connection, const char *detail,
                                 char text[WHERE_SIZE]) {
    const char *service = client->uri.service;
    char address[120];
    connection_describe(connection->settings, address, sizeof address);
    int size = snprintf(text, WHERE_SIZE, "%s", *detail ? detail : address);
    if (service) {
        snprintf(text + size, WHERE_SIZE - (size_t)size, "%s the master of \"%.80s\"", *detail ? "; it was" : ",",
                 service);
    }
    return text;
}

int request_failed_of(const struct client *client, const struct request *request, const char *verb, const char *names,
                      int status) {
    if (status == REDLATCH_INTERNAL && client->engine.broken) {
        return fail_broken(client);
    }
    if (status == REDLATCH_LOST && request && request->operation.reason) {
        return lost(request, verb, names);
    }
    if (status == REDLATCH_WRONG_TYPE && request && request->finding) {
        return wrong_type(client, request->finding, verb, names);
    }
    if (status == REDLATCH_NOT_FOUND) {
        return fail_with(status, "%s %s: %s; expected %s", verb, names, redlatch_strerror(status),
                         ways_to_make[client->language]);
    }
    if (status == REDLATCH_NOT_REPLICATED && request) {
        return not_replicated(client, request, verb, names);
    }
    const char *detail = "";
    bool replied = status == REDLATCH_NO_PERMISSION || status == REDLATCH_SERVER || status == REDLATCH_UNSUPPORTED ||
                   status == REDLATCH_NOT_WRITABLE;
    if (replied && request && request->answer.error_text[0]) {
        detail = request->answer.error_text;
        if (!client->cluster && is_redirection(detail, strlen(detail))) {
            return fail_with(status,
                             "%s %s: %s (the server is one node of a cluster: expected redis+cluster:// in the URL)",
                             verb, names, redlatch_strerror(status));
        }
    } else if (status_has_detail(status)) {
        detail = connection_of(client, request)->detail;
    }
    char where[WHERE_SIZE];
    if (status == REDLATCH_NO_REPLY) {
        detail = who_is_silent(client, connection_of(client, request), detail, where);
    }
    if (detail[0]) {
        return fail_with(status, "%s %s: %s (%s)", verb, names, redlatch_strerror(status), detail);
    }
    return fail_with(status, "%s %s: %s", verb, names, redlatch_strerror(status));
}

int request_failed(const struct client *client, const struct request *request, const char *verb, const char *name,
                   size_t size, int status) {
    char shown[64];
    char quoted[68];
    snprintf(quoted, sizeof quoted, "\"%s\"", shown_name(name, size, shown));
    return request_failed_of(client, request, verb, quoted, status);
}

/* Writes ` (label "nightly", process 12 on web-3)`, without a label that is not known. An unknown process gives an
 * empty text. */
static void show_location(const struct process_location *location, char text[200]) {
    char host[64];
    char label[64];
    shown_name(location->host, strlen(location->host), host);
    shown_name(location->label, strlen(location->label), label);
    bool labelled = location->label[0];
    text[0] = '\0';
    if (location->pid) {
        snprintf(text, 200, " (%s%s%sprocess %lld on %s)", labelled ? "label \"" : "", label, labelled ? "\", " : "",
                 (long long)location->pid, host);
    }
}

/* TIMEOUT: says what kept the call waiting, and who holds the lock if an explanation found it. */
static int timed_out(const struct resource *resource, const struct request *request, const char *verb,
                     int64_t wait_ms) {
    const struct finding *finding = request->finding;
    char shown[64];
    char wait[32];
    char where[200];
    char others[40] = "";
    shown_name(resource->name, resource->name_size, shown);
    if (wait_ms == 0) {
        return fail_with(REDLATCH_TIMEOUT, "%s \"%s\": %s", verb, shown, hindrance_of(resource, &request->operation));
    }
    shown_wait(request->client, wait_ms, wait);
    if (request->operation.unanswered) {
        return fail_with(REDLATCH_TIMEOUT, "%s \"%s\": no reply from the server during the wait of %s", verb, shown,
                         wait);
    }
    if (!finding || !finding->owner[0]) {
        return fail_with(REDLATCH_TIMEOUT, "%s \"%s\": %s during the wait of %s", verb, shown,
                         hindrance_of(resource, &request->operation), wait);
    }
    char owner[64];
    shown_name(finding->owner, strlen(finding->owner), owner);
    show_location(&finding->location, where);
    if (finding->holders > 1) {
        snprintf(others, sizeof others, " and %llu more", (unsigned long long)finding->holders - 1);
    }
    return fail_with(REDLATCH_TIMEOUT, "%s \"%s\": held by another owner during the wait of %s, now by %s%s%s", verb,
                     shown, wait, owner, where, others);
}

int resource_request_failed(const struct resource *resource, const struct request *request, const char *verb,
                            int status, int64_t wait_ms) {
    if (status == REDLATCH_TIMEOUT) {
        return timed_out(resource, request, verb, wait_ms);
    }
    return request_failed(request->client, request, verb, resource->name, resource->name_size, status);
}

enum { NAMES_SHOWN = 3, NAMES_SIZE = NAMES_SHOWN * 72 };

/* The names of a set: `"a", "b", "c" and 2 more`. */
static const char *shown_names(const struct name_set *set, char text[NAMES_SIZE]) {
    int size = 0;
    for (uint32_t i = 0; i < set->count && i < NAMES_SHOWN; i++) {
        const struct resource *name = set->members[i].resource;
        char shown[64];
        shown_name(name->name, name->name_size, shown);
        size += snprintf(text + size, NAMES_SIZE - (size_t)size, "%s\"%s\"", i > 0 ? ", " : "", shown);
    }
    if (set->count > NAMES_SHOWN) {
        snprintf(text + size, NAMES_SIZE - (size_t)size, " and %u more", set->count - NAMES_SHOWN);
    }
    return text;
}

/* Returns the member that a failure is about, or the count of the members if it is about all. */
static uint32_t blamed_member(const struct operation *operation) {
    const struct name_set *set = operation->set;
    if (operation->status == REDLATCH_TIMEOUT || set->count == 1) {
        return operation->contended_member;
    }
    for (uint32_t i = 0; operation->status == REDLATCH_LOST && i < set->count; i++) {
        const struct set_member *member = &set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, operation->owner);
        if (hold && hold->stage == HOLD_GONE) {
            return i;
        }
    }
    return set->count;
}

int operation_failed(const struct request *request, int64_t wait_ms) {
    const struct operation *operation = &request->operation;
    const struct name_set *set = operation->set;
    const char *verb = verb_of(operation);
    if (!set) {
        return resource_request_failed(operation->resource, request, verb, operation->status, wait_ms);
    }
    uint32_t member = blamed_member(operation);
    for (uint32_t i = 0; request->finding && i < set->count; i++) {
        member = set->members[i].resource == request->finding->resource ? i : member;
    }
    if (member < set->count) {
        return resource_request_failed(set->members[member].resource, request, verb, operation->status, wait_ms);
    }
    char names[NAMES_SIZE];
    return request_failed_of(request->client, request, verb, shown_names(set, names), operation->status);
}
