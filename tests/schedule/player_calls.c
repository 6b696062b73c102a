/* Random calls of players. Each writes its line of the trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "players_shared.h"
#include "schedule.h"

int log_call(const char *what, int status) {
    trace("%s: %s%s%s", what, redlatch_status_name(status), status == REDLATCH_OK ? "" : ", ",
          status == REDLATCH_OK ? "" : redlatch_last_error());
    return status;
}

int64_t some_wait_ms(void) {
    static const int64_t waits[] = {0, 0, 1, 50, 400, 1500, 6000};
    return waits[schedule_draw(sizeof waits / sizeof waits[0])] * time_scale;
}

int64_t some_lease_ms(void) {
    static const int64_t leases[] = {REDLATCH_RENEWED, REDLATCH_RENEWED, REDLATCH_LEASE_OF_LOCK, 200, 1000};
    return leases[schedule_draw(sizeof leases / sizeof leases[0])];
}

redlatch_lock *some_lock(const struct player *player) {
    const struct house *house = player->house;
    uint32_t which = schedule_draw((uint32_t)(house->lock_count + 2 * house->composite_count));
    return which < (uint32_t)house->lock_count ? house->locks[which]
                                               : house->composites[(which - (uint32_t)house->lock_count) / 2];
}

static redlatch_cancel *perhaps_cancel(const struct player *player) {
    return schedule_chance(300) ? player->cancel : NULL;
}

static void show_hold(redlatch_lock *lock, uint64_t owner) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    log_call("hold", redlatch_lock_hold_status(lock, owner, &hold));
    trace("hold: %d, %d, %u, %" PRId64 " ms, token %" PRIu64 ", %s", hold.state, hold.reason, hold.count,
          hold.remaining_ms, hold.token, hold.owner);
}

static void query(redlatch_lock *lock) {
    redlatch_lock_state state = {.struct_size = sizeof state};
    if (log_call("query", redlatch_lock_query(lock, &state)) == REDLATCH_OK) {
        trace("query: %d, %" PRId64 " ms, %" PRIu64 ", %s, %" PRIu64 ", %" PRIu64, state.locked, state.ttl_ms,
              state.count, state.owner, state.holders, state.waiters);
    }
}

void call_lock(struct player *player) {
    redlatch_lock *lock = some_lock(player);
    int32_t released = -1;
    switch (schedule_draw(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        log_call("acquire", redlatch_lock_acquire_as(lock, player->owner, some_lease_ms(), some_wait_ms(),
                                                     perhaps_cancel(player)));
        break;
    case 5:
        wait_for_lock(player, lock);
        break;
    case 6:
        log_call("extend", redlatch_lock_extend(lock, player->owner, 500));
        break;
    case 7:
        log_call("force release", redlatch_lock_force_release(lock, &released));
        trace("force release: %d", released);
        break;
    case 8:
        show_hold(lock, player->owner);
        break;
    case 9:
        query(lock);
        break;
    default:
        log_call("release", redlatch_lock_release_as(lock, player->owner));
    }
}

static void call_semaphore(struct player *player) {
    redlatch_semaphore *semaphore = player->house->semaphore;
    int64_t permits = 1 + schedule_draw(2);
    int64_t number = -1;
    int32_t flag = -1;
    switch (schedule_draw(10)) {
    case 0:
        log_call("try set permits",
                 redlatch_semaphore_try_set_permits(semaphore, permits, schedule_chance(500) ? 3000 : -1, &flag));
        break;
    case 1:
        log_call("available", redlatch_semaphore_available(semaphore, &number));
        break;
    case 2:
        log_call("drain", redlatch_semaphore_drain(semaphore, &number));
        break;
    case 3:
        log_call("add permits", redlatch_semaphore_add_permits(semaphore, permits));
        break;
    case 4:
        log_call("delete semaphore", redlatch_semaphore_delete(semaphore, &flag));
        break;
    case 5:
        log_call("release if exists", redlatch_semaphore_release_if_exists(semaphore, permits, &flag));
        break;
    case 6:
    case 7:
        log_call("release permits", redlatch_semaphore_release(semaphore, permits));
        break;
    default:
        log_call("acquire permits",
                 redlatch_semaphore_acquire(semaphore, permits, some_wait_ms(), perhaps_cancel(player)));
    }
    trace("semaphore: %" PRId64 ", %d", number, flag);
}

static void call_permits(struct player *player) {
    redlatch_permit_semaphore *permits = player->house->permits;
    redlatch_permit permit = {.struct_size = sizeof permit};
    redlatch_permit_semaphore_permit_status(permits, player->serial, &permit);
    trace("permit: %d, %d, %" PRId64 " ms, %s", permit.state, permit.reason, permit.remaining_ms, permit.id);
    int64_t number = -1;
    int32_t flag = -1;
    switch (schedule_draw(12)) {
    case 0:
    case 1:
        log_call("try set", redlatch_permit_semaphore_try_set_permits(permits, 2, &flag));
        break;
    case 2:
        log_call("set permits", redlatch_permit_semaphore_set_permits(permits, 1 + schedule_draw(3)));
        break;
    case 3:
        log_call("add", redlatch_permit_semaphore_add_permits(permits, 1));
        break;
    case 4:
        log_call("update lease", redlatch_permit_semaphore_update_lease(permits, permit.id, some_lease_ms()));
        break;
    case 5:
        log_call("lease of", redlatch_permit_semaphore_lease_of(permits, permit.id, &number));
        break;
    case 6:
        log_call("available", redlatch_permit_semaphore_available(permits, &number));
        break;
    case 7:
        log_call("acquired", redlatch_permit_semaphore_acquired(permits, &number));
        break;
    case 8:
        log_call("delete permits", redlatch_permit_semaphore_delete(permits, &flag));
        break;
    case 9:
        log_call("release permit", redlatch_permit_semaphore_release(permits, permit.id));
        break;
    default:
        log_call("acquire permit",
                 redlatch_permit_semaphore_acquire(permits, 1 + schedule_draw(2), some_lease_ms(), some_wait_ms(),
                                                   perhaps_cancel(player), &player->serial));
    }
    trace("permits: %" PRId64 ", %d, serial %" PRIu64, number, flag, player->serial);
}

static void call_latch(struct player *player) {
    redlatch_latch *latch = player->house->latch;
    int64_t number = -1;
    int32_t flag = -1;
    switch (schedule_draw(7)) {
    case 0:
    case 1:
        log_call("try set count", redlatch_latch_try_set_count(latch, 1 + schedule_draw(3), &flag));
        break;
    case 2:
        log_call("count", redlatch_latch_count(latch, &number));
        break;
    case 3:
        log_call("delete latch", redlatch_latch_delete(latch, &flag));
        break;
    case 4:
    case 5:
        log_call("count down", redlatch_latch_count_down(latch));
        break;
    default:
        log_call("wait for latch", redlatch_latch_wait(latch, some_wait_ms(), perhaps_cancel(player)));
    }
    trace("latch: %" PRId64 ", %d", number, flag);
}

void call_count(struct player *player) {
    static void (*const calls[])(struct player *) = {call_semaphore, call_permits, call_latch};
    calls[schedule_draw(3)](player);
}

static void show_report(redlatch_report *report) {
    redlatch_facts facts = {.struct_size = sizeof facts};
    redlatch_report_facts(report, &facts);
    trace("report: %s, %s, %" PRId64 " ms, token %" PRIu64 ", %" PRIu64 " holders, %" PRIu64
          " waiters, type %s, %" PRId64,
          redlatch_report_name(report), redlatch_detected_kind_name(facts.detected_kind), facts.ttl_ms, facts.token,
          facts.holders, facts.waiters, facts.type, facts.count);
    for (uint64_t i = 0; i < facts.parties; i++) {
        redlatch_party party = {.struct_size = sizeof party};
        redlatch_report_party(report, i, &party);
        trace("party: %d, %" PRIu64 ", %s, %s, %" PRId64 ", %s, %" PRId64 " ms", party.role, party.count, party.owner,
              party.host, party.pid, party.value, party.ttl_ms);
    }
    redlatch_report_free(report);
}

static void scan_all(redlatch_client *client) {
    redlatch_scan *scan = NULL;
    if (log_call("scan", redlatch_scan_new(client, "*", 1, &scan)) != REDLATCH_OK) {
        return;
    }
    redlatch_report *report = NULL;
    while (log_call("next", redlatch_scan_next(scan, &report)) == REDLATCH_OK && report) {
        show_report(report);
        report = NULL;
    }
    redlatch_scan_free(scan);
}

void call_report(struct player *player) {
    static const char *const names[] = {"mutex-0", "read-0", "group-1", "semaphore", "permits", "latch", "fair-1"};
    redlatch_client *client = player->house->client;
    const char *name = names[schedule_draw(sizeof names / sizeof names[0])];
    redlatch_report *report = NULL;
    redlatch_event event = {.struct_size = sizeof event};
    switch (schedule_draw(5)) {
    case 0:
        scan_all(client);
        break;
    case 1:
        log_call("wait until free",
                 redlatch_client_wait_free(client, name, strlen(name), some_wait_ms(), perhaps_cancel(player)));
        break;
    case 2:
        if (log_call("wait for losses", redlatch_client_wait_lost(client, 20, &event)) == REDLATCH_OK) {
            trace("lost: %s, %d, %s", event.name, event.reason, event.message ? event.message : "-");
        }
        break;
    default:
        if (log_call("inspect", redlatch_client_inspect(client, name, strlen(name), NULL, &report)) == REDLATCH_OK &&
            report) {
            show_report(report);
        }
    }
}
