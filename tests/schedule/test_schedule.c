/* Compares what the whole library above its system calls does with what was recorded: what it writes, when and how long
 * it sleeps, which threads it wakes, and what its calls return.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   test_schedule [SCENARIO]              compares with recorded digests, without a name for all scenarios
 *   test_schedule --first                 the same, until something differs
 *   test_schedule --write                 prints digests to be recorded
 *   test_schedule --faults                plants faults; each must be found
 *   test_schedule --show SCENARIO SEED    prints a trace, to be compared between two builds by diff
 *
 * After an intended change, record it: `--write` into tests/schedule/expected.txt. The diff of two `--show` is the
 * change. Each scenario runs in a process of its own, so that no number depends on other scenarios. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "find_planted.h"
#include "model_servers.h"
#include "move_checks.h"
#include "moves.h"
#include "names.h"
#include "players.h"
#include "schedule.h"
#include "wrapped_system.h"

#ifndef EXPECTED_DIGESTS
#define EXPECTED_DIGESTS "expected.txt"
#endif

/* With a sanitizer or coverage all seeds would take several times as long, so only the first few are run. */
enum { SEEDS_FEW = 10, SEEDS = 60 };
#ifdef IS_SLOW
static const bool is_slow = true;
#else
static const bool is_slow = false;
#endif

#define ALL_KINDS \
    {REDLATCH_MUTEX, REDLATCH_FENCED, REDLATCH_FAIR, REDLATCH_SPIN, REDLATCH_READ, REDLATCH_WRITE, REDLATCH_PLAIN, 0}

static const struct scenario scenarios[] = {
    {"one_caller", {REDLATCH_MUTEX, 0}, CALLS_LOCKS, 1, 1, 30, false},
    {"callers_of_a_mutex", {REDLATCH_MUTEX, 0}, CALLS_LOCKS, 6, 1, 16, false},
    {"two_clients", {REDLATCH_MUTEX, REDLATCH_FENCED, 0}, CALLS_LOCKS, 4, 2, 20, false},
    {"fair", {REDLATCH_FAIR, 0}, CALLS_LOCKS, 4, 2, 16, true},
    {"many_fair", {REDLATCH_FAIR, 0}, CALLS_LOCKS, 14, 2, 12, true},
    {"read_write", {REDLATCH_READ, REDLATCH_WRITE, 0}, CALLS_LOCKS, 4, 2, 16, true},
    {"group_and_plain", {REDLATCH_GROUP, REDLATCH_PLAIN, REDLATCH_SPIN, 0}, CALLS_LOCKS, 4, 2, 16, true},
    {"troubled", {REDLATCH_MUTEX, REDLATCH_FENCED, 0}, CALLS_LOCKS, 4, 2, 20, true},
    {"counts", {REDLATCH_MUTEX, 0}, CALLS_COUNTS, 4, 2, 24, false},
    {"troubled_counts", {REDLATCH_MUTEX, 0}, CALLS_COUNTS, 4, 2, 24, true},
    {"started", {REDLATCH_MUTEX, REDLATCH_FAIR, 0}, CALLS_STARTED, 3, 1, 30, false},
    {"troubled_started",
     {REDLATCH_MUTEX, REDLATCH_READ, REDLATCH_WRITE, 0},
     CALLS_STARTED | CALLS_LOCKS,
     4,
     2,
     20,
     true},
    {"reports", ALL_KINDS, CALLS_REPORTS | CALLS_LOCKS | CALLS_COUNTS, 3, 2, 24, false},
    {"troubled_reports", ALL_KINDS, CALLS_REPORTS | CALLS_LOCKS, 4, 2, 24, true},
    {"composites", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COMPOSITES, 4, 3, 16, false},
    {"troubled_composites", {REDLATCH_FENCED, 0}, CALLS_LOCKS | CALLS_STARTED | CALLS_COMPOSITES, 4, 3, 16, true},
    {"composites_by_host_name", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COMPOSITES | BY_HOST_NAME, 4, 3, 16, true},
    {"troubled_sets",
     {REDLATCH_MUTEX, REDLATCH_PLAIN, 0},
     CALLS_LOCKS | CALLS_STARTED | CALLS_COMPOSITES,
     4,
     1,
     20,
     true},
    {"closed_early", {REDLATCH_MUTEX, REDLATCH_FAIR, 0}, CALLS_LOCKS | CALLS_STARTED | CLOSES_EARLY, 5, 1, 12, true},
    {"closed_composites", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COMPOSITES | CLOSES_EARLY, 4, 3, 8, false},
    {"by_host_name",
     {REDLATCH_MUTEX, REDLATCH_FAIR, 0},
     CALLS_LOCKS | CALLS_COUNTS | CALLS_STARTED | BY_HOST_NAME,
     4,
     2,
     20,
     true},
    {"long_waits",
     {REDLATCH_MUTEX, REDLATCH_FAIR, REDLATCH_READ, REDLATCH_WRITE, 0},
     CALLS_LOCKS | CALLS_COUNTS | CALLS_STARTED | LONG_WAITS,
     5,
     2,
     16,
     true},
    {"misuse", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_MISUSE, 1, 1, 1, false},
    {"resumed", {REDLATCH_MUTEX, REDLATCH_FENCED, 0}, CALLS_LOCKS | CALLS_COUNTS | CALLS_WAITS, 4, 2, 24, false},
    {"troubled_resumed",
     {REDLATCH_MUTEX, REDLATCH_FAIR, 0},
     CALLS_LOCKS | CALLS_COUNTS | CALLS_WAITS | CALLS_COMPOSITES,
     4,
     2,
     20,
     true},
    {"closed_resumed", {REDLATCH_MUTEX, 0}, CALLS_COUNTS | CALLS_WAITS | CLOSES_EARLY, 5, 1, 10, true},
    {"reset", {REDLATCH_MUTEX, REDLATCH_FAIR, 0}, CALLS_LOCKS | CALLS_STARTED | RESETS, 5, 1, 20, true},
    {"flooded", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | FLOODS, 5, 1, 16, false},
    {"crowded", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COUNTS, 40, 1, 8, false},
    {"starved", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COUNTS | STARVES, 40, 1, 8, false},
    {"composites_in_outages", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COMPOSITES | OUTAGES, 4, 3, 16, true},
    {"shortages", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | PLAYS_SHORTAGES, 1, 1, 1, false},
    {"moves_by_name", {0}, MOVES_BY_NAME, 0, 0, 0, false},
    {"moves_by_proxy", {0}, MOVES_BY_PROXY, 0, 0, 0, false},
    {"moves_by_list", {0}, MOVES_BY_LIST, 0, 0, 0, false},
    {"moves_by_sentinel", {0}, MOVES_BY_SENTINEL, 0, 0, 0, false},
    {"balanced", {0}, IS_BALANCED, 0, 0, 0, false},
    {"passwords", {0}, CHANGES_PASSWORDS, 0, 0, 0, false},
    {"everything", ALL_KINDS, CALLS_LOCKS | CALLS_COUNTS | CALLS_STARTED | CALLS_REPORTS, 6, 2, 20, true},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* Returns the first violation, or NULL. */
static const char *run(const struct scenario *scenario, uint64_t seed, FILE *out) {
    long allocated = wrapped_memory_count();
    schedule_begin(seed, out);
    descriptors_begin();
    names_begin();
    wrapped_system_begin();
    model_servers_begin();
    bool moves = scenario->calls & MOVES_ANY;
    actor_start("main", moves ? moves_run : players_run, (void *)(uintptr_t)scenario);
    schedule_play();
    for (int i = 0; i < SERVERS; i++) {
        model_server_show(i);
    }
    model_servers_end();
    trace("%ld allocations are left", wrapped_memory_count() - allocated);
    return moves ? checks_violation() : NULL;
}

/* The digest of the traces of the first few seeds, and that of all. */
struct digests {
    uint64_t few, all;
};

/* FNV-1a */
static struct digests digests_of(const struct scenario *scenario) {
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    struct digests digests = {0};
    bool few = is_slow || scenario->calls & (CALLS_MISUSE | PLAYS_SHORTAGES); /* there is little randomness in these */
    for (uint64_t seed = 1; seed <= (few ? SEEDS_FEW : SEEDS); seed++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        const char *wrong = run(scenario, seed, out);
        fclose(out);
        if (wrong) {
            printf("%s, seed %" PRIu64 ": %s\n", scenario->name, seed, wrong);
            exit(1);
        }
        for (size_t i = 0; i < size; i++) {
            digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        }
        free(text);
        digests.few = seed == SEEDS_FEW ? digest : digests.few;
    }
    digests.all = digest;
    return digests;
}

/* Makes the digests in a child process. Returns 0 on failure. */
static struct digests digests_apart(const struct scenario *scenario) {
    int ends[2];
    struct digests digests = {0};
    if (pipe(ends) != 0) {
        return digests;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        digests = digests_of(scenario);
        exit(write(ends[1], &digests, sizeof digests) == sizeof digests ? 0 : 1);
    }
    close(ends[1]);
    bool got = read(ends[0], &digests, sizeof digests) == sizeof digests;
    close(ends[0]);
    int status = 1;
    waitpid(child, &status, 0);
    return got && status == 0 ? digests : (struct digests){0};
}

static struct digests recorded(const char *name) {
    FILE *file = fopen(EXPECTED_DIGESTS, "r");
    char word[64];
    struct digests digests;
    struct digests found = {0};
    while (file && fscanf(file, "%63s %" SCNx64 " %" SCNx64, word, &digests.few, &digests.all) == 3) {
        found = strcmp(word, name) == 0 ? digests : found;
    }
    if (file) {
        fclose(file);
    }
    return found;
}

static int compare(const char *name, bool first) {
    int passed = 0;
    int failed = 0;
    for (int i = 0; i < SCENARIOS && !(first && failed); i++) {
        const char *its = scenarios[i].name;
        if (name && strcmp(name, its) != 0) {
            continue;
        }
        struct digests digests = digests_apart(&scenarios[i]);
        struct digests expected = recorded(its);
        if (digests.few == 0 || digests.few != expected.few || (!is_slow && digests.all != expected.all)) {
            printf("%s: %s; see `test_schedule --show %s SEED` with seeds from 1 to %d\n", its,
                   digests.few ? "does something else than was recorded" : "did not end well", its, SEEDS);
            failed++;
        } else {
            passed++;
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}

static const struct scenario *scenario_named(const char *name) {
    int i = 0;
    while (i < SCENARIOS && strcmp(scenarios[i].name, name) != 0) {
        i++;
    }
    return i < SCENARIOS ? &scenarios[i] : NULL;
}

/* Plays a seed in a child process. A child that ends by a signal or with an error has found the fault, too. */
static bool plays_wrong(const char *name, uint64_t seed) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        const char *wrong = run(scenario_named(name), seed, out);
        if (wrong) {
            printf("%s, seed %" PRIu64 ": %s\n", name, seed, wrong);
        }
        fflush(stdout);
        _exit(wrong ? 1 : 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("%s, seed %" PRIu64 ": ended by signal %d\n", name, seed, WTERMSIG(status));
    }
    return status != 0;
}

static int show(const char *name, const char *seed) {
    const struct scenario *scenario = scenario_named(name);
    if (scenario) {
        run(scenario, strtoull(seed, NULL, 10), stdout);
        return 0;
    }
    fprintf(stderr, "'%s' is no scenario; expected a name of tests/schedule/expected.txt\n", name);
    return 2;
}

/* Only one thread runs at a time, so switching between them is fastest on one processor. */
static void stay_on_one_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv) {
    stay_on_one_processor();
    model_servers_open();
    if (argc > 3 && strcmp(argv[1], "--show") == 0) {
        return show(argv[2], argv[3]);
    }
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        for (int i = 0; i < SCENARIOS; i++) {
            struct digests digests = digests_apart(&scenarios[i]);
            printf("%s %016" PRIx64 " %016" PRIx64 "\n", scenarios[i].name, digests.few, digests.all);
        }
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--faults") == 0) {
        return find_planted(plays_wrong);
    }
    bool first = argc > 1 && strcmp(argv[1], "--first") == 0;
    return compare(argc > 1 && !first ? argv[1] : NULL, first);
}
