/* Error replies by their first word.
 * SPDX-License-Identifier: Apache-2.0 */
#include "refusal.h"

#include <string.h>

#include "records.h"

static const struct {
    const char *word;
    int status;
    bool passing;
} words[] = {
    {"NOSCRIPT", REDLATCH_SERVER, true},
    {"WRONGTYPE", REDLATCH_WRONG_TYPE, false},
    {"READONLY", REDLATCH_READ_ONLY, false},
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

static bool begins_with_word(const char *text, size_t size, const char *word) {
    size_t length = strlen(word);
    return size >= length && memcmp(text, word, length) == 0 && (size == length || text[length] == ' ');
}

/* Redis 6 wraps an error raised inside a script: "ERR Error running script (call to f_<sha>): @user_script:<line>:
 * WRONGTYPE ...", and names the place a second time when it refused the command itself: "...: @user_script:3:
 * @user_script: 3: -READONLY ...". Returns where the inner error begins, or the text itself. */
static const char *inner_error(const char *text, size_t size) {
    static const char mark[] = "@user_script:";
    const char *at = begins_with_word(text, size, "ERR") ? find(text, size, mark) : NULL;
    if (!at || !find(text, size, "Error running script")) {
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

struct refusal refusal_of(const char *text, size_t size) {
    struct refusal refusal = {REDLATCH_SERVER, false, false, false};
    bool in_script = find(text, size, "script:") != NULL || find(text, size, "@user_script") != NULL;
    const char *inner = inner_error(text, size);
    size_t inner_size = size - (size_t)(inner - text);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (begins_with_word(inner, inner_size, words[i].word)) {
            refusal.status = words[i].status;
            refusal.passing = words[i].passing;
            refusal.no_script = i == 0;
            /* Our scripts read first, so a wrong type has written nothing; the writes that memory, role or replicas
             * refuse are refused at the first write. */
            return refusal;
        }
    }
    if (find(text, size, "max number of clients")) {
        refusal.status = REDLATCH_TOO_MANY_CLIENTS;
        refusal.passing = true;
        return refusal;
    }
    if (find(text, size, "ACL failure") || find(text, size, "can't run this command") ||
        find(text, size, "can't access") || find(text, size, "No permissions")) {
        refusal.status = REDLATCH_NO_PERMISSION;
    }
    refusal.may_have_run = in_script || refusal.status == REDLATCH_NO_PERMISSION;
    if (!in_script && begins_with_word(text, size, "ERR") && find(text, size, "unknown command")) {
        refusal.status = REDLATCH_NO_PERMISSION;
        refusal.may_have_run = false;
    }
    return refusal;
}

struct refusal refusal_of_reply(const struct reply *reply) {
    const struct refusal no_protocol = {.status = REDLATCH_PROTOCOL};
    return reply->kind == REPLY_ERROR ? refusal_of(reply->text, reply->size) : no_protocol;
}
