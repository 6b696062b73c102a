/* Resumable waits of all kinds, as wrappers use them: continued in short calls, cancelled, or dropped in progress.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "players_shared.h"
#include "schedule.h"

/* Continues a wait until it ends, or some calls at most. A grant is released by the player later, or not at all. */
static void go_on(const struct player *player, redlatch_wait *wait, uint64_t *serial_out) {
    static const int64_t blocks[] = {0, 30, 400, REDLATCH_FOREVER};
    int status = REDLATCH_AGAIN;
    uint32_t calls = 1 + schedule_draw(8);
    for (uint32_t call = 0; status == REDLATCH_AGAIN && call < calls; call++) {
        status = log_call("continue", redlatch_wait_continue(wait, blocks[schedule_draw(4)], serial_out));
        if (status == REDLATCH_AGAIN && schedule_chance(150)) {
            log_call("fire", redlatch_cancel_fire(player->cancel));
        }
    }
    if (schedule_chance(200)) { /* it must return its result again */
        log_call("continue", redlatch_wait_continue(wait, 0, serial_out));
    }
    if (status == REDLATCH_AGAIN && schedule_chance(500)) { /* so that it may be granted without being collected */
        actor_sleep(schedule_draw(1000000));
    }
    redlatch_wait_drop(wait);
}

static void begun(struct player *player, int status, redlatch_wait *const *wait) {
    if (log_call("begin wait", status) == REDLATCH_OK && !schedule_chance(60)) {
        go_on(player, *wait, schedule_chance(500) ? &player->serial : NULL);
    } else {
        redlatch_wait_drop(*wait);
    }
    trace("waited: serial %" PRIu64, player->serial);
}

static redlatch_cancel *perhaps_cancel(const struct player *player) {
    return schedule_chance(500) ? player->cancel : NULL;
}

void wait_for_lock(struct player *player, redlatch_lock *lock) {
    redlatch_wait *wait = NULL;
    int64_t lease_ms = some_lease_ms();
    begun(player,
          redlatch_lock_begin_acquire(lock, player->owner, lease_ms, some_wait_ms(), perhaps_cancel(player), &wait),
          &wait);
}

void call_wait(struct player *player) {
    const struct house *house = player->house;
    redlatch_cancel *cancel = perhaps_cancel(player);
    redlatch_wait *wait = NULL;
    int64_t wait_ms = some_wait_ms();
    int status;
    switch (schedule_draw(5)) {
    case 0:
        wait_for_lock(player, some_lock(player));
        return;
    case 1:
        status = redlatch_semaphore_begin_acquire(house->semaphore, schedule_draw(3), wait_ms, cancel, &wait);
        break;
    case 2:
        status = redlatch_permit_semaphore_begin_acquire(house->permits, 1 + schedule_draw(2), some_lease_ms(), wait_ms,
                                                         cancel, &wait);
        break;
    case 3:
        status = redlatch_latch_begin_wait(house->latch, wait_ms, cancel, &wait);
        break;
    default:
        status = redlatch_client_begin_wait_free(house->client, "mutex-0", 7, wait_ms, cancel, &wait);
    }
    begun(player, status, &wait);
}
