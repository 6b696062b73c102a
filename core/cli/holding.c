/* What `run` holds. The handle of a lock knows the state of its hold; for permits this file records what it needs.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "holding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"
#include "signals.h"

static int taken(const struct holding *holding) {
    return holding->options->permits ? holding->options->permits : 1;
}

char *join_texts(char *const *texts, size_t count, const char *between) {
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += strlen(texts[i]) + strlen(between);
    }
    char *joined = malloc(size);
    char *end = joined;
    for (size_t i = 0; joined && i < count; i++) {
        end = stpcpy(stpcpy(end, i ? between : ""), texts[i]);
    }
    return joined;
}

/* ------------------------------------------------------------------------------------------------------ opening -- */

static int64_t lease_of(const struct run_options *options) {
    return options->fixed_lease_ms ? options->fixed_lease_ms : REDLATCH_RENEWED;
}

static int open_locks(struct holding *holding) {
    const struct run_options *options = holding->options;
    redlatch_lock_options lock_options;
    redlatch_lock_options_init(&lock_options, sizeof lock_options);
    lock_options.max_hold_ms = options->max_hold_ms;
    lock_options.lease_ms = lease_of(options);
    lock_options.key_template = options->key_template;
    lock_options.key_template_size = options->key_template ? strlen(options->key_template) : 0;
    holding->members = calloc(options->name_count, sizeof(redlatch_lock *));
    if (!holding->members) {
        return REDLATCH_NO_MEMORY;
    }
    for (size_t i = 0; i < options->name_count; i++) {
        const char *name = options->names[i];
        int status = redlatch_lock_new(holding->client, options->kind, name, strlen(name), &lock_options,
                                       &holding->members[i]);
        if (status != REDLATCH_OK) {
            return status;
        }
    }
    if (options->name_count == 1) {
        holding->lock = holding->members[0];
        return REDLATCH_OK;
    }
    lock_options.key_template = NULL; /* the members have it */
    lock_options.key_template_size = 0;
    return redlatch_multi_lock_new(holding->members, options->name_count, &lock_options, &holding->lock);
}

int holding_open(struct holding *holding, const struct run_options *options, redlatch_client *client) {
    *holding = (struct holding){.options = options, .client = client};
    holding->shown = join_texts(options->names, options->name_count, "\", \"");
    if (!holding->shown) {
        return REDLATCH_NO_MEMORY;
    }
    const char *name = options->names[0];
    redlatch_semaphore_options of_semaphore;
    redlatch_semaphore_options_init(&of_semaphore, sizeof of_semaphore);
    of_semaphore.limit = options->limit;
    of_semaphore.must_exist = options->limit == 0;
    switch (options->kind) {
    case REDLATCH_SEMAPHORE:
        return redlatch_semaphore_new(client, name, strlen(name), &of_semaphore, &holding->semaphore);
    case REDLATCH_PERMIT_SEMAPHORE:
        return redlatch_permit_semaphore_new(client, name, strlen(name), &of_semaphore, &holding->permits);
    default:
        return open_locks(holding);
    }
}

void holding_close(struct holding *holding) {
    bool one = holding->members && holding->lock == holding->members[0];
    redlatch_lock_free(one ? NULL : holding->lock);
    for (size_t i = 0; holding->members && i < holding->options->name_count; i++) {
        redlatch_lock_free(holding->members[i]);
    }
    free(holding->members);
    redlatch_semaphore_free(holding->semaphore);
    redlatch_permit_semaphore_free(holding->permits);
    free(holding->shown);
}

/* ---------------------------------------------------------------------------------------------------- acquiring -- */

static int take_permits(struct holding *holding, int64_t wait_ms, redlatch_cancel *cancel) {
    if (holding->semaphore) {
        return redlatch_semaphore_acquire(holding->semaphore, taken(holding), wait_ms, cancel);
    }
    return redlatch_permit_semaphore_acquire(holding->permits, taken(holding), lease_of(holding->options), wait_ms,
                                             cancel, &holding->serial);
}

static bool is_set_to(const char *variable, const char *text) {
    const char *value = getenv(variable);
    return value && text ? strcmp(value, text) == 0 : value == text;
}

static bool is_line_of(const char *lines, const char *name) {
    size_t size = strlen(name);
    for (const char *line = lines; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, size) == 0 && (line[size] == '\n' || line[size] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Returns the first name that the `run` around this one holds, too, by its environment variables. Returns NULL if there
 * is none. */
static const char *name_from_around(const struct run_options *options) {
    bool same_server = server_is_of_run(&options->server) && is_set_to("REDLATCH_KEY_TEMPLATE", options->key_template);
    for (size_t i = 0; same_server && i < options->name_count; i++) {
        if (is_line_of(getenv("REDLATCH_LOCK"), options->names[i])) {
            return options->names[i];
        }
    }
    return NULL;
}

/* A `run` inside a `run` is another owner. The inner one waits for the lock of the outer one, which may wait for the
 * inner one to end. */
static void warn_of(const char *name) {
    notice("the redlatch run that runs this one holds \"%s\" as another owner: this wait may never end", name);
}

/* Prints a notice if the semaphore has another size than --limit. One that existed before keeps its size. */
static void compare_limit(const struct holding *holding) {
    int limit = holding->options->limit;
    int64_t size = 0;
    if (holding->permits) {
        if (redlatch_permit_semaphore_permits(holding->permits, &size) == REDLATCH_OK && size != limit) {
            notice("\"%s\" has %lld permits, not %d: --limit makes a semaphore only where there is none",
                   holding->shown, (long long)size, limit);
        }
    } else if (redlatch_semaphore_available(holding->semaphore, &size) == REDLATCH_OK &&
               size + taken(holding) > limit) {
        notice("\"%s\" has at least %lld permits, more than %d: --limit makes a semaphore only where there is none",
               holding->shown, (long long)size + taken(holding), limit);
    }
}

static int acquire(struct holding *holding, int64_t wait_ms, redlatch_cancel *cancel) {
    return holding->lock ? redlatch_lock_acquire_as(holding->lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, cancel)
                         : take_permits(holding, wait_ms, cancel);
}

/* If the `run` around this one holds one of the names, tries first without waiting: a reader is granted beside another
 * reader, and no warning is due then. */
static int acquire_beside_run(struct holding *holding, redlatch_cancel *cancel) {
    int64_t wait_ms = holding->options->wait_ms;
    const char *around = wait_ms ? name_from_around(holding->options) : NULL;
    int status = acquire(holding, around ? 0 : wait_ms, cancel);
    if (around && status == REDLATCH_TIMEOUT) {
        warn_of(around);
        status = acquire(holding, wait_ms, cancel);
    }
    holding->since = clock_ms();
    return status;
}

/* Prints who holds a name that was not acquired in time. If no name has a holder now, or the user may not inspect them,
 * says that it was held. */
static void say_who_holds(const struct run_options *options, redlatch_client *client, const char *shown) {
    char wait[32];
    char gave_up[64] = "";
    text_duration(options->wait_ms, wait);
    if (options->wait_ms) {
        snprintf(gave_up, sizeof gave_up, "gave up after %s: ", wait);
    }
    bool done = false;
    for (size_t i = 0; !done && i < options->name_count; i++) {
        done = found_say_holder(client, options->names[i], options->key_template, gave_up);
    }
    if (!done) {
        bool counts = options->kind == REDLATCH_SEMAPHORE || options->kind == REDLATCH_PERMIT_SEMAPHORE;
        notice("%s\"%s\" %s", gave_up, shown, counts ? "has too few permits left" : "was held by another owner");
    }
}

bool holding_acquire_or_complain(struct holding *holding, redlatch_client *client, redlatch_cancel *cancel,
                                 int *status_out) {
    const struct run_options *options = holding->options;
    int64_t begun = clock_ms();
    int status = acquire_beside_run(holding, cancel);
    if (status == REDLATCH_NOT_FOUND) {
        *status_out = complain(STATUS_NO_LOCK, "there is no semaphore \"%s\": expected --limit, or one that exists",
                               holding->shown);
    } else if (status == REDLATCH_TIMEOUT) {
        if (!options->quiet) {
            say_who_holds(options, client, holding->shown);
        }
        *status_out = options->conflict_status;
    } else if (status == REDLATCH_CANCELLED) {
        *status_out = signals_ending(signals_end_requested());
    } else if (status != REDLATCH_OK) {
        *status_out = complain_of_wait(status);
    } else if (options->verbose) {
        notice("waited %lld ms", (long long)(clock_ms() - begun));
    }
    if (status == REDLATCH_OK && options->limit) {
        compare_limit(holding);
    }
    return status == REDLATCH_OK;
}

/* ------------------------------------------------------------------------------------------------ while it lasts -- */

static bool is_lost(int state) {
    return state != REDLATCH_HELD && state != REDLATCH_SUSPECT;
}

static bool inspect_permit(const struct holding *holding, int index, redlatch_permit *permit) {
    *permit = (redlatch_permit){.struct_size = sizeof *permit};
    return redlatch_permit_semaphore_permit_status(holding->permits, holding->serial + (uint64_t)index, permit) ==
           REDLATCH_OK;
}

bool holding_is_over(const struct holding *holding, int *reason_out) {
    if (holding->lock) {
        redlatch_hold hold = {.struct_size = sizeof hold};
        bool known = redlatch_lock_hold_status(holding->lock, 0, &hold) == REDLATCH_OK;
        *reason_out = hold.reason;
        return known && is_lost(hold.state);
    }
    for (int i = 0; holding->permits && i < taken(holding); i++) {
        redlatch_permit permit;
        if (inspect_permit(holding, i, &permit) && is_lost(permit.state)) {
            *reason_out = permit.reason;
            return true;
        }
    }
    *reason_out = REDLATCH_REASON_MAX_HOLD;
    return clock_ms() >= holding_end(holding);
}

const char *holding_lost_text(int reason) {
    switch (reason) {
    case REDLATCH_REASON_EXPIRED:
        return "its lease ran out without a renewal";
    case REDLATCH_REASON_MISSING:
        return "the server no longer knows of it";
    case REDLATCH_REASON_MAX_HOLD:
        return "--max-hold was reached";
    default:
        return "the reason is not known";
    }
}

int64_t holding_end(const struct holding *holding) {
    int64_t max_hold_ms = holding->options->max_hold_ms;
    return holding->lock || max_hold_ms == REDLATCH_FOREVER ? INT64_MAX : holding->since + max_hold_ms;
}

/* --------------------------------------------------------------------------------------------------- giving back -- */

/* Takes the status of setting a lease to `left_ms`. The hold was to last `before_ms` more. If that was longer than the
 * new lease, EXPIRED means that the new lease was over when the reply came: the hold lasted as long as it had to. */
static int status_of_leaving(int status, int64_t before_ms, int64_t left_ms) {
    bool over = status == REDLATCH_LOST && redlatch_last_reason() == REDLATCH_REASON_EXPIRED;
    return over && before_ms >= left_ms ? REDLATCH_OK : status;
}

static int leave_permit(const struct holding *holding, const redlatch_permit *permit, int64_t left_ms) {
    int status = redlatch_permit_semaphore_update_lease(holding->permits, permit->id, left_ms);
    return status_of_leaving(status, permit->remaining_ms, left_ms);
}

/* Releases each permit, or sets its lease if `left_ms` is not 0. Returns the first failure. Goes on after a loss, but
 * not if the server cannot be reached: each further call could wait as long as that one. */
static int for_each_permit(const struct holding *holding, int64_t left_ms) {
    int first_failure = REDLATCH_OK;
    int status = REDLATCH_OK;
    for (int i = 0; i < taken(holding) && status != REDLATCH_UNREACHABLE && status != REDLATCH_NO_REPLY; i++) {
        redlatch_permit permit;
        status = REDLATCH_INTERNAL;
        if (inspect_permit(holding, i, &permit)) {
            status = left_ms ? leave_permit(holding, &permit, left_ms)
                             : redlatch_permit_semaphore_release(holding->permits, permit.id);
        }
        first_failure = first_failure == REDLATCH_OK ? status : first_failure;
    }
    return first_failure;
}

int holding_release(struct holding *holding) {
    if (holding->lock) {
        return redlatch_lock_release(holding->lock);
    }
    return holding->semaphore ? redlatch_semaphore_release(holding->semaphore, taken(holding))
                              : for_each_permit(holding, 0);
}

int holding_leave(struct holding *holding, int64_t left_ms) {
    if (!holding->lock) {
        return for_each_permit(holding, left_ms);
    }
    redlatch_hold before = {.struct_size = sizeof before};
    redlatch_lock_hold_status(holding->lock, 0, &before);
    int status = redlatch_lock_extend(holding->lock, 0, left_ms);
    status = status_of_leaving(status, before.remaining_ms, left_ms);
    for (size_t i = 0; status != REDLATCH_LOST && i < holding->options->name_count; i++) {
        redlatch_lock_leave(holding->members[i], 0); /* a hold that is not left would be renewed until the end */
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------- owners -- */

/* Appends a text to a list. Returns false if there was no memory. */
static bool add_text(char **list, const char *between, const char *text) {
    char *longer = NULL;
    int size = asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? between : "", text);
    free(*list);
    *list = size < 0 ? NULL : longer;
    return *list != NULL;
}

static bool add_owner_of_lock(redlatch_lock *lock, const char *between, char **owners, char **tokens) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    char token[24];
    if (redlatch_lock_hold_status(lock, 0, &hold) != REDLATCH_OK) {
        return false;
    }
    snprintf(token, sizeof token, "%llu", (unsigned long long)hold.token);
    return add_text(owners, between, hold.owner) && (hold.token == 0 || add_text(tokens, between, token));
}

bool holding_owners(const struct holding *holding, const char *between, char **owners_out, char **tokens_out) {
    *owners_out = NULL;
    *tokens_out = NULL;
    bool good = true;
    for (size_t i = 0; good && holding->lock && i < holding->options->name_count; i++) {
        good = add_owner_of_lock(holding->members[i], between, owners_out, tokens_out);
    }
    for (int i = 0; good && holding->permits && i < taken(holding); i++) {
        redlatch_permit permit;
        good = inspect_permit(holding, i, &permit) && add_text(owners_out, between, permit.id);
    }
    return good;
}

/* ---------------------------------------------------------------------------------------------- from open to close --
 */

int run_with_holding(const struct run_options *options,
                     int (*act)(const struct run_options *options, redlatch_client *client, struct holding *holding,
                                redlatch_cancel *cancel)) {
    redlatch_client_options client_options;
    redlatch_client_options_init(&client_options, sizeof client_options);
    client_options.release_on_close = 0; /* `act` has released what is not to stay */
    if (options->lease_ms) {
        client_options.watchdog_lease_ms = options->lease_ms;
    }
    const char *label = getenv("REDLATCH_LABEL");
    client_options.label = options->label ? options->label : label && *label ? label : NULL;
    redlatch_client *client;
    int exit_status = open_client(&options->server, &client_options, &client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    struct holding holding;
    redlatch_cancel *cancel = NULL;
    int status = holding_open(&holding, options, client);
    if (status == REDLATCH_OK) {
        status = redlatch_cancel_new(&cancel);
    }
    exit_status = status == REDLATCH_OK ? act(options, client, &holding, cancel) : complain_of(status);
    signals_block(); /* no handler may use the cancel object any more */
    redlatch_cancel_free(cancel);
    holding_close(&holding);
    redlatch_client_free(client);
    return exit_status < 0 ? signals_die(-exit_status) : exit_status;
}
