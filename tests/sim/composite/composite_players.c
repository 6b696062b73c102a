/* Processes: the work of their background threads, and callers that acquire, extend and release at random.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "client_lock.h"
#include "outputs.h"
#include "preallocate.h"
#include "composite_world.h"

static void must(struct world *world, int status, const char *what) {
    if (status != REDLATCH_OK) {
        world_violation(world, "a call does not begin", "%s: %s", what, redlatch_status_name(status));
    }
}

static void make_client(struct process *process, uint32_t number) {
    struct world *world = process->world;
    struct member_client *client = &process->clients[number];
    redlatch_client_options options;
    char url[40];
    int descriptor;
    snprintf(url, sizeof url, "redis://10.0.0.%u", number);
    redlatch_client_options_init(&options, sizeof options);
    options.lazy = 1;
    options.watchdog_lease_ms = world->long_lease ? 20000 : 1200;
    options.command_timeout_ms = 1500;
    options.unreachable_timeout_ms = 5000;
    options.linger_ms = 500;
    options.release_on_close = 0;
    options.close_timeout_ms = 0;
    client->process = process;
    must(world, redlatch_client_open(url, &options, &client->handle), "open");
    must(world, redlatch_client_event_fd(client->handle, &descriptor), "event descriptor");
    client->client = client->handle->client;
    client->peer.server = &world->servers[number];
    client->peer.engine = &client->client->engine;
    network_add_peer(&world->network, &client->peer);
    for (uint32_t i = 0; i < world->name_count; i++) {
        char name = (char)('a' + i);
        must(world, redlatch_lock_new(client->handle, REDLATCH_MUTEX, &name, 1, NULL, &client->names[i]), "lock");
    }
}

static void make_whole(struct process *process) {
    struct world *world = process->world;
    redlatch_lock *members[SERVERS_MAX * NAMES_MAX];
    uint32_t count = 0;
    uint32_t first = (uint32_t)(process - world->processes); /* each process passes the members in another order */
    for (uint32_t i = 0; i < world->server_count; i++) {
        for (uint32_t j = 0; j < world->name_count; j++) {
            members[count++] = process->clients[(first + i) % world->server_count].names[j];
        }
    }
    must(world,
         world->majority ? redlatch_redlock_new(members, count, 0, NULL, &process->whole)
                         : redlatch_multi_lock_new(members, count, NULL, &process->whole),
         "the whole");
}

void players_start(struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct process *process = &world->processes[i];
        process->world = world;
        for (uint32_t j = 0; j < world->server_count; j++) {
            make_client(process, j);
        }
        make_whole(process);
        for (uint32_t j = 0; j <= CALLERS; j++) {
            struct caller *caller = &process->callers[j];
            caller->process = process;
            caller->single = j == CALLERS;
            caller->home = caller->single ? random_below(&world->random, world->server_count) : i % world->server_count;
            caller->lock = caller->single ? process->clients[caller->home].names[0] : process->whole;
            caller->owner = owners[j];
            caller->cancel_at = NEVER;
            caller->act_at = world->now + random_between(&world->random, 0, SECOND / 2);
        }
    }
}

void players_delivered(struct world_common *world, struct peer *peer) {
    struct member_client *client = container_of(peer, struct member_client, peer);
    client->process->stirred = STIRRED_FOR;
    client_finish_step(client->client, world->now);
}

void players_free(struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct process *process = &world->processes[i];
        redlatch_lock_free(process->whole);
        for (uint32_t j = 0; j < world->server_count; j++) {
            for (uint32_t k = 0; k < world->name_count; k++) {
                redlatch_lock_free(process->clients[j].names[k]);
            }
            redlatch_client_free(process->clients[j].handle);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------- callers -- */

static struct world *world_of(const struct caller *caller) {
    return caller->process->world;
}

/* Begins a call. It is in progress until its event comes. */
static void begin(struct caller *caller, int status) {
    struct world *world = world_of(caller);
    must(world, status, "a call");
    if (random_chance(&world->random, 100)) {
        caller->cancel_at = world->now + random_between(&world->random, 100, SECOND / 2);
    }
}

static void acquire(struct caller *caller) {
    struct world *world = world_of(caller);
    uint32_t dice = random_below(&world->random, 10);
    int64_t wait_ms = dice < 3 ? REDLATCH_FOREVER : dice < 5 ? 0 : random_between(&world->random, 1, 3000);
    bool leased = !world->long_lease && random_chance(&world->random, 400);
    int64_t lease_ms = leased ? random_between(&world->random, 200, 3000) : REDLATCH_LEASE_OF_LOCK;
    begin(caller, redlatch_lock_start_acquire(caller->lock, caller->owner, lease_ms, wait_ms, caller->tag));
}

static void act(struct caller *caller, bool draining) {
    struct world *world = world_of(caller);
    uint32_t dice = random_below(&world->random, 100);
    if (caller->tag && world->now >= caller->cancel_at) {
        must(world, redlatch_client_cancel(caller->process->clients[caller->home].handle, caller->tag), "cancelling");
        caller->cancel_at = NEVER;
        caller->process->stirred = STIRRED_FOR;
    } else if (!caller->tag && world->now >= caller->act_at) {
        if (caller->levels == 0 && draining) {
            caller->act_at = NEVER;
            return;
        }
        caller->tag = ++caller->process->last_tag;
        caller->process->stirred = STIRRED_FOR;
        if (caller->levels == 0 || (dice < 15 && caller->levels < LEVELS_MAX && !draining)) {
            acquire(caller);
        } else if (dice < 30 && !draining) {
            int64_t lease_ms = world->long_lease ? 20000 : random_between(&world->random, 200, 3000);
            begin(caller, redlatch_lock_start_extend(caller->lock, caller->owner, lease_ms, caller->tag));
        } else {
            caller->gives = true;
            begin(caller, redlatch_lock_start_release(caller->lock, caller->owner, caller->tag));
        }
    }
}

static bool is_outage(int status) {
    return status == REDLATCH_UNREACHABLE || status == REDLATCH_NO_REPLY;
}

/* Ends a call. Each release lowers the count of levels, even if the hold is lost. A release that reached no server goes
 * on in the background. */
static void ended(struct caller *caller, const redlatch_event *event) {
    struct world *world = world_of(caller);
    bool good = event->status == REDLATCH_OK;
    caller->tag = 0;
    caller->cancel_at = NEVER;
    caller->act_at = world->now + random_between(&world->random, 100, SECOND / 5);
    world->coverage.counts[COVER_COMPOSITE_NO_SERVER] += is_outage(event->status);
    TRACE(world, "process %d: event %d of caller %d: %s", (int)(caller->process - world->processes), event->kind,
          (int)(caller - caller->process->callers), redlatch_status_name(event->status));
    if (event->kind == REDLATCH_EVENT_ACQUIRED && good) {
        caller->notified = caller->notified && caller->levels > 0;
        caller->levels++;
        caller->serial = event->serial;
        caller->short_since = 0;
        cover(world, COVER_COMPOSITE_GRANTED);
        judge_granted(caller);
    } else if (event->kind == REDLATCH_EVENT_RELEASED) {
        caller->gives = false;
        caller->levels = event->status == REDLATCH_NOT_OWNED ? 0 : caller->levels - 1;
        caller->owes = !good && (caller->owes || is_outage(event->status));
    }
}

/* Collects events while the event descriptor is readable, as a host does that waits for it. */
static void collect(struct process *process, const struct member_client *client) {
    redlatch_event event = {.struct_size = sizeof event};
    while (client->client->event_raised && redlatch_client_next_event(client->handle, &event) == REDLATCH_OK) {
        struct caller *caller = &process->callers[event.owner - owners[0]];
        if (event.kind == REDLATCH_EVENT_LOST) {
            cover(process->world, COVER_COMPOSITE_LOST);
            if (event.serial == caller->serial && caller->levels > 0) {
                judge_notified(caller);
                caller->notified = true; /* even if a release in progress keeps some of the parts */
            }
        } else if (event.tag == caller->tag) {
            ended(caller, &event);
        }
        event.struct_size = sizeof event;
    }
}

/* ------------------------------------------------------------------------------------------------- the processes -- */

/* What a client's background thread does when it wakes. */
static void keep(struct client *client, int64_t now) {
    client_lock(client);
    client_preallocate(client, OPERATION_QUERY);
    engine_run_timers(&client->engine, now);
    client_notify_losses(client);
    client_outputs(client, now);
    client_unlock(client);
    composite_step_all(client);
}

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static int64_t process_next(const struct process *process) {
    int64_t next = NEVER;
    if (!is_running(process)) {
        return process->paused_until;
    }
    for (uint32_t i = 0; i < process->world->server_count; i++) {
        const struct client *client = process->clients[i].client;
        next = earlier(next, earlier(engine_next_timer(&client->engine), composite_next_time(client)));
    }
    for (uint32_t i = 0; i <= CALLERS; i++) {
        const struct caller *caller = &process->callers[i];
        next = earlier(next, caller->tag ? caller->cancel_at : caller->act_at);
    }
    return next;
}

/* Runs the background threads. Skips a process if it had no event and its next time has not come: its threads would
 * have nothing to do. */
void players_work(struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct process *process = &world->processes[i];
        if (!is_running(process) || (process->stirred == 0 && process_next(process) > world->now)) {
            continue;
        }
        process->stirred = process->stirred > 0 ? process->stirred : STIRRED_FOR;
        for (uint32_t j = 0; j < world->server_count; j++) {
            keep(process->clients[j].client, world->now);
            collect(process, &process->clients[j]);
        }
    }
}

void players_act(struct world *world, bool draining) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        for (uint32_t j = 0; j <= CALLERS && is_running(&world->processes[i]); j++) {
            act(&world->processes[i].callers[j], draining);
        }
    }
}

/* Called at the end of each event. */
void players_rest(struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct process *process = &world->processes[i];
        process->stirred -= process->stirred > 0 && is_running(process);
    }
}

int64_t players_next(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        next = earlier(next, process_next(&world->processes[i]));
    }
    return next;
}

bool players_are_done(const struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        for (uint32_t j = 0; j <= CALLERS; j++) {
            const struct caller *caller = &world->processes[i].callers[j];
            if (caller->tag || caller->act_at != NEVER) {
                return false;
            }
        }
    }
    return true;
}
