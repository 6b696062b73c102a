/* Fuzz target: the engine, with calls, replies, broken connections, messages and passing time in any order. After every
 * step its records must be consistent (engine_checks.c). At the end all calls and holds are ended, and the engine must
 * give back all its memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input: a byte for the kind of each name, then steps. A step is a byte that chooses it and bytes for its
 * arguments. */
#include <stdarg.h>

#include "engine_play.h"
#include "kinds.h"

enum { STEPS_MAX = 500, ROUNDS_MAX = 1000, LOCK_KINDS = 10 };

struct play play;

void play_tell(const char *format, ...) {
    if (play.tells) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
    }
}

const char *play_name(unsigned number) {
    static const char *const names[NAMES] = {"a", "b", "c", "d"};
    rig.lock_kind = play.kinds[number % NAMES];
    rig.value_count = rig.lock_kind == REDLATCH_GROUP ? 2 : 0;
    return names[number % NAMES];
}

/* ------------------------------------------------------------------------------------------------------- steps -- */

static void pass(int64_t microseconds) {
    int64_t end = rig.now + microseconds;
    check_engine();
    uint32_t most = commands_at_most();
    for (int i = 0; i < 10000 && engine_next_timer(&rig.engine) <= end; i++) {
        int64_t at = engine_next_timer(&rig.engine);
        rig.now = at > rig.now ? at : rig.now;
        rig_supply(); /* as the background thread does */
        engine_run_timers(&rig.engine, rig.now);
        rig_turn();
        MUST(engine_next_timer(&rig.engine) > rig.now); /* else a driver would spin */
        check_engine();
    }
    MUST(engine_next_timer(&rig.engine) > end && commands_under_way() <= most);
    rig.now = end;
}

/* Time passes. Each timer runs at its time, or all run late. */
static void play_time(void) {
    uint8_t how = input_byte(play.input);
    int64_t next = engine_next_timer(&rig.engine);
    int64_t amount = how < 64    ? how * MILLISECOND
                     : how < 160 ? (next == NEVER || next < rig.now ? 0 : next - rig.now)
                     : how < 224 ? (how - 159) * SECOND
                                 : (how - 223) * 60 * SECOND;
    bool late = amount > 0 && how % 4 == 3;
    play_tell("%lld ms pass%s", (long long)(amount / MILLISECOND), late ? ", and timers run late" : "");
    if (late) {
        rig.now += amount;
    }
    pass(late ? 0 : amount);
    if (how % 2) {
        play_callers_inspect();
    }
}

static void play_losses(void) {
    uint8_t how = input_byte(play.input);
    enum loss_queue queue = (enum loss_queue)(how % LOSS_QUEUES);
    play_tell("losses of queue %d are taken", (int)queue);
    if (how & 0x80) {
        rig_losses(queue, NULL);
    } else if (engine_first_loss(&rig.engine, queue)) {
        engine_loss_taken(&rig.engine, queue);
        rig_turn();
    }
}

/* A step that should be frequent occurs several times. */
static void (*const steps[])(void) = {
    play_acquire,     play_acquire,       play_acquire,       play_release,         play_release, play_other_call,
    play_acquire_set, play_release_set,   play_abort,         play_claim,           play_send,    play_send,
    play_send,        play_answer,        play_answer,        play_answer,          play_answer,  play_connection,
    play_connection,  play_subscriptions, play_subscriptions, play_round,           play_round,   play_round,
    play_message,     play_time,          play_time,          play_callers_inspect, play_losses,  play_give_back,
    play_owner_end,
};

enum { STEPS = sizeof steps / sizeof steps[0] };

/* --------------------------------------------------------------------------------------------------------- end -- */

static void end_calls(void) {
    struct list_link *link;
    while ((link = list_first(&rig.engine.operations)) != NULL) {
        engine_abort(&rig.engine, container_of(link, struct operation, all), REDLATCH_CLOSED, rig.now);
        rig_turn();
        check_engine();
    }
    for (struct call *call = rig.calls; call; call = call->next) {
        if (call->operation) {
            engine_unclaimed(&rig.engine, call->operation);
            rig_claim(call);
        }
    }
    check_engine();
}

static struct hold *first_hold(bool (*wanted)(const struct hold *hold)) {
    for (uint32_t i = 0; i < rig.engine.resources.bucket_count; i++) {
        for (struct resource *resource = rig.engine.resources.buckets[i]; resource; resource = resource->next) {
            for (struct hold *hold = resource->holds; hold; hold = hold->next) {
                if (wanted(hold)) {
                    return hold;
                }
            }
        }
    }
    return NULL;
}

static bool is_gone(const struct hold *hold) {
    return hold->stage == HOLD_GONE;
}

static bool is_permit(const struct hold *hold) {
    return hold->stage == HOLD_ALIVE && hold->lock_kind == REDLATCH_PERMIT_SEMAPHORE && hold->deferred_releases == 0;
}

static void end_holds(void) {
    struct hold *hold;
    for (uint64_t owner = 1; owner <= OWNERS; owner++) {
        engine_owner_end(&rig.engine, owner, rig.now);
        rig_turn();
    }
    while ((hold = first_hold(is_permit)) != NULL) {
        rig_supply();
        engine_give_back(&rig.engine, hold, rig.now);
        rig_turn();
    }
    while ((hold = first_hold(is_gone)) != NULL) {
        engine_forget_lost(&rig.engine, hold, rig.now);
        rig_turn();
    }
    check_engine();
}

/* Used one after the other. The second is idle unless there is a cluster. */
static struct server *const servers[] = {&rig.server, &rig.second};

static void resolve_connections(void) {
    for (int i = 0; i < 2; i++) {
        rig.at = servers[i];
        for (int pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
            rig_lost((enum pipeline_role)pipeline);
            rig_ready((enum pipeline_role)pipeline, RESOLVED_BY_KILL);
            check_engine();
        }
        engine_subscriptions_lost(&rig.engine, rig.at, rig.now);
        rig_turn();
    }
}

/* Answers all commands until none is left. This ends, since whatever the engine repeats has an end. */
static void end_commands(void) {
    for (int round = 0;; round++) {
        MUST(round < ROUNDS_MAX);
        bool requested = false;
        for (int number = 0; number < 2 * PIPELINE_COUNT; number++) {
            enum pipeline_role pipeline = (enum pipeline_role)(number % PIPELINE_COUNT);
            rig.at = servers[number / PIPELINE_COUNT];
            while (rig_send(pipeline)) {
                play_answer_plainly(pipeline);
                requested = true;
                MUST(++round < 100 * ROUNDS_MAX);
            }
        }
        for (int i = 0; i < 2; i++) {
            rig.at = servers[i];
            requested = rig_subscriptions() > 0 || requested;
        }
        check_engine();
        if (!requested && engine_next_timer(&rig.engine) == NEVER) {
            return;
        }
        if (!requested) {
            pass(engine_next_timer(&rig.engine) - rig.now);
        }
        end_holds();
    }
}

static void play_input(const uint8_t *bytes, size_t size, uint32_t min_replicas, bool cluster) {
    struct input input = {bytes, size};
    play.cluster = cluster;
    if (cluster) {
        rig_open_cluster();
    } else {
        rig_open();
    }
    rig.engine.settings.min_replicas = min_replicas;
    play.input = &input;
    list_init(&play.unanswered);
    play.tells = getenv("REDLATCH_FUZZ_TRACE") != NULL;
    for (int i = 0; i < NAMES; i++) {
        uint8_t kind = (uint8_t)(1 + input_below(&input, LOCK_KINDS + 1));
        play.kinds[i] = kind_of_names(kind);
        play_tell("%s is a %s", play_name((unsigned)i), redlatch_kind_name(play.kinds[i]));
    }
    for (int i = 0; i < STEPS_MAX && input.size > 0; i++) {
        unsigned choice = input_byte(&input);
        if (cluster) {
            play_cluster(choice / STEPS);
        }
        steps[choice % STEPS]();
        check_engine();
    }
    play_tell("all is over");
    play_reroute();
    resolve_connections();
    end_calls();
    end_holds();
    end_commands();
    const char *left = rig_close();
    if (strcmp(left, "nothing") != 0) {
        fprintf(stderr, "at the end there was left: %s\n", left);
        abort();
    }
}

/* Plays the input three times: as usual, with grants that a replica must acknowledge, and with a cluster. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    play_input(bytes, size, 0, false);
    play_input(bytes, size, 1, false);
    play_input(bytes, size, 0, true);
    return 0;
}
