/* Started calls, and the host that collects their events.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "descriptors.h"
#include "players_shared.h"
#include "schedule.h"

static uint64_t new_tag(struct house *house, redlatch_lock *lock, uint64_t owner) {
    uint64_t tag = house->tag_count++ % TAGS_MAX;
    house->tags[tag].lock = lock;
    house->tags[tag].owner = owner;
    return tag;
}

static int start_of_semaphore(redlatch_semaphore *semaphore, uint32_t which, uint64_t tag) {
    switch (which) {
    case 0:
        return redlatch_semaphore_start_release(semaphore, 1, tag);
    case 1:
        return redlatch_semaphore_start_release_if_exists(semaphore, 1, tag);
    case 2:
        return redlatch_semaphore_start_try_set_permits(semaphore, 2, REDLATCH_FOREVER, tag);
    case 3:
        return redlatch_semaphore_start_add_permits(semaphore, 1, tag);
    case 4:
        return redlatch_semaphore_start_drain(semaphore, tag);
    case 5:
        return redlatch_semaphore_start_available(semaphore, tag);
    case 6:
        return redlatch_semaphore_start_delete(semaphore, tag);
    default:
        return redlatch_semaphore_start_acquire(semaphore, 1, some_wait_ms(), tag);
    }
}

static int start_of_permits(redlatch_permit_semaphore *permits, uint32_t which, uint64_t tag) {
    switch (which) {
    case 0:
        return redlatch_permit_semaphore_start_release(permits, 1 + schedule_draw(9), tag);
    case 1:
        return redlatch_permit_semaphore_start_set_permits(permits, 2, tag);
    case 2:
        return redlatch_permit_semaphore_start_add_permits(permits, 1, tag);
    case 3:
        return redlatch_permit_semaphore_start_available(permits, tag);
    case 4:
        return redlatch_permit_semaphore_start_acquired(permits, tag);
    case 5:
        return redlatch_permit_semaphore_start_permits(permits, tag);
    case 6:
        return redlatch_permit_semaphore_start_delete(permits, tag);
    case 7:
        return redlatch_permit_semaphore_start_try_set_permits(permits, 2, tag);
    default:
        return redlatch_permit_semaphore_start_acquire(permits, 1, some_lease_ms(), some_wait_ms(), tag);
    }
}

static int start_of_latch(redlatch_latch *latch, uint32_t which, uint64_t tag) {
    switch (which) {
    case 0:
        return redlatch_latch_start_count_down(latch, tag);
    case 1:
        return redlatch_latch_start_try_set_count(latch, 2, tag);
    case 2:
        return redlatch_latch_start_count(latch, tag);
    case 3:
        return redlatch_latch_start_delete(latch, tag);
    default:
        return redlatch_latch_start_wait(latch, some_wait_ms(), tag);
    }
}

static void start_inspect(redlatch_client *client, uint64_t tag) {
    static const char *const names[] = {"semaphore", "mutex-0", "fair-0", "read-0"};
    const char *name = names[schedule_draw(sizeof names / sizeof names[0])];
    log_call("start inspect", redlatch_client_start_inspect(client, name, strlen(name), NULL, tag));
}

static void start_count(struct house *house) {
    uint64_t tag = new_tag(house, NULL, 0);
    uint32_t which = schedule_draw(12);
    switch (schedule_draw(5)) {
    case 0:
        log_call("start of a semaphore", start_of_semaphore(house->semaphore, which, tag));
        break;
    case 1:
        log_call("start of permits", start_of_permits(house->permits, which, tag));
        break;
    case 2:
        log_call("start of a latch", start_of_latch(house->latch, which, tag));
        break;
    case 3:
        start_inspect(house->client, tag);
        break;
    default:
        log_call("start wait until free",
                 redlatch_client_start_wait_free(house->client, "latch", 5, some_wait_ms(), tag));
    }
}

void call_started(struct player *player) {
    struct house *house = player->house;
    redlatch_lock *lock = some_lock(player);
    uint64_t tag = new_tag(house, lock, player->owner);
    switch (schedule_draw(9)) {
    case 0:
    case 1:
    case 2:
        log_call("start acquire",
                 redlatch_lock_start_acquire(lock, player->owner, some_lease_ms(), some_wait_ms(), tag));
        break;
    case 3:
        log_call("start release", redlatch_lock_start_release(lock, player->owner, tag));
        break;
    case 4:
        log_call("start extend", redlatch_lock_start_extend(lock, player->owner, 700, tag));
        break;
    case 5:
        log_call("cancel", redlatch_client_cancel(house->client, tag > 2 ? tag - 1 - schedule_draw(2) : 0));
        break;
    case 6:
        log_call("start query", redlatch_lock_start_query(lock, tag));
        break;
    case 7:
        log_call("start force release", redlatch_lock_start_force_release(lock, tag));
        break;
    default:
        start_count(house);
    }
}

static void take(struct house *house, const redlatch_event *event) {
    trace("event: %d, %s, %d, tag %" PRIu64 ", name %s, number %" PRId64 ", %s", event->kind,
          redlatch_status_name(event->status), event->reason, event->tag, event->name, event->number,
          event->message ? event->message : "-");
    if (event->state) {
        trace("state: %d, %" PRId64 " ms, %s", event->state->locked, event->state->ttl_ms, event->state->owner);
    }
    redlatch_report_free(event->report);
    bool granted = event->kind == REDLATCH_EVENT_ACQUIRED && event->status == REDLATCH_OK;
    if (granted && event->tag < TAGS_MAX && house->tags[event->tag].lock && schedule_chance(700)) {
        redlatch_lock *lock = house->tags[event->tag].lock;
        uint64_t owner = house->tags[event->tag].owner;
        log_call("host's release", redlatch_lock_start_release(lock, owner, new_tag(house, lock, owner)));
    }
}

struct host_wait {
    const struct house *house;
    int fd;
};

static bool is_wanted(const void *context) {
    const struct host_wait *wait = context;
    return wait->house->over || (descriptor_events(wait->fd, POLLIN) & POLLIN);
}

static bool is_over(const void *context) {
    return ((const struct house *)context)->over;
}

void host_run(void *context) {
    struct house *house = context;
    struct host_wait wait = {house, -1};
    if (log_call("event descriptor", redlatch_client_event_fd(house->client, &wait.fd)) != REDLATCH_OK) {
        return;
    }
    while (!house->over) {
        if (schedule_chance(30)) { /* so long that unclaimed grants are released */
            actor_wait(is_over, house, schedule_now() + 3000000);
        }
        actor_wait(is_wanted, &wait, INT64_MAX);
        redlatch_event event = {.struct_size = sizeof event};
        while (redlatch_client_next_event(house->client, &event) == REDLATCH_OK) {
            take(house, &event);
        }
    }
}
