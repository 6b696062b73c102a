/* Status codes in words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redlatch.h"

struct status_facts {
    const char *name;
    const char *sentence;
    int retryable;
    int ambiguous;
};

/* Sentences that are too long for their row. */
static const char WOULD_DEADLOCK[] = "the owner holds the read lock; waiting for the write lock would deadlock";
static const char FORKED[] = "it belongs to the parent process; open a client in this one";

/* One row for each code. There is no default, so with -Werror=switch a code that is forgotten here does not compile. */
static struct status_facts facts_of(enum redlatch_status status) {
    switch (status) {
    case REDLATCH_OK:
        return (struct status_facts){"ok", "done", 0, 0};
    case REDLATCH_TIMEOUT:
        return (struct status_facts){"timeout", "not available before the timeout", 1, 0};
    case REDLATCH_NOT_OWNED:
        return (struct status_facts){"not_owned", "this owner does not hold the lock", 0, 0};
    case REDLATCH_LOST:
        return (struct status_facts){"lost", "the lock was held and has been lost", 0, 0};
    case REDLATCH_CANCELLED:
        return (struct status_facts){"cancelled", "the wait was cancelled", 1, 0};
    case REDLATCH_AGAIN:
        return (struct status_facts){"again", "not done yet; call again", 1, 0};
    case REDLATCH_UNCLAIMED:
        return (struct status_facts){"unclaimed", "granted, but its event was not collected in time; released", 1, 0};
    case REDLATCH_ALREADY_HELD:
        return (struct status_facts){"already_held", "the owner holds the lock already, which is not reentrant", 0, 0};
    case REDLATCH_WOULD_DEADLOCK:
        return (struct status_facts){"would_deadlock", WOULD_DEADLOCK, 0, 0};
    case REDLATCH_NOT_FOUND:
        return (struct status_facts){"not_found", "nobody made the semaphore", 1, 0};
    case REDLATCH_INVALID:
        return (struct status_facts){"invalid", "an argument is out of range", 0, 0};
    case REDLATCH_CLOSED:
        return (struct status_facts){"closed", "the client is closed", 0, 0};
    case REDLATCH_FORKED:
        return (struct status_facts){"forked", FORKED, 0, 0};
    case REDLATCH_BAD_HANDLE:
        return (struct status_facts){"bad_handle", "the handle is NULL, freed or of another type", 0, 0};
    case REDLATCH_UNSUPPORTED:
        return (struct status_facts){"unsupported", "this version or the server does not support it", 0, 0};
    case REDLATCH_IN_USE:
        return (struct status_facts){"in_use", "in use by another call", 0, 0};
    case REDLATCH_UNREACHABLE:
        return (struct status_facts){"unreachable", "the server cannot be reached", 1, 0};
    case REDLATCH_NO_REPLY:
        return (struct status_facts){"no_reply", "the server did not answer in time", 1, 1};
    case REDLATCH_PROTOCOL:
        return (struct status_facts){"protocol", "the peer is not a Redis server", 0, 1};
    case REDLATCH_SERVER:
        return (struct status_facts){"server", "the server returned an error", 0, 1};
    case REDLATCH_WRONG_TYPE:
        return (struct status_facts){"wrong_type", "the key is not a lock of this kind", 0, 0};
    case REDLATCH_READ_ONLY:
        return (struct status_facts){"read_only", "the server is a read-only replica", 0, 0};
    case REDLATCH_SERVER_OUT_OF_MEMORY:
        return (struct status_facts){"server_out_of_memory", "the server is out of memory", 1, 0};
    case REDLATCH_LOADING:
        return (struct status_facts){"loading", "the server is loading its data", 1, 0};
    case REDLATCH_SERVER_BUSY:
        return (struct status_facts){"server_busy", "the server is busy running a script", 1, 0};
    case REDLATCH_AUTHENTICATION:
        return (struct status_facts){"authentication", "no or wrong user name, password or certificate", 0, 0};
    case REDLATCH_NO_PERMISSION:
        return (struct status_facts){"no_permission", "the server's access rules forbid it", 0, 0};
    case REDLATCH_TOO_MANY_CLIENTS:
        return (struct status_facts){"too_many_clients", "the server has too many clients", 1, 0};
    case REDLATCH_NOT_WRITABLE:
        return (struct status_facts){"not_writable", "the server does not accept writes for now", 1, 0};
    case REDLATCH_NOT_REPLICATED:
        return (struct status_facts){"not_replicated", "not acknowledged in time", 1, 1};
    case REDLATCH_NO_MEMORY:
        return (struct status_facts){"no_memory", "out of memory", 1, 0};
    case REDLATCH_SYSTEM:
        return (struct status_facts){"system", "a system call failed", 1, 0};
    case REDLATCH_INTERNAL:
        return (struct status_facts){"internal", "internal error: a bug in redlatch", 0, 0};
    }
    return (struct status_facts){"unknown", "unknown status", 0, 0};
}

const char *redlatch_reason_name(int reason) {
    switch ((enum redlatch_reason)reason) {
    case REDLATCH_REASON_NONE:
        return "none";
    case REDLATCH_REASON_EXPIRED:
        return "expired";
    case REDLATCH_REASON_MISSING:
        return "missing";
    case REDLATCH_REASON_MAX_HOLD:
        return "max_hold";
    case REDLATCH_REASON_ABANDONED:
        return "abandoned";
    }
    return "unknown";
}

const char *redlatch_strerror(int status) {
    return facts_of((enum redlatch_status)status).sentence;
}

const char *redlatch_status_name(int status) {
    return facts_of((enum redlatch_status)status).name;
}

int redlatch_status_is_retryable(int status) {
    return facts_of((enum redlatch_status)status).retryable;
}

int redlatch_status_is_ambiguous(int status) {
    return facts_of((enum redlatch_status)status).ambiguous;
}
