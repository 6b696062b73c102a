/* Error replies by their error code, or else by phrases in their text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "error_reply.h"

#include <string.h>

#include "planted.h"
#include "records.h"

static const struct {
    const char *code;
    int status;
    bool transient;
} error_codes[] = {
    {"NOSCRIPT", REDLATCH_SERVER, true},
    {"WRONGTYPE", REDLATCH_WRONG_TYPE, false},
    {"READONLY", REDLATCH_READ_ONLY, true},
    {"OOM", REDLATCH_SERVER_OUT_OF_MEMORY, true},
    {"LOADING", REDLATCH_LOADING, true},
    {"BUSY", REDLATCH_SERVER_BUSY, true},
    {"NOAUTH", REDLATCH_AUTHENTICATION, false},
    {"WRONGPASS", REDLATCH_AUTHENTICATION, false},
    {"NOPERM", REDLATCH_NO_PERMISSION, false},
    {"MASTERDOWN", REDLATCH_NOT_WRITABLE, true},
    {"NOREPLICAS", REDLATCH_NOT_WRITABLE, true},
    {"MISCONF", REDLATCH_NOT_WRITABLE, true},
    {"TRYAGAIN", REDLATCH_NOT_WRITABLE, true},
    {"CLUSTERDOWN", REDLATCH_NOT_WRITABLE, true},
    {"MOVED", REDLATCH_UNSUPPORTED, false}, /* a client without a cluster follows no redirections */
    {"ASK", REDLATCH_UNSUPPORTED, false},
    {"NOTREPLICATED", REDLATCH_NOT_REPLICATED, true}, /* our own: acknowledgement.c */
};

static const char *find(const char *text, size_t size, const char *part) {
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(text + i, part, length) == 0) {
            return text + i;
        }
    }
    return NULL;
}

static bool begins_with_code(const char *text, size_t size, const char *code) {
    size_t length = strlen(code);
    return size >= length && memcmp(text, code, length) == 0 && (size == length || text[length] == ' ');
}

bool is_redirection(const char *text, size_t size) {
    return begins_with_code(text, size, "MOVED") || begins_with_code(text, size, "ASK");
}

/* Redis 6 wraps an error raised inside a script: "ERR Error running script (call to f_<sha>): @user_script:<line>:
 * WRONGTYPE ...". If the server refused a command of the script, it states the line twice: "...: @user_script:3:
 * @user_script: 3: -READONLY ...". A script that returns such an error itself returns the second part alone. Returns
 * where the inner error begins, or `text` if it is not wrapped. */
static const char *inner_error(const char *text, size_t size) {
    static const char mark[] = "@user_script:";
    bool unwrapped = size >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0;
    bool wraps = begins_with_code(text, size, "ERR") && find(text, size, "Error running script");
    const char *at = unwrapped ? text : wraps ? find(text, size, mark) : NULL;
    if (!at) {
        return text;
    }
    const char *end = text + size;
    while ((size_t)(end - at) >= sizeof mark - 1 && memcmp(at, mark, sizeof mark - 1) == 0) {
        at += sizeof mark - 1;
        while (at < end && *at == ' ') {
            at++;
        }
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        while (at < end && (*at == ':' || *at == ' ' || *at == '-')) {
            at++;
        }
    }
    return at;
}

struct error_reply error_reply_of(const char *text, size_t size) {
    struct error_reply error = {.status = REDLATCH_SERVER};
    bool in_script = find(text, size, "script:") != NULL || find(text, size, "@user_script") != NULL;
    const char *inner = inner_error(text, size);
    size_t inner_size = size - (size_t)(inner - text);
    for (size_t i = 0; i < sizeof error_codes / sizeof error_codes[0]; i++) {
        if (begins_with_code(inner, inner_size, error_codes[i].code)) {
            error.status = error_codes[i].status;
            error.transient = error_codes[i].transient;
            error.no_script = i == 0;
            error.keys_separated = begins_with_code(inner, inner_size, "TRYAGAIN");
            if ((PLANTED(FAULT_TRYAGAIN_IS_FATAL) && error.keys_separated) ||
                (PLANTED(FAULT_CLUSTERDOWN_IS_FATAL) && begins_with_code(inner, inner_size, "CLUSTERDOWN"))) {
                error.transient = false;
            }
            /* may_have_executed stays false. Our scripts read before they write, so WRONGTYPE means that nothing was
             * written. If memory, role or replicas forbid writes, the server refuses the first write. */
            return error;
        }
    }
    if (find(text, size, "max number of clients")) {
        error.status = REDLATCH_TOO_MANY_CLIENTS;
        error.transient = true;
        return error;
    }
    if (find(text, size, "while the cluster is down")) { /* the node permits reads then, and so the script */
        error.status = REDLATCH_NOT_WRITABLE;
        error.transient = true;
        return error;
    }
    /* An undeclared key is on the other node of a slot that migrates. Redis 7.4 and Valkey 8 say "rehashing". */
    if (find(text, size, "non local key") || find(text, size, "during rehashing of the slot")) {
        error.status = REDLATCH_NOT_WRITABLE;
        error.transient = !PLANTED(FAULT_NON_LOCAL_IS_FATAL);
        error.may_have_executed = true;
        error.keys_separated = true;
        return error;
    }
    if (find(text, size, "ACL failure") || find(text, size, "can't run this command") ||
        find(text, size, "can't access") || find(text, size, "can't publish") || find(text, size, "No permissions")) {
        error.status = REDLATCH_NO_PERMISSION;
    }
    error.may_have_executed = in_script || error.status == REDLATCH_NO_PERMISSION;
    if (find(text, size, "appendonly is disabled") || find(text, size, "unknown command 'WAITAOF'") ||
        find(text, size, "unknown command `WAITAOF`")) { /* no append-only file, or older than Redis 7.2 */
        error.status = REDLATCH_UNSUPPORTED;
        return error;
    }
    if (!in_script && begins_with_code(text, size, "ERR") && find(text, size, "unknown command")) {
        error.status = REDLATCH_NO_PERMISSION;
        error.may_have_executed = false;
    }
    return error;
}

bool refuses_names(const struct reply *reply, struct error_reply error) {
    return reply->kind == REPLY_ERROR && !error.transient && error.status != REDLATCH_AUTHENTICATION;
}

struct error_reply error_of_reply(const struct reply *reply) {
    struct error_reply error = {.status = REDLATCH_PROTOCOL};
    if (reply->kind == REPLY_ERROR) {
        error = error_reply_of(reply->text, reply->size);
        error.may_have_executed = error.may_have_executed || reply->acknowledgement;
    }
    return error;
}
