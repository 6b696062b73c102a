/* Sizes, defaults and ranges of options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <string.h>

#include "errors.h"

enum { STRUCT_SIZE_MIN = 8, STRUCT_SIZE_MAX = 4096 };

static int check_size(uint32_t size, const char *what) {
    if (size < STRUCT_SIZE_MIN || size > STRUCT_SIZE_MAX) {
        return fail_with(REDLATCH_INVALID, "%s.struct_size is %u: expected sizeof the struct", what, size);
    }
    return REDLATCH_OK;
}

int options_read(void *options, size_t size, const void *from, const char *what) {
    uint32_t theirs;
    memcpy(&theirs, from, sizeof theirs);
    int status = check_size(theirs, what);
    if (status != REDLATCH_OK) {
        return status;
    }
    const unsigned char *bytes = from;
    for (size_t i = size; i < theirs; i++) {
        if (bytes[i] != 0) {
            return fail_with(REDLATCH_INVALID,
                             "%s has a field that this version does not know (byte %zu): expected zero", what, i);
        }
    }
    memcpy(options, from, theirs < size ? theirs : size);
    return REDLATCH_OK;
}

int answer_check(const void *to, const char *what) {
    if (!to) {
        return fail_with(REDLATCH_INVALID, "%s is NULL: expected a struct to fill", what);
    }
    uint32_t theirs;
    memcpy(&theirs, to, sizeof theirs);
    return check_size(theirs, what);
}

int answer_write(void *to, const void *answer, size_t size, const char *what) {
    int status = answer_check(to, what);
    if (status != REDLATCH_OK) {
        return status;
    }
    uint32_t theirs;
    memcpy(&theirs, to, sizeof theirs);
    if (theirs > size) {
        memset((unsigned char *)to + size, 0, theirs - size);
    }
    memcpy(to, answer, theirs < size ? theirs : size);
    memcpy(to, &theirs, sizeof theirs);
    return REDLATCH_OK;
}

int check_duration(const char *what, int64_t value_ms, int64_t low_ms, bool or_forever) {
    if ((or_forever && value_ms == REDLATCH_FOREVER) || (value_ms >= low_ms && value_ms <= DURATION_MAX_MS)) {
        return REDLATCH_OK;
    }
    return fail_with(REDLATCH_INVALID, "%s is %lld: expected %s%lld to %lld milliseconds", what, (long long)value_ms,
                     or_forever ? "-1 (for ever) or " : "", (long long)low_ms, (long long)DURATION_MAX_MS);
}

int check_flag(const char *what, int32_t value, bool has_meaning) {
    if (value == 0 || (value == 1 && has_meaning)) {
        return REDLATCH_OK;
    }
    return fail_with(REDLATCH_INVALID, "%s is %d: expected 0%s", what, (int)value, has_meaning ? " or 1" : "");
}

/* Fills an options struct of the caller's size with the defaults. */
static int init(void *options, uint32_t struct_size, void *defaults, size_t size, const char *what) {
    if (!options) {
        return fail_with(REDLATCH_INVALID, "%s is NULL: expected a struct to fill", what);
    }
    int status = check_size(struct_size, what);
    if (status != REDLATCH_OK) {
        return status;
    }
    memset(options, 0, struct_size);
    memcpy(options, defaults, struct_size < size ? struct_size : size);
    memcpy(options, &struct_size, sizeof struct_size);
    return REDLATCH_OK;
}

int redlatch_client_options_init(redlatch_client_options *options, uint32_t struct_size) {
    redlatch_client_options defaults = {
        .watchdog_lease_ms = 30000,
        .connect_timeout_ms = REDLATCH_DEFAULT,
        .command_timeout_ms = REDLATCH_DEFAULT,
        .dead_peer_timeout_ms = REDLATCH_DEFAULT,
        .dns_interval_ms = REDLATCH_DEFAULT,
        .unreachable_timeout_ms = 30000,
        .close_timeout_ms = 1000,
        .claim_timeout_ms = 30000,
        .linger_ms = 3000,
        .fair_timeout_ms = 30000,
        .release_on_close = 1,
        .busy_poll = 1,
        .database = REDLATCH_DEFAULT,
        .min_replicas = REDLATCH_DEFAULT,
        .durable = REDLATCH_DEFAULT,
        .replica_timeout_ms = REDLATCH_DEFAULT,
    };
    return init(options, struct_size, &defaults, sizeof defaults, "client options");
}

int redlatch_lock_options_init(redlatch_lock_options *options, uint32_t struct_size) {
    redlatch_lock_options defaults = {.owner_mode = REDLATCH_OWNER_THREAD,
                                      .lease_ms = REDLATCH_RENEWED,
                                      .max_hold_ms = REDLATCH_FOREVER,
                                      .reentrant = 1,
                                      .back_off_initial_ms = 1,
                                      .back_off_max_ms = 128,
                                      .back_off_multiplier = 2,
                                      .confirm_release = 1};
    return init(options, struct_size, &defaults, sizeof defaults, "lock options");
}

int redlatch_semaphore_options_init(redlatch_semaphore_options *options, uint32_t struct_size) {
    redlatch_semaphore_options defaults = {.lease_ms = REDLATCH_RENEWED};
    return init(options, struct_size, &defaults, sizeof defaults, "semaphore options");
}
