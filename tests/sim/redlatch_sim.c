/* redlatch_sim: the deterministic simulation of several clients, a server with the real scripts, and a hostile world.
 * SPDX-License-Identifier: Apache-2.0
 *
 * redlatch_sim --seeds N [--first S] [--jobs J]   runs seeds; fails on a violation, and when something was never
 * reached
 *   redlatch_sim --seed S [--trace]                 runs one seed again, in words
 * redlatch_sim --faults [--seeds N]               plants faults one at a time; each must be found within N seeds
 * (2000)
 *   --kind NAME                                     locks of that kind (mutex); with --sets also mixed
 *   --sets                                          several at once, too; with --faults, what only they do wrong
 *   --scripts DIR                                   runs the .lua files of a folder instead of the embedded scripts */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kind_limits.h"
#include "kinds.h"
#include "planted.h"
#include "planted_scripts.h"
#include "world.h"

enum { KINDS_END = 32 };

/* A seed takes some hundredths of a second of processor time; SEED_SECONDS are used up by an endless loop only. */
enum { JOBS_MAX = 16, FAULT_SEEDS = 2000, FULL_RUN = 1000, SEED_SECONDS = 20 };

struct options {
    uint64_t seeds;
    uint64_t first;
    uint64_t seed;
    int jobs;
    uint8_t lock_kind;
    bool one, faults, trace, sets;
    const char *scripts;
};

/* What the workers tell the parent, in memory they share. */
struct tally {
    struct coverage coverage;
    uint64_t runs;
    uint64_t steps;
    bool failed;
    uint64_t failing_seed;
    uint64_t script_runs[SCRIPT_COUNT];
};

static sigjmp_buf seed_broken_off;
static volatile sig_atomic_t running_seed;

/* An assertion failed, or the processor time of a seed is used up. */
static void on_signal(int number) {
    if (running_seed) {
        running_seed = 0;
        siglongjmp(seed_broken_off, number);
    }
}

/* The next so many seconds of processor time; 0: no bound. */
static void bound_processor_time(time_t seconds) {
    struct itimerval bound = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_VIRTUAL, &bound, NULL);
}

/* Runs a seed; an assertion or an endless loop in the engine is a violation like any other. What it had allocated then
 * stays so. */
static bool run_seed(struct world *world, uint64_t seed, const struct options *options, struct script_set *scripts,
                     enum trace_mode mode) {
    int number = sigsetjmp(seed_broken_off, 1);
    if (number == 0) {
        running_seed = 1;
        bound_processor_time(SEED_SECONDS);
        world_run(world, seed, options->lock_kind, options->sets, scripts, mode);
        running_seed = 0;
        bound_processor_time(0);
        return !world->failed;
    }
    bound_processor_time(0);
    if (number == SIGVTALRM) {
        world_violation(world, "an event does not come to an end", "%d s of processor time", SEED_SECONDS);
    } else {
        world_violation(world, "an assertion failed", "see above");
    }
    return false;
}

static const char *kind_word(uint8_t kind) {
    return kind == KINDS_MIXED ? "mixed" : redlatch_kind_name(kind);
}

static void print_commit(void) {
    char line[64] = "";
    FILE *git = popen("git rev-parse --short HEAD 2>/dev/null", "r");
    if (git) {
        if (fgets(line, sizeof line, git)) {
            fprintf(stderr, "commit: %s", line);
        }
        pclose(git);
    }
}

static int report_failure(uint64_t seed, const struct options *options, struct script_set *scripts) {
    struct world *world = allocate(1, sizeof *world);
    run_seed(world, seed, options, scripts, TRACE_LAST);
    trace_print(&world->trace, stderr);
    fprintf(stderr, "seed: %llu\n", (unsigned long long)seed);
    print_commit();
    fprintf(stderr, "violated: %s (%s)\nagain: redlatch_sim%s --kind %s --seed %llu --trace\n", world->rule,
            world->detail, options->sets ? " --sets" : "", kind_word(options->lock_kind), (unsigned long long)seed);
    return 1;
}

static void work(const struct options *options, struct script_set *scripts, int job, struct tally *tallies) {
    struct world *world = allocate(1, sizeof *world);
    struct tally *tally = &tallies[job];
    for (uint64_t i = (uint64_t)job; i < options->seeds; i += (uint64_t)options->jobs) {
        for (int other = 0; other < options->jobs; other++) {
            if (tallies[other].failed) {
                free(world);
                return;
            }
        }
        if (!run_seed(world, options->first + i, options, scripts, TRACE_OFF)) {
            tally->failing_seed = options->first + i;
            tally->failed = true;
            free(world);
            return;
        }
        tally->runs++;
        tally->steps += world->steps;
        coverage_add(&tally->coverage, &world->coverage);
        world_free(world);
    }
    memcpy(tally->script_runs, scripts->runs, sizeof tally->script_runs);
    free(world);
}

static int run_many(const struct options *options, struct script_set *scripts) {
    struct tally *tallies = mmap(NULL, sizeof *tallies * JOBS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                 -1, 0);
    struct tally total = {0};
    if (tallies == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (int job = 1; job < options->jobs; job++) {
        if (fork() == 0) {
            work(options, scripts, job, tallies);
            _exit(0);
        }
    }
    work(options, scripts, 0, tallies);
    bool died = false;
    for (int job = 1; job < options->jobs; job++) {
        int status = 0;
        wait(&status);
        died = died || status != 0;
    }
    for (int job = 0; job < options->jobs; job++) {
        if (tallies[job].failed) {
            return report_failure(tallies[job].failing_seed, options, scripts);
        }
        coverage_add(&total.coverage, &tallies[job].coverage);
        total.runs += tallies[job].runs;
        total.steps += tallies[job].steps;
        for (int script = 0; script < SCRIPT_COUNT; script++) {
            total.script_runs[script] += tallies[job].script_runs[script];
        }
    }
    int zeros = coverage_print(&total.coverage, options->lock_kind, options->seeds, stdout);
    script_runs_print(total.script_runs);
    printf("%llu seeds, %llu events, no violation\n", (unsigned long long)total.runs, (unsigned long long)total.steps);
    if (died) {
        fprintf(stderr, "a worker died\n");
        return 1;
    }
    bool all = !options->sets; /* sets are never handed over, and so leave few that follow each other */
    if (zeros > 0 && all && options->seeds >= FULL_RUN) {
        fprintf(stderr, "%d points were never reached\n", zeros);
        return 1;
    }
    return 0;
}

static int run_one(const struct options *options, struct script_set *scripts) {
    struct world *world = allocate(1, sizeof *world);
    if (!run_seed(world, options->seed, options, scripts, options->trace ? TRACE_ALL : TRACE_OFF)) {
        free(world);
        return report_failure(options->seed, options, scripts);
    }
    printf("seed %llu: %llu events, %.3f s, no violation\n", (unsigned long long)options->seed,
           (unsigned long long)world->steps, (double)world->now / 1e6);
    world_free(world);
    free(world);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ planted faults -- */

static const char *const fault_names[FAULT_COUNT] = {
    [FAULT_NO_MARGIN] = "safe time longer than the lease",
    [FAULT_DEADLINE_FROM_REPLY] = "validity counted from the reply",
    [FAULT_RENEWAL_OUTLIVES_RELEASE] = "renewal outlives release",
    [FAULT_NO_RECHECK_AFTER_SUBSCRIBE] = "no look after subscribing",
    [FAULT_NO_RECHECK_AFTER_RESUBSCRIBE] = "no look after subscribing again",
    [FAULT_NO_COMPENSATION] = "abandoned acquire not undone",
    [FAULT_NO_HAND_OVER_COMPENSATION] = "abandoned hand-over not undone",
    [FAULT_ABANDONED_IS_RESENT] = "abandoned acquire sent again",
    [FAULT_RESOLVED_TOO_EARLY] = "sent again before the KILL",
    [FAULT_END_UNSEEN] = "the end of an unused connection not seen",
    [FAULT_HOLDS_NOT_VERIFIED] = "holds not verified when a connection ends",
    [FAULT_REENTRY_NOT_INTENDED] = "re-entry states one level too few",
    [FAULT_RESENT_RELEASE_IS_LOST] = "resent release says LOST",
    [FAULT_LATE_GRANT_IS_KEPT] = "late grant believed",
    [FAULT_MESSAGE_MISSED_WHILE_REQUESTING] = "message missed while asking",
    [FAULT_NEXT_WAITER_SLEEPS] = "next waiter sleeps",
    [FAULT_HAND_OVER_UNBOUNDED] = "hand-over without bound",
    [FAULT_EXTEND_BEFORE_ANSWERED] = "extend before renewals are settled",
    [FAULT_WIRE_ID_REUSED] = "wire id used again",
    [FAULT_LOSS_UNREPORTED] = "loss not reported",
    [FAULT_POSITION_IS_KEPT] = "place kept by who gave up",
    [FAULT_POSITIONS_NOT_REFRESHED] = "places not refreshed",
    [FAULT_UPGRADE_WAITS] = "a reader who would write is not refused",
    [FAULT_READERS_OVERTAKE] = "readers overtake a writer of their process",
    [FAULT_READERS_WOKEN_ONE_BY_ONE] = "readers at the front go one by one",
    [FAULT_SPINS_SELDOM] = "a waiter that polls looks seldom",
    [FAULT_SET_UNDONE_IN_PART] = "set undone in part",
};

/* Runs seeds until one fails; returns whether one did. */
static bool hunt(const struct options *options, struct script_set *scripts, const char *name) {
    struct world *world = allocate(1, sizeof *world);
    bool found = false;
    uint64_t seed = options->first;
    while (!found && seed < options->first + options->seeds) {
        found = !run_seed(world, seed++, options, scripts, TRACE_OFF);
        if (!found) {
            world_free(world);
        }
    }
    if (found) {
        printf("%-45s  seed %-6llu %s (%s)\n", name, (unsigned long long)(seed - 1), world->rule, world->detail);
    } else {
        printf("%-45s  NOT FOUND in %llu seeds\n", name, (unsigned long long)options->seeds);
    }
    fflush(stdout);
    free(world);
    return found;
}

/* With `text` in place of a part of a script, or of all of it where `part` is NULL. */
static bool hunt_with_script(const struct options *options, enum script_id script, const char *part, const char *text,
                             const char *name) {
    struct script_set with_fault;
    bool planted = script_set_open(&with_fault, options->scripts) &&
                   (part ? script_set_edit(&with_fault, script, part, text)
                         : script_set_replace(&with_fault, script, redis_text(text)));
    if (!planted) {
        fprintf(stderr, "%s: can not be planted\n", name);
        exit(1);
    }
    bool found = hunt(options, &with_fault, name);
    script_set_close(&with_fault);
    return found;
}

/* Mixed sets have members of three storage forms. */
static bool is_of(int planted_kind, uint8_t lock_kind) {
    bool mixed = planted_kind == REDLATCH_MUTEX || planted_kind == REDLATCH_FENCED || planted_kind == REDLATCH_PLAIN;
    return lock_kind == KINDS_MIXED ? mixed : planted_kind == lock_kind;
}

/* Plants each edit of a table; how many were not found. */
static int hunt_edits(const struct options *options, const struct planted_edit *edit) {
    int missed = 0;
    for (; edit->name; edit++) {
        if (is_of(edit->lock_kind, options->lock_kind)) {
            missed += !hunt_with_script(options, edit->script, edit->part, edit->instead, edit->name);
        }
    }
    return missed;
}

/* Plants each script of a table; how many were not found. */
static int hunt_scripts(const struct options *options, const struct planted_script *planted) {
    int missed = 0;
    for (; planted->name; planted++) {
        if (is_of(planted->lock_kind, options->lock_kind)) {
            missed += !hunt_with_script(options, planted->script, NULL, planted->text, planted->name);
        }
    }
    return missed;
}

/* With sets only what sets alone can do wrong: all else is found without them, and sooner. */
static int run_faults(const struct options *options, struct script_set *scripts) {
    int missed = 0;
    for (int fault = FAULT_NONE + 1; fault < FAULT_COUNT; fault++) {
        if (!kind_cannot_have(options->lock_kind, (enum planted_fault)fault) &&
            options->sets == (fault == FAULT_SET_UNDONE_IN_PART)) {
            planted_fault = (enum planted_fault)fault;
            missed += !hunt(options, scripts, fault_names[fault]);
        }
    }
    planted_fault = FAULT_NONE;
    if (options->sets) {
        missed += hunt_scripts(options, planted_sets) + hunt_edits(options, planted_member_types);
    } else {
        missed += hunt_scripts(options, planted_scripts);
        missed += hunt_edits(options, planted_fair) + hunt_edits(options, planted_sides);
        missed += hunt_edits(options, planted_groups);
    }
    printf("%d faults not found\n", missed);
    return missed ? 1 : 0;
}

/* ------------------------------------------------------------------------------------------------------- options -- */

static int usage(const char *problem, const char *value) {
    fprintf(stderr,
            "redlatch_sim: %s%s\n"
            "expected: --seeds N [--first S] [--jobs J] | --seed S [--trace] | --faults [--seeds N]; and --kind NAME, "
            "--sets, --scripts DIR\n",
            problem, value);
    return 64;
}

static bool number(const char *text, uint64_t *number_out) {
    char *end = NULL;
    if (!text || *text < '0' || *text > '9') {
        return false;
    }
    *number_out = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool kind_of_name(const char *name, uint8_t *kind_out) {
    if (name && strcmp(name, kind_word(KINDS_MIXED)) == 0) {
        *kind_out = KINDS_MIXED;
        return true;
    }
    for (int kind = REDLATCH_MUTEX; name && kind < KINDS_END; kind++) { /* their numbers have gaps */
        if (kind_of_number(kind) && strcmp(redlatch_kind_name(kind), name) == 0) {
            *kind_out = (uint8_t)kind;
            return true;
        }
    }
    return false;
}

static int parse(int count, char **arguments, struct options *options) {
    uint64_t jobs = 1;
    for (int i = 1; i < count; i++) {
        const char *option = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        bool good = true;
        if (strcmp(option, "--trace") == 0) {
            options->trace = true;
            continue;
        }
        if (strcmp(option, "--sets") == 0) {
            options->sets = true;
            continue;
        }
        if (strcmp(option, "--faults") == 0) {
            options->faults = true;
            continue;
        }
        if (strcmp(option, "--seeds") == 0) {
            good = number(value, &options->seeds);
        } else if (strcmp(option, "--first") == 0) {
            good = number(value, &options->first);
        } else if (strcmp(option, "--jobs") == 0) {
            good = number(value, &jobs) && jobs >= 1 && jobs <= JOBS_MAX;
        } else if (strcmp(option, "--seed") == 0) {
            options->one = true;
            good = number(value, &options->seed);
        } else if (strcmp(option, "--kind") == 0) {
            good = kind_of_name(value, &options->lock_kind);
        } else if (strcmp(option, "--scripts") == 0) {
            options->scripts = value;
            good = value != NULL;
        } else {
            return usage("unknown option: ", option);
        }
        if (!good) {
            return usage("no good value for ", option);
        }
        i++;
    }
    options->jobs = (int)jobs;
    return 0;
}

int main(int count, char **arguments) {
    struct options options = {.first = 1, .lock_kind = REDLATCH_MUTEX};
    int wrong = parse(count, arguments, &options);
    if (wrong) {
        return wrong;
    }
    if (!options.one && !options.faults && options.seeds == 0) {
        return usage("nothing to do", "");
    }
    if (options.lock_kind == KINDS_MIXED) {
        if (!options.sets) {
            return usage("--sets is needed for --kind ", kind_word(KINDS_MIXED));
        }
    } else if (kind_of_names(options.lock_kind) != options.lock_kind) {
        return usage("both sides are simulated together, by --kind ",
                     redlatch_kind_name(kind_of_names(options.lock_kind)));
    } else if (options.sets && !kind_of_number(options.lock_kind)->member_type) {
        return usage("no sets of locks of the kind ", redlatch_kind_name(options.lock_kind));
    }
    if (options.faults && options.seeds == 0) {
        options.seeds = FAULT_SEEDS;
    }
    signal(SIGABRT, on_signal);
    signal(SIGVTALRM, on_signal);
    struct script_set scripts;
    if (!script_set_open(&scripts, options.scripts)) {
        return 1;
    }
    int status = options.one      ? run_one(&options, &scripts)
                 : options.faults ? run_faults(&options, &scripts)
                                  : run_many(&options, &scripts);
    script_set_close(&scripts);
    return status;
}
