/* The whole library above its system calls does, on a schedule, what it did when that was recorded: what it writes,
 * when it sleeps and for how long, whom it wakes, what its calls say.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   test_schedule [SCENARIO]              compares with recorded digests; of all scenarios without a name
 *   test_schedule --first                 the same, until something differs
 *   test_schedule --write                 prints digests to be recorded
 *   test_schedule --show SCENARIO SEED    prints a trace, to be compared between two builds by diff
 *
 * A change that is meant is recorded anew: `--write` into tests/schedule/expected.txt. The diff of two `--show` says
 * what has changed. Each scenario runs in a process of its own, so that no number depends on another one. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "model_servers.h"
#include "players.h"
#include "schedule.h"
#include "wrapped_system.h"

#ifndef EXPECTED_DIGESTS
#define EXPECTED_DIGESTS "expected.txt"
#endif

enum { SEEDS = 30 };

#define ALL_KINDS \
    {REDLATCH_MUTEX, REDLATCH_FENCED, REDLATCH_FAIR, REDLATCH_SPIN, REDLATCH_READ, REDLATCH_WRITE, REDLATCH_PLAIN, 0}

static const struct scenario scenarios[] = {
    {"one_caller", {REDLATCH_MUTEX, 0}, CALLS_LOCKS, 1, 1, 30, false},
    {"callers_of_a_mutex", {REDLATCH_MUTEX, 0}, CALLS_LOCKS, 6, 1, 16, false},
    {"two_clients", {REDLATCH_MUTEX, REDLATCH_FENCED, 0}, CALLS_LOCKS, 4, 2, 20, false},
    {"fair", {REDLATCH_FAIR, 0}, CALLS_LOCKS, 4, 2, 16, true},
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
    {"composites", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COMPOSITES, 4, 3, 16, false},
    {"troubled_composites", {REDLATCH_FENCED, 0}, CALLS_LOCKS | CALLS_STARTED | CALLS_COMPOSITES, 4, 3, 16, true},
    {"closed_early", {REDLATCH_MUTEX, REDLATCH_FAIR, 0}, CALLS_LOCKS | CALLS_STARTED | CLOSES_EARLY, 5, 1, 12, true},
    {"closed_composites", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_COMPOSITES | CLOSES_EARLY, 4, 3, 8, false},
    {"misuse", {REDLATCH_MUTEX, 0}, CALLS_LOCKS | CALLS_MISUSE, 1, 1, 1, false},
    {"everything", ALL_KINDS, CALLS_LOCKS | CALLS_COUNTS | CALLS_STARTED | CALLS_REPORTS, 6, 2, 20, true},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static void run(const struct scenario *scenario, uint64_t seed, FILE *out) {
    schedule_begin(seed, out);
    descriptors_begin();
    wrapped_system_begin();
    model_servers_begin();
    actor_start("main", players_run, (void *)(uintptr_t)scenario);
    schedule_play();
    for (int i = 0; i < SERVERS; i++) {
        model_server_show(i);
    }
    model_servers_end();
}

/* FNV-1a of all traces of a scenario. */
static uint64_t digest_of(const struct scenario *scenario) {
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        run(scenario, seed, out);
        fclose(out);
        for (size_t i = 0; i < size; i++) {
            digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        }
        free(text);
    }
    return digest;
}

/* The digest, made in a child; 0 if that fails. */
static uint64_t digest_apart(const struct scenario *scenario) {
    int ends[2];
    uint64_t digest = 0;
    if (pipe(ends) != 0) {
        return 0;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        digest = digest_of(scenario);
        exit(write(ends[1], &digest, sizeof digest) == sizeof digest ? 0 : 1);
    }
    close(ends[1]);
    bool got = read(ends[0], &digest, sizeof digest) == sizeof digest;
    close(ends[0]);
    int status = 1;
    waitpid(child, &status, 0);
    return got && status == 0 ? digest : 0;
}

static uint64_t recorded(const char *name) {
    FILE *file = fopen(EXPECTED_DIGESTS, "r");
    char word[64];
    uint64_t digest = 0;
    uint64_t found = 0;
    while (file && fscanf(file, "%63s %" SCNx64, word, &digest) == 2) {
        found = strcmp(word, name) == 0 ? digest : found;
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
        uint64_t digest = digest_apart(&scenarios[i]);
        if (digest == 0 || digest != recorded(its)) {
            printf("%s: %s; see `test_schedule --show %s SEED` with seeds from 1 to %d\n", its,
                   digest ? "does something else than was recorded" : "did not end well", its, SEEDS);
            failed++;
        } else {
            passed++;
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}

static int show(const char *name, const char *seed) {
    for (int i = 0; i < SCENARIOS; i++) {
        if (strcmp(scenarios[i].name, name) == 0) {
            run(&scenarios[i], strtoull(seed, NULL, 10), stdout);
            return 0;
        }
    }
    fprintf(stderr, "'%s' is no scenario; expected a name of tests/schedule/expected.txt\n", name);
    return 2;
}

int main(int argc, char **argv) {
    model_servers_open();
    if (argc > 3 && strcmp(argv[1], "--show") == 0) {
        return show(argv[2], argv[3]);
    }
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        for (int i = 0; i < SCENARIOS; i++) {
            printf("%s %016" PRIx64 "\n", scenarios[i].name, digest_apart(&scenarios[i]));
        }
        return 0;
    }
    bool first = argc > 1 && strcmp(argv[1], "--first") == 0;
    return compare(argc > 1 && !first ? argv[1] : NULL, first);
}
