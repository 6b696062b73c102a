/* Plays each story again and again: with the first, the second, the third allocation failing, until no allocation fails
 * any more; then with each system function failing at its first, second and third call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "shortages.h"

#include "model_servers.h"
#include "schedule.h"
#include "wrapped_system.h"

static const char *const functions[] = {
    "pthread_setspecific", "system_random",  "gethostname",    "system_signal_new",   "system_alarm_new",
    "system_alarm_set",    "system_set_new", "system_set_add", "system_thread_start", "socket_connecting"};

enum { ALLOCATIONS_MAX = 400, TURNS = 3 };

static redlatch_client *open_client(const char *url) {
    redlatch_client *client = NULL;
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    options.watchdog_lease_ms = 600;
    options.command_timeout_ms = 1000;
    options.connect_timeout_ms = 300;
    options.unreachable_timeout_ms = 500;
    options.linger_ms = 0;
    log_call("open", redlatch_client_open(url, &options, &client));
    return client;
}

/* `allocation` 0: no allocation fails. `function` NULL: no function fails. */
static void play(const struct story *story, int allocation, const char *function, int turn) {
    struct cast cast = {.client = open_client("unix:///s0"), .other = open_client("unix:///s1")};
    redlatch_owner_new(&cast.owner);
    redlatch_owner_new(&cast.other_owner);
    for (int server = 0; server < SERVERS; server++) {
        model_server_forget_scripts(server); /* texts of scripts need more memory than there is */
    }
    wrapped_memory_fail(allocation);
    wrapped_system_fail(function, turn);
    story->play(&cast);
    log_call("owner's end", redlatch_owner_end(cast.owner));
    log_call("owner's end", redlatch_owner_end(cast.other_owner));
    redlatch_client_free(cast.client);
    redlatch_client_free(cast.other);
    wrapped_system_fail(NULL, 0);
}

static void play_all(const struct story *story) {
    bool failed = true;
    for (int number = 1; failed && number <= ALLOCATIONS_MAX; number++) {
        long allocated = wrapped_memory_count();
        trace("%s: allocation %d is to fail", story->name, number);
        play(story, number, NULL, 0);
        failed = wrapped_memory_has_failed();
        wrapped_memory_fail(0);
        trace("%ld allocations are left", wrapped_memory_count() - allocated);
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        for (int turn = 1; turn <= TURNS; turn++) {
            trace("%s: %s is to fail at turn %d", story->name, functions[i], turn);
            play(story, 0, functions[i], turn);
        }
    }
}

void shortages_play(void) {
    play_all(&stories[schedule_seed() % (uint64_t)story_count]);
}
