/* A run of clients that move: the operator changes their servers, movers hold locks, listeners receive the clients'
 * events, and the judge checks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "descriptors.h"
#include "lines.h"
#include "model_sentinels.h"
#include "move_checks.h"
#include "names.h"
#include "players_shared.h"
#include "redlatch_client.h"
#include "schedule.h"
#include "wrapped_system.h"

enum { MOVERS = 4, MOVING_CLIENTS = 2, ACTS = 4, NAMED = 9 };

static const char *const lock_names[] = {"moved-0", "moved-1"};
static const char *const passwords[] = {"first-secret", "second-secret", "third-secret", "fourth-secret",
                                        "fifth-secret"};

struct mover {
    struct moving *client;
    redlatch_lock *lock;
    const char *name;
    uint64_t owner;
    bool calling; /* a call that changes its hold is in progress */
};

/* A client, and the events that it reported. */
struct moving {
    redlatch_client *client;
    int moves_notified;
    int refusals_notified;
};

static struct {
    const struct scenario *scenario;
    struct moving clients[MOVING_CLIENTS];
    struct mover movers[MOVERS];
    int master;
    int password;         /* index of the valid one */
    bool over;            /* the operator has finished */
    int movers_left;      /* movers that have not ended */
    int unsupported;      /* calls that returned it */
    int64_t gaps_allowed; /* until then the connections for messages may break */
} play;

static bool does(int what) {
    return play.scenario->calls & what;
}

/* ------------------------------------------------------------------------------------------------------ movers -- */

static int judged(const struct mover *mover, const char *call, int status, int64_t began, int64_t wait_ms) {
    log_call(call, status);
    checks_status(call, status);
    play.unsupported += status == REDLATCH_UNSUPPORTED;
    if (schedule_now() - began > (wait_ms + 2500) * 1000) {
        checks_violated("%s of %s took %" PRId64 " ms", call, mover->name, (schedule_now() - began) / 1000);
    }
    return status;
}

static void hold(struct mover *mover) {
    int64_t until = schedule_now() + 1000 * (1 + (int64_t)schedule_draw(schedule_chance(400) ? 6000 : 200));
    mover->calling = false;
    actor_sleep(until - schedule_now());
    mover->calling = true;
    int64_t began = schedule_now();
    int status = judged(mover, "release", redlatch_lock_release_as(mover->lock, mover->owner), began, 0);
    if (status == REDLATCH_LOST && !does(MOVES_ANY & ~CHANGES_PASSWORDS)) {
        checks_violated("a hold was lost although nothing but passwords changed");
    }
}

static void move_about(void *context) {
    struct mover *mover = context;
    while (!play.over) {
        int64_t wait_ms = schedule_chance(300) ? 0 : 3000;
        int64_t began = schedule_now();
        mover->calling = true;
        int status = redlatch_lock_acquire_as(mover->lock, mover->owner, REDLATCH_RENEWED, wait_ms, NULL);
        if (judged(mover, "acquire", status, began, wait_ms) == REDLATCH_OK) {
            hold(mover);
        }
        actor_sleep(1000 * (1 + (int64_t)schedule_draw(150)));
    }
    redlatch_owner_end(mover->owner);
    play.movers_left--;
}

/* ----------------------------------------------------------------------------------------------------- listener -- */

static void take_event(struct moving *client, const redlatch_event *event) {
    trace("event: %d, %s, serial %" PRIu64 ", %s", event->kind, redlatch_status_name(event->status), event->serial,
          event->message);
    client->moves_notified += event->kind == REDLATCH_EVENT_MOVED;
    client->refusals_notified += event->kind == REDLATCH_EVENT_CREDENTIALS_REFUSED;
}

static void listen_to(void *context) {
    struct moving *client = context;
    redlatch_event event = {.struct_size = sizeof event};
    int status = REDLATCH_AGAIN;
    while (play.movers_left > 0 || status == REDLATCH_OK) {
        status = redlatch_client_wait_lost(client->client, 300, &event);
        if (status == REDLATCH_OK) {
            take_event(client, &event);
        }
    }
}

/* ----------------------------------------------------------------------------------------------------- operator -- */

/* Makes the next connections of clients lead to a server. */
static void lead_to(int server) {
    if (does(MOVES_BY_NAME)) {
        names_lead(NAMED, server);
    } else if (does(MOVES_BY_PROXY)) {
        lines_lead(NAMED, server, false);
    }
    checks_led_to(server);
}

static void learn_later(void *context, uint64_t sentinel) {
    (void)context;
    model_sentinel_learns((int)sentinel, play.master);
    checks_sentinel_learned((int)sentinel);
}

static void check_search(void *context, uint64_t number) {
    (void)context;
    (void)number;
    checks_searched();
}

static void go_up(void *context, uint64_t sentinel) {
    (void)context;
    model_sentinel_is_down((int)sentinel, false);
}

/* The sentinels learn the new master, each at its own time. One of them may be down, silent, or wrong. */
static void sentinels_learn(int old) {
    int64_t now = schedule_now();
    int wrong = SERVERS + (int)schedule_draw(SENTINELS);
    uint32_t how = schedule_draw(6);
    for (int sentinel = SERVERS; sentinel < SERVERS + SENTINELS; sentinel++) {
        if (sentinel != wrong || how < 3) {
            schedule_at(now + 1 + schedule_draw(400000), learn_later, NULL, (uint64_t)sentinel);
        }
    }
    schedule_at(now + 1000000, check_search, NULL, 0);
    if (how == 0) {
        lines_refuse(wrong, now + 2000000, false);
        model_server_cut(wrong);
        model_sentinel_is_down(wrong, true);
        schedule_at(now + 2000000, go_up, NULL, (uint64_t)wrong);
    } else if (how == 1) {
        model_server_freeze(wrong, now + 2000000);
    } else if (how == 4) {
        model_sentinel_announces(wrong, -1);
    } else if (how == 5) {
        model_sentinel_announces(wrong, 3 - old - play.master); /* the other replica */
    }
}

/* Makes another server the master, with or without the last writes. The old one becomes a replica. Its connections may
 * end or not, and it may be down for a while. */
static void promote(void) {
    int old = play.master;
    int new = (old + 1 + (int)schedule_draw(SERVERS - 1)) % SERVERS;
    wrapped_memory_spare(true);
    if (schedule_chance(500)) {
        model_server_mark(old);
        wrapped_memory_spare(false);
        actor_sleep(1000 * (int64_t)schedule_draw(400));
        wrapped_memory_spare(true);
    }
    play.gaps_allowed = INT64_MAX;
    play.master = new;
    model_server_promote(new, old);
    uint32_t how = schedule_draw(3);
    if (how > 0 || !does(MOVES_BY_PROXY)) { /* else the old one stays a master, and only the proxy changes */
        model_server_demote(old);
    }
    lead_to(new);
    if (does(MOVES_BY_SENTINEL)) {
        sentinels_learn(old);
    }
    if (how == 2) {
        lines_refuse(old, schedule_now() + 1000000, false);
        model_server_cut(old);
    } else if (does(MOVES_BY_PROXY)) {
        model_server_cut_some(old);
    }
    wrapped_memory_spare(false);
}

static void push(const char *password) {
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        log_call("set credentials", redlatch_client_set_credentials(play.clients[i].client, NULL, password));
    }
}

/* A wrong password must be refused, be reported once by each client, and change nothing. */
static void push_wrong(void) {
    int before[MOVING_CLIENTS];
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        before[i] = play.clients[i].refusals_notified;
    }
    push("wrong-secret");
    actor_sleep(1000000);
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        int notified = play.clients[i].refusals_notified - before[i];
        if (notified != 1) {
            checks_violated("a refused password was told %d times", notified);
        }
    }
}

/* Makes the next password valid beside the old one, gives it to the clients, and then makes the old one invalid. */
static void rotate(void) {
    const char *old = passwords[play.password];
    const char *new = passwords[++play.password];
    model_server_let_in(play.master, old, new);
    if (schedule_chance(400)) {
        push_wrong();
    }
    actor_sleep(1000 * (int64_t)schedule_draw(700));
    push(new);
    actor_sleep(1000000);
    checks_password(new);
    model_server_let_in(play.master, NULL, new);
    if (model_servers_gap && play.gaps_allowed == 0) {
        checks_violated("a connection for messages ended before another one heard the same");
    }
}

static void operate(void *context) {
    (void)context;
    for (int act = 0; act < ACTS; act++) {
        actor_sleep(1000 * (500 + (int64_t)schedule_draw(2500)));
        if (does(MOVES_ANY & ~(IS_BALANCED | CHANGES_PASSWORDS))) {
            promote();
        }
        for (int cut = 0; does(IS_BALANCED) && cut < 40; cut++) {
            model_server_cut_some(cut % 2);
            actor_sleep(100000);
        }
        if (does(CHANGES_PASSWORDS)) {
            rotate();
        }
        actor_sleep(4500000);
        checks_all_moved();
        if (does(MOVES_BY_SENTINEL)) {
            checks_sentinels_followed();
        }
    }
    play.over = true;
}

/* -------------------------------------------------------------------------------------------------------- judge -- */

static void judge(void *context) {
    (void)context;
    while (play.movers_left > 0) {
        actor_sleep(150000);
        for (int i = 0; i < MOVERS; i++) {
            const struct mover *mover = &play.movers[i];
            redlatch_hold state = {.struct_size = sizeof state};
            if (!mover->calling && redlatch_lock_hold_status(mover->lock, mover->owner, &state) == REDLATCH_OK &&
                !mover->calling) {
                checks_hold(redlatch_client_uuid(mover->client->client), mover->name, &state);
            }
        }
    }
}

static void judge_end(const struct moving *client) {
    int moves = checks_moves(redlatch_client_uuid(client->client));
    if (does(MOVES_BY_LIST | MOVES_BY_SENTINEL) && moves > 0 && client->moves_notified == 0) {
        checks_violated("a client moved %d times and told of none", moves);
    }
    redlatch_stats stats = {.struct_size = sizeof stats};
    redlatch_client_stats(client->client, &stats);
    if (!does(MOVES_ANY & ~CHANGES_PASSWORDS) && stats.reconnects > 0) {
        checks_violated("a client connected again although nothing but passwords changed");
    }
}

/* ---------------------------------------------------------------------------------------------------------- run -- */

static void open_all(void) {
    redlatch_client_options options = {0};
    redlatch_client_options_init(&options, sizeof options);
    options.watchdog_lease_ms = 3000;
    options.command_timeout_ms = 1000;
    options.connect_timeout_ms = 600;
    options.unreachable_timeout_ms = 2000;
    options.dead_peer_timeout_ms = 1000;
    options.dns_interval_ms = 500;
    options.linger_ms = 300;
    options.password = does(CHANGES_PASSWORDS) ? passwords[0] : NULL;
    const char *url = does(MOVES_BY_LIST)       ? "redis+replicas://s0:6400,s1:6400,s2:6400"
                      : does(MOVES_BY_SENTINEL) ? "redis+sentinel://s3:6400,s4:6400/service"
                                                : "redis://s9:6400";
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        int status = log_call("open", redlatch_client_open(url, &options, &play.clients[i].client));
        checks_status("open", status);
    }
    for (int i = 0; i < MOVERS; i++) {
        struct mover *mover = &play.movers[i];
        mover->client = &play.clients[i % MOVING_CLIENTS];
        mover->name = lock_names[i / 2 % 2];
        mover->calling = true;
        redlatch_owner_new(&mover->owner);
        log_call("lock", redlatch_lock_new(mover->client->client, REDLATCH_MUTEX, mover->name, strlen(mover->name),
                                           NULL, &mover->lock));
    }
}

static void set_up(const struct scenario *scenario) {
    memset(&play, 0, sizeof play);
    play.scenario = scenario;
    play.movers_left = MOVERS;
    checks_begin(does(IS_BALANCED), does(MOVES_BY_PROXY));
    for (int server = 1; server < SERVERS && !does(IS_BALANCED); server++) {
        model_server_demote(server);
    }
    names_lead(NAMED, 0);
    if (does(MOVES_BY_PROXY | IS_BALANCED)) {
        names_lead(NAMED, NAMED);
        lines_lead(NAMED, 0, does(IS_BALANCED));
    }
    if (does(CHANGES_PASSWORDS)) {
        model_server_let_in(0, passwords[0], NULL);
    }
    checks_led_to(0);
    wrapped_memory_secrets = 0;
    wrapped_memory_seeks = does(CHANGES_PASSWORDS);
}

void moves_run(void *context) {
    set_up(context);
    open_all();
    struct actor *actors[MOVERS + MOVING_CLIENTS + 2];
    int count = 0;
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        actors[count++] = actor_start("listener", listen_to, &play.clients[i]);
    }
    for (int i = 0; i < MOVERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "mover %d", i);
        actors[count++] = actor_start(name, move_about, &play.movers[i]);
    }
    actors[count++] = actor_start("operator", operate, NULL);
    actors[count++] = actor_start("judge", judge, NULL);
    for (int i = 0; i < count; i++) {
        actor_join(actors[i]);
    }
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        judge_end(&play.clients[i]);
    }
    if (does(IS_BALANCED) && play.unsupported == 0) {
        checks_violated("a proxy balances, and no call says so");
    }
    for (int i = 0; i < MOVERS; i++) {
        redlatch_lock_free(play.movers[i].lock);
    }
    for (int i = 0; i < MOVING_CLIENTS; i++) {
        redlatch_client_free(play.clients[i].client);
    }
    wrapped_memory_seeks = false;
    if (wrapped_memory_secrets > 0) {
        checks_violated("%ld blocks of memory were freed with a password in them", wrapped_memory_secrets);
    }
    if (descriptors_open() > 0) {
        checks_violated("%d descriptors are open", descriptors_open());
    }
}
