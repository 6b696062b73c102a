/* Runs one seed, or many in several processes.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "simulate.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "redis_text.h"
#include "step_meter.h"

/* A seed takes some hundredths of a second of processor time. Only an endless loop uses up SEED_SECONDS. */
enum { FULL_RUN = 600, FULL_SEVERAL = 300, FULL_FAILOVERS = 300, FULL_CLUSTERS = 100, SEED_SECONDS = 20 };

/* The value with which the step meter jumps. Other jumps pass the number of a signal. */
enum { BUSY_WITHOUT_END = 1 };

/* The results of one worker process, in memory that it shares with the parent. */
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

void common_violation(struct world_common *world, const char *rule, const char *format, ...) {
    if (world->failed) {
        return;
    }
    world->failed = true;
    snprintf(world->rule, sizeof world->rule, "%s", rule);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->detail, sizeof world->detail, format, arguments);
    va_end(arguments);
    TRACE(world, "VIOLATION: %s (%s)", world->rule, world->detail);
}

void event_begins(void) {
    step_meter_arm(&seed_broken_off);
}

/* Leaves the seed: an assertion failed, or the seed's processor time is used up. */
static void on_signal(int number) {
    if (running_seed) {
        running_seed = 0;
        siglongjmp(seed_broken_off, number);
    }
}

/* Bounds the processor time from now on. 0 removes the bound. */
static void bound_processor_time(time_t seconds) {
    struct itimerval bound = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_VIRTUAL, &bound, NULL);
}

/* Runs a seed. A failed assertion or an endless loop in the engine is a violation like any other. The memory of a seed
 * that failed is not freed, since the seed may have been left at any point. */
static bool run_seed(struct world_common *world, uint64_t seed, const struct options *options,
                     struct script_set *scripts, enum trace_mode mode) {
    signal(SIGABRT, on_signal);
    signal(SIGVTALRM, on_signal);
    int number = sigsetjmp(seed_broken_off, 1);
    if (number == 0) {
        running_seed = 1;
        memset(world, 0, options->scenario->world_size);
        world->seed = seed;
        world->scripts = scripts;
        world->trace.mode = mode;
        bound_processor_time(SEED_SECONDS);
        options->scenario->simulate(world, options->kind);
    }
    running_seed = 0;
    bound_processor_time(0);
    step_meter_disarm();
    if (number == SIGVTALRM) {
        common_violation(world, "an event does not come to an end", "%d s of processor time", SEED_SECONDS);
    } else if (number == BUSY_WITHOUT_END) {
        common_violation(world, "the engine is busy without end", "more than %d steps", ENGINE_STEPS_MAX);
    } else if (number) {
        common_violation(world, "an assertion failed", "see above");
    }
    return !world->failed;
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
    struct world_common *world = allocate(1, options->scenario->world_size);
    run_seed(world, seed, options, scripts, TRACE_LAST);
    trace_print(&world->trace, stderr);
    fprintf(stderr, "seed: %llu\n", (unsigned long long)seed);
    print_commit();
    fprintf(stderr, "violated: %s (%s)\nagain: redlatch_sim%s%s%s --kind %s --seed %llu --trace\n", world->rule,
            world->detail, options->sets ? " --sets" : "", options->failover ? " --failover" : "",
            options->cluster ? " --cluster" : "", kind_word(options->kind), (unsigned long long)seed);
    free(world);
    return 1;
}

int simulate_one(const struct options *options, struct script_set *scripts) {
    struct world_common *world = allocate(1, options->scenario->world_size);
    if (!run_seed(world, options->seed, options, scripts, options->trace ? TRACE_ALL : TRACE_OFF)) {
        free(world);
        return report_failure(options->seed, options, scripts);
    }
    printf("seed %llu: %llu events, %.3f s, no violation\n", (unsigned long long)options->seed,
           (unsigned long long)world->steps, (double)world->now / 1e6);
    options->scenario->free(world);
    free(world);
    return 0;
}

struct world_common *simulate_until_failure(const struct options *options, struct script_set *scripts) {
    struct world_common *world = allocate(1, options->scenario->world_size);
    for (uint64_t seed = options->first; seed < options->first + options->seeds; seed++) {
        if (!run_seed(world, seed, options, scripts, TRACE_OFF)) {
            return world;
        }
        options->scenario->free(world);
    }
    free(world);
    return NULL;
}

static bool one_has_failed(const struct tally *tallies, uint64_t jobs) {
    bool failed = false;
    for (uint64_t job = 0; job < jobs; job++) {
        failed = failed || tallies[job].failed;
    }
    return failed;
}

static void work(const struct options *options, struct script_set *scripts, uint64_t job, struct tally *tallies) {
    struct world_common *world = allocate(1, options->scenario->world_size);
    struct tally *tally = &tallies[job];
    for (uint64_t i = job; i < options->seeds && !one_has_failed(tallies, options->jobs); i += options->jobs) {
        if (!run_seed(world, options->first + i, options, scripts, TRACE_OFF)) {
            tally->failing_seed = options->first + i;
            tally->failed = true;
            break;
        }
        tally->runs++;
        tally->steps += world->steps;
        coverage_add(&tally->coverage, &world->coverage);
        options->scenario->free(world);
    }
    memcpy(tally->script_runs, scripts->runs, sizeof tally->script_runs);
    free(world);
}

static int report(const struct options *options, const struct tally *total) {
    const struct scenario *scenario = options->scenario;
    int zeros = coverage_print(&total->coverage, options->kind, scenario->first_point, scenario->end_point,
                               options->seeds, stdout);
    script_runs_print(total->script_runs);
    printf("%llu seeds, %llu events, no violation\n", (unsigned long long)total->runs,
           (unsigned long long)total->steps);
    uint64_t full = options->cluster                  ? FULL_CLUSTERS
                    : options->failover               ? FULL_FAILOVERS
                    : scenario == &composite_scenario ? FULL_SEVERAL
                                                      : FULL_RUN;
    bool all = !options->sets; /* sets are never handed over, so few hand-overs follow each other */
    if (zeros > 0 && all && options->seeds >= full) {
        fprintf(stderr, "%d points were never reached\n", zeros);
        return 1;
    }
    return 0;
}

int simulate_many(const struct options *options, struct script_set *scripts) {
    struct tally *tallies = mmap(NULL, sizeof *tallies * JOBS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                 -1, 0);
    struct tally total = {0};
    if (tallies == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (uint64_t job = 1; job < options->jobs; job++) {
        if (fork() == 0) {
            work(options, scripts, job, tallies);
            _exit(0);
        }
    }
    work(options, scripts, 0, tallies);
    bool died = false;
    for (uint64_t job = 1; job < options->jobs; job++) {
        int status = 0;
        wait(&status);
        died = died || status != 0;
    }
    for (uint64_t job = 0; job < options->jobs; job++) {
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
    if (died) {
        fprintf(stderr, "a worker died\n");
        return 1;
    }
    return report(options, &total);
}
