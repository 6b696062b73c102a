/* The clients, players and faults of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "players.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "descriptors.h"
#include "lines.h"
#include "model_servers.h"
#include "names.h"
#include "players_shared.h"
#include "redlatch_groups.h"
#include "schedule.h"
#include "shortages.h"
#include "wrapped_system.h"

enum { PLAYERS_MAX = 40, CLIENTS_MAX = 3, OTHERS_MAX = CLIENTS_MAX + 3 };

int64_t time_scale;

static void open_client(struct house *house, int server) {
    char url[32];
    snprintf(url, sizeof url, house->scenario->calls & BY_HOST_NAME ? "redis://s%d:6400" : "unix:///s%d", server);
    redlatch_client_options options = {0};
    redlatch_client_options_init(&options, sizeof options);
    options.watchdog_lease_ms = schedule_chance(500) ? 900 : 3000;
    options.command_timeout_ms = schedule_chance(500) ? 400 : 2000;
    options.unreachable_timeout_ms = 1500;
    options.connect_timeout_ms = 300;
    options.dead_peer_timeout_ms = 1000;
    options.linger_ms = schedule_chance(500) ? 0 : 300;
    options.claim_timeout_ms = 2000;
    options.fair_timeout_ms = 5000;
    options.busy_poll = schedule_chance(700);
    options.lazy = schedule_chance(200);
    options.release_on_close = schedule_chance(700);
    options.language = (int32_t)schedule_draw(4);
    log_call("open", redlatch_client_open(url, &options, &house->client));
}

static void make_lock(struct house *house, int kind, int number) {
    static const redlatch_value values[] = {{"x", 1}, {"y", 1}, {"z", 1}};
    char name[40];
    const char *what = kind == REDLATCH_WRITE ? "read" : redlatch_kind_name(kind);
    int size = snprintf(name, sizeof name, "%s-%d", what, number);
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    options.owner_mode = schedule_chance(150) ? REDLATCH_OWNER_HANDLE : REDLATCH_OWNER_THREAD;
    options.reentrant = schedule_chance(800);
    options.max_hold_ms = schedule_chance(100) ? 2500 : REDLATCH_FOREVER;
    redlatch_lock **out = &house->locks[house->lock_count++];
    if (kind == REDLATCH_GROUP) {
        log_call("group lock",
                 redlatch_group_lock_new(house->client, name, (size_t)size, values + number, 2, &options, out));
    } else {
        log_call("lock", redlatch_lock_new(house->client, kind, name, (size_t)size, &options, out));
    }
}

static void make_house(struct house *house) {
    const struct scenario *scenario = house->scenario;
    house->lock_count = 0;
    for (int i = 0; scenario->kinds[i]; i++) {
        for (int number = 0; number < NAMES; number++) {
            make_lock(house, scenario->kinds[i], number);
        }
    }
    log_call("semaphore", redlatch_semaphore_new(house->client, "semaphore", 9, NULL, &house->semaphore));
    log_call("permits", redlatch_permit_semaphore_new(house->client, "permits", 7, NULL, &house->permits));
    log_call("latch", redlatch_latch_new(house->client, "latch", 5, &house->latch));
}

/* Makes a multi lock of one client, one of all clients, and a RedLock of all clients. */
static void make_composites(struct house *houses, int count) {
    struct house *first = &houses[0];
    redlatch_lock *of_all[CLIENTS_MAX] = {NULL};
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    options.owner_mode = schedule_chance(300) ? REDLATCH_OWNER_HANDLE : REDLATCH_OWNER_THREAD;
    for (int i = 0; i < count; i++) {
        of_all[i] = houses[i].locks[1];
    }
    log_call("multi lock",
             redlatch_multi_lock_new(first->locks, 2, &options, &first->composites[first->composite_count++]));
    log_call("multi lock",
             redlatch_multi_lock_new(of_all, (size_t)count, &options, &first->composites[first->composite_count++]));
    log_call("redlock",
             redlatch_redlock_new(of_all, (size_t)count, 1, &options, &first->composites[first->composite_count++]));
}

static void leave_house(struct house *house) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    log_call("stats", redlatch_client_stats(house->client, &stats));
    trace("stats: %" PRIu64 " round trips, %" PRIu64 " scripts, %" PRIu64 " loads, %" PRIu64 " acquired, %" PRIu64
          " contended, %" PRIu64 " handed over, %" PRIu64 " renewals, %" PRIu64 " late, %" PRIu64 " lost, %" PRIu64
          " reconnects",
          stats.round_trips, stats.scripts, stats.script_loads, stats.acquired, stats.contended, stats.hand_overs,
          stats.renewals, stats.late_renewals, stats.lost, stats.reconnects);
    trace("stats: %" PRIu64 " and %" PRIu64 " polls, %" PRIu64 " compensations, %" PRIu64 " resends, %" PRIu64
          " messages, %" PRIu64 " empty, %" PRIu64 " held, %" PRIu64 " waiters, %" PRIu64 " subscriptions, %" PRIu64
          " connections",
          stats.busy_polls, stats.busy_polls_hit, stats.compensations, stats.resends, stats.messages, stats.empty_polls,
          stats.held, stats.waiters, stats.subscriptions, stats.connections);
    for (int i = 0; i < house->composite_count; i++) {
        redlatch_lock_free(house->composites[i]);
    }
    for (int i = 0; i < house->lock_count; i++) {
        redlatch_lock_free(house->locks[i]);
    }
    redlatch_semaphore_free(house->semaphore);
    redlatch_permit_semaphore_free(house->permits);
    redlatch_latch_free(house->latch);
    trace("%ld allocations are in use", wrapped_memory_count());
}

static void pause_ms(int64_t most) {
    actor_sleep((int64_t)schedule_draw((uint32_t)most * 1000) * time_scale + 1);
}

static void play(void *context) {
    struct player *player = context;
    static void (*const calls[])(struct player *) = {call_lock, call_count, call_started, call_report};
    for (int step = 0; step < player->scenario->steps; step++) {
        int which;
        do {
            which = (int)schedule_draw(4);
        } while (!(player->scenario->calls & 1 << which));
        if (player->scenario->calls & CALLS_WAITS && schedule_chance(500)) {
            call_wait(player);
        } else {
            calls[which](player);
        }
        if (schedule_chance(250)) {
            pause_ms(schedule_chance(100) ? 2000 : 60);
        }
    }
    log_call("owner's end", redlatch_owner_end(player->owner));
}

/* Makes one random fault at a server. */
static void make_fault(int server) {
    static const char *const error_replies[] = {
        "LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "READONLY You can't write against a read only replica.", "NOREPLICAS Not enough good replicas to write."};
    static const char *const keys[] = {"mutex-0", "mutex-1", "read-0",    "fenced-0", "fair-0",
                                       "plain-0", "group-0", "semaphore", "permits",  "latch"};
    int64_t until = schedule_now() + 1000 * (1 + (int64_t)schedule_draw(700)) * time_scale;
    uint32_t what = schedule_draw(14);
    trace("fault %u at server %d", what, server);
    switch (what) {
    case 0:
        model_server_freeze(server, until);
        break;
    case 1:
        model_server_refuse(server, error_replies[schedule_draw(5)], until);
        break;
    case 2:
        model_server_deny(server, (int)schedule_draw(16));
        break;
    case 3:
        model_server_restart(server, schedule_chance(500));
        break;
    case 4:
        model_server_forget_scripts(server);
        break;
    case 5:
        lines_refuse(server, until, schedule_chance(500));
        model_server_cut(server);
        break;
    case 6:
    case 7:
        model_server_delete(server, keys[schedule_draw(10)]);
        break;
    case 8:
    case 9:
        model_server_replace(server, keys[schedule_draw(10)], (int)schedule_draw(6));
        break;
    case 10:
        model_server_garble(server, schedule_now() + 20000);
        break;
    case 11:
        model_server_babble(server);
        break;
    default:
        model_server_cut(server);
    }
}

/* Ends the connections to all servers, and makes new ones take long. */
static void make_outage(void) {
    int64_t until = schedule_now() + 1000 * (int64_t)schedule_draw(700);
    for (int server = 0; server < SERVERS; server++) {
        lines_refuse(server, until, true);
        model_server_cut(server);
    }
}

static void run_faults(void *context) {
    const struct house *house = context;
    while (!house->over) {
        pause_ms(1500);
        if (house->scenario->calls & BY_HOST_NAME && schedule_chance(400)) {
            names_fail(schedule_now() + (int64_t)schedule_draw(2000000), schedule_chance(500));
        }
        if (house->scenario->calls & OUTAGES) {
            make_outage();
        }
        if (house->scenario->calls & RESETS) {
            lines_reset(0, schedule_now() + (int64_t)schedule_draw(2000));
        }
        make_fault((int)schedule_draw(SERVERS));
    }
}

/* Publishes about as many messages at once as the subscriber reads in one step, or more. */
static void run_flood(void *context) {
    const struct house *house = context;
    while (!house->over) {
        pause_ms(300);
        model_server_flood(0, schedule_chance(500) ? "mutex-0" : "mutex-1", 100 + (int)schedule_draw(900));
    }
}

static void run_shortage(void *context) {
    const struct house *house = context;
    while (!house->over) {
        pause_ms(50);
        wrapped_system_fail("output_reserve", 1);
    }
    wrapped_system_fail(NULL, 0);
}

/* Ends the clients. Some are closed with their holds, some are only freed. */
static void end_clients(struct house *houses, int count) {
    for (int i = 0; i < count; i++) {
        leave_house(&houses[i]);
    }
    for (int i = 0; i < count; i++) {
        if (schedule_chance(700)) {
            log_call("close", redlatch_client_close(houses[i].client));
        }
        redlatch_client_free(houses[i].client);
    }
}

void players_run(void *context) {
    const struct scenario *scenario = context;
    static struct house houses[CLIENTS_MAX];
    memset(houses, 0, sizeof houses);
    if (scenario->calls & PLAYS_SHORTAGES) { /* before this thread has an owner id */
        shortages_play();
    }
    time_scale = scenario->calls & LONG_WAITS ? 20 : 1;
    struct player players[PLAYERS_MAX];
    bool cancels_first = schedule_chance(500); /* one of them then has descriptor 0, else a client has it */
    for (int i = 0; cancels_first && i < scenario->players; i++) {
        redlatch_cancel_new(&players[i].cancel);
    }
    for (int i = 0; i < scenario->clients; i++) {
        houses[i].scenario = scenario;
        open_client(&houses[i], scenario->calls & CALLS_COMPOSITES ? i : 0);
        make_house(&houses[i]);
    }
    if (scenario->calls & CALLS_COMPOSITES) {
        make_composites(houses, scenario->clients);
    }
    if (scenario->calls & CALLS_MISUSE) {
        misuse_all(&houses[0]);
    }
    struct actor *actors[PLAYERS_MAX];
    struct actor *others[OTHERS_MAX];
    int other_count = 0;
    for (int i = 0; i < scenario->players; i++) {
        char name[32];
        snprintf(name, sizeof name, "player %d", i);
        if (!cancels_first) {
            redlatch_cancel_new(&players[i].cancel);
        }
        players[i] = (struct player){
            .scenario = scenario, .house = &houses[i % scenario->clients], .cancel = players[i].cancel};
        redlatch_owner_new(&players[i].owner);
        actors[i] = actor_start(name, play, &players[i]);
    }
    for (int i = 0; i < scenario->clients && scenario->calls & CALLS_STARTED; i++) {
        others[other_count++] = actor_start("host", host_run, &houses[i]);
    }
    if (scenario->faults) {
        others[other_count++] = actor_start("faults", run_faults, &houses[0]);
    }
    if (scenario->calls & FLOODS) {
        others[other_count++] = actor_start("flood", run_flood, &houses[0]);
    }
    if (scenario->calls & STARVES) {
        others[other_count++] = actor_start("shortage", run_shortage, &houses[0]);
    }
    if (scenario->calls & CLOSES_EARLY) {
        pause_ms(800);
        log_call("close", redlatch_client_close(houses[0].client));
    }
    for (int i = 0; i < scenario->players; i++) {
        actor_join(actors[i]);
        redlatch_cancel_free(players[i].cancel);
    }
    for (int i = 0; i < scenario->clients; i++) {
        houses[i].over = true;
    }
    for (int i = 0; i < other_count; i++) {
        actor_join(others[i]);
    }
    end_clients(houses, scenario->clients);
    trace("%d descriptors are open", descriptors_open());
}
