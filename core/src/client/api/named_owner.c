/* Releasing and extending what an owner of any process holds: the owner is named by its id on the server.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "errors.h"
#include "inquiry.h"
#include "lock.h"
#include "options.h"
#include "wire.h"

/* The scripts by which a hold of a kind is released and extended, and what they get. Keys: N name, Q queue and Z
 * time-outs of a fair lock, A this client's heartbeat there. Arguments: o owner, W its field as a writer, C channel,
 * l lease in ms, t fair time-out in ms, b base of the timeout keys of readers; a digit stands for itself. */
struct named_scripts {
    enum script_id release;
    enum script_id extend;
    const char *release_keys;
    const char *release_arguments;
    const char *extend_arguments; /* of the one key N */
};

static const struct named_scripts scripts_of_hash = {SCRIPT_RELEASE, SCRIPT_EXTEND, "N", "o0C", "ol"};

static const struct named_scripts *scripts_of(int kind) {
    static const struct named_scripts fair = {SCRIPT_RELEASE_FAIR, SCRIPT_EXTEND, "NQZA", "o00tC", "ol"};
    static const struct named_scripts plain = {SCRIPT_RELEASE_PLAIN, SCRIPT_EXTEND_PLAIN, "N", "oC", "ol"};
    static const struct named_scripts read = {SCRIPT_RELEASE_READ, SCRIPT_EXTEND_READ, "N", "o0Cb", "oo1lb"};
    static const struct named_scripts write = {SCRIPT_RELEASE_WRITE, SCRIPT_EXTEND_WRITE, "N", "W0Cb", "WW1lb"};
    switch (kind) {
    case REDLATCH_FAIR:
        return &fair;
    case REDLATCH_PLAIN:
        return &plain;
    case REDLATCH_READ:
        return &read;
    case REDLATCH_WRITE:
        return &write;
    default:
        return &scripts_of_hash;
    }
}

/* What the arguments are made from. */
struct named_owner {
    const struct redlatch_lock *lock;
    const char *owner;
    int64_t lease_ms;
};

/* Adds one argument in new memory; its text is NULL without. */
static void add_parts(struct inquiry *inquiry, const struct argument_part *parts, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += parts[i].size;
    }
    char *text = malloc(size + 1);
    char *end = text;
    for (size_t i = 0; text && i < count; i++) {
        memcpy(end, parts[i].text, parts[i].size);
        end += parts[i].size;
    }
    inquiry->arguments[inquiry->question.argument_count++] = (struct argument_part){text, size};
}

static void add_text(struct inquiry *inquiry, const char *text, const char *suffix) {
    struct argument_part parts[] = {{text, strlen(text)}, {suffix, strlen(suffix)}};
    add_parts(inquiry, parts, 2);
}

static void add_number(struct inquiry *inquiry, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    add_text(inquiry, text, "");
}

/* A prefix, the name in braces unless it has some itself, and a suffix (wire format 1.2). */
static void add_derived(struct inquiry *inquiry, const struct resource *resource, const char *prefix,
                        const char *suffix) {
    size_t brace = memchr(resource->name, '{', resource->name_size) ? 0 : 1;
    struct argument_part parts[] = {{prefix, strlen(prefix)},
                                    {"{", brace},
                                    {resource->name, resource->name_size},
                                    {"}", brace},
                                    {suffix, strlen(suffix)}};
    add_parts(inquiry, parts, sizeof parts / sizeof parts[0]);
}

static void add_letter(struct inquiry *inquiry, const struct named_owner *named, char letter) {
    const struct resource *resource = named->lock->resource;
    const struct engine *engine = &named->lock->client->engine;
    struct argument_part parts[4] = {{resource->name, resource->name_size}};
    char heartbeat[40];
    switch (letter) {
    case 'N':
        add_parts(inquiry, parts, 1);
        break;
    case 'Q':
        add_derived(inquiry, resource, "redisson_lock_queue:", "");
        break;
    case 'Z':
        add_derived(inquiry, resource, "redisson_lock_timeout:", "");
        break;
    case 'A':
        snprintf(heartbeat, sizeof heartbeat, ":%.36s", engine->uuid);
        add_derived(inquiry, resource, "redlatch_waiting:", heartbeat);
        break;
    case 'o':
        add_text(inquiry, named->owner, "");
        break;
    case 'W':
        add_text(inquiry, named->owner, ":write");
        break;
    case 'C':
        channel_parts(resource, parts);
        add_parts(inquiry, parts, 4);
        break;
    case 'l':
        add_number(inquiry, named->lease_ms);
        break;
    case 't':
        add_number(inquiry, engine->settings.fair_timeout_ms);
        break;
    case 'b':
        add_derived(inquiry, resource, "", "");
        break;
    default:
        add_text(inquiry, (char[]){letter, '\0'}, "");
        break;
    }
}

/* The script as EVAL has it, which needs no copy of it on the server. false without memory. */
static bool fill(struct inquiry *inquiry, const struct named_owner *named, enum script_id script, const char *keys,
                 const char *arguments) {
    inquiry->question.plain = true;
    inquiry->subject = (struct argument_part){named->lock->resource->name, named->lock->resource->name_size};
    add_text(inquiry, "EVAL", "");
    add_text(inquiry, scripts_embedded[script].text, "");
    add_number(inquiry, (int64_t)strlen(keys));
    for (const char *letter = keys; *letter; letter++) {
        add_letter(inquiry, named, *letter);
    }
    for (const char *letter = arguments; *letter; letter++) {
        add_letter(inquiry, named, *letter);
    }
    for (uint32_t i = 0; i < inquiry->question.argument_count; i++) {
        if (!inquiry->arguments[i].text) {
            return false;
        }
    }
    return true;
}

static uint64_t resends_of(const struct redlatch_lock *lock) {
    client_lock(lock->client);
    uint64_t resends = lock->client->engine.stats.resends;
    client_unlock(lock->client);
    return resends;
}

/* Sends the script. A repeat after a broken connection finds what the first time left: then that the owner holds
 * nothing may be this call's own doing. */
static int execute(const struct named_owner *named, struct inquiry *inquiry, int32_t *done_out) {
    uint64_t resends = resends_of(named->lock);
    int status = inquiry_execute(named->lock->client, inquiry);
    bool none = status == REDLATCH_OK && inquiry->size == 1 && inquiry->text[0] == '0';
    if (none && named->lease_ms == 0 && resends_of(named->lock) != resends) {
        return fail_with(REDLATCH_NO_REPLY,
                         "release the hold of %s: the connection broke before the reply, and now there is no such hold",
                         named->owner);
    }
    if (status == REDLATCH_OK && done_out) {
        *done_out = !none;
    }
    return status;
}

static int check_named(const struct redlatch_lock *lock, const char *owner) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!owner || !*owner) {
        return fail_with(REDLATCH_INVALID, "owner is %s: expected an owner id as a report has it",
                         owner ? "empty" : "NULL");
    }
    if (lock->composite || lock->set || lock->kind == REDLATCH_GROUP) {
        return fail_with(REDLATCH_UNSUPPORTED, "the lock has several names or values: expected a lock of one name");
    }
    return REDLATCH_OK;
}

static int send_script(const struct named_owner *named, const char *verb, enum script_id script, const char *keys,
                       const char *arguments, int32_t *done_out) {
    struct inquiry inquiry = {.verb = verb};
    int status = fill(&inquiry, named, script, keys, arguments) ? execute(named, &inquiry, done_out)
                                                                : fail_plain(REDLATCH_NO_MEMORY);
    for (uint32_t i = 0; i < inquiry.question.argument_count; i++) {
        free((char *)(uintptr_t)inquiry.arguments[i].text);
    }
    free(inquiry.text);
    return status;
}

int redlatch_lock_release_owner(redlatch_lock *lock, const char *owner, int32_t *released_out) {
    int status = check_named(lock, owner);
    if (status != REDLATCH_OK) {
        return status;
    }
    const struct named_scripts *scripts = scripts_of(lock->kind);
    struct named_owner named = {lock, owner, 0};
    return send_script(&named, "release", scripts->release, scripts->release_keys, scripts->release_arguments,
                       released_out);
}

int redlatch_lock_extend_owner(redlatch_lock *lock, const char *owner, int64_t lease_ms, int32_t *extended_out) {
    int status = check_named(lock, owner);
    if (status != REDLATCH_OK || (status = check_duration("lease_ms", lease_ms, 1, false)) != REDLATCH_OK) {
        return status;
    }
    const struct named_scripts *scripts = scripts_of(lock->kind);
    struct named_owner named = {lock, owner, lease_ms};
    return send_script(&named, "extend", scripts->extend, "N", scripts->extend_arguments, extended_out);
}
