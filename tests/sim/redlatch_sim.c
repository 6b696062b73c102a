/* redlatch_sim: the deterministic simulation of clients, servers with the real scripts, and faults.
 * SPDX-License-Identifier: Apache-2.0
 *
 * redlatch_sim --seeds N [--first S] [--jobs J]   runs seeds; fails on a violation, or if a point was never reached
 * redlatch_sim --seed S [--trace]                 runs one seed again and prints its trace
 * redlatch_sim --faults [--seeds N]               plants faults one at a time; each must be found within N seeds (2000)
 *   --kind NAME     locks of that kind (mutex), multi or redlock; with --sets also mixed
 *   --sets          callers also acquire several at once; with --faults only the faults that need sets
 *   --failover      with replicas that take the place of the master
 *   --cluster       with slots that move between masters, and replicas
 *   --scripts DIR   runs the .lua files of a folder instead of the embedded scripts
 *
 * This folder has what all kinds share: simulate.c runs seeds, find_faults.c plants faults, world_common.h has what
 * every world begins with, network.c is the network, and keyspace.c with redis_*.c is a server. The folders locks/,
 * counts/ and composite/ have the worlds of their kinds. failover/ has the world with replicas, cluster/ the one with
 * slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind_limits.h"
#include "kinds.h"
#include "simulate.h"

enum { FAULT_SEEDS = 2000, KINDS_END = 32 };

static const struct {
    const char *word;
    uint8_t kind;
} other_kinds[] = {{"mixed", KINDS_MIXED}, {"multi", KIND_MULTI}, {"redlock", KIND_REDLOCK}};

enum { OTHER_KINDS = sizeof other_kinds / sizeof other_kinds[0] };

const char *kind_word(uint8_t kind) {
    for (size_t i = 0; i < OTHER_KINDS; i++) {
        if (other_kinds[i].kind == kind) {
            return other_kinds[i].word;
        }
    }
    return redlatch_kind_name(kind);
}

static int usage(const char *problem, const char *value) {
    fprintf(stderr,
            "redlatch_sim: %s%s\n"
            "expected: --seeds N [--first S] [--jobs J] | --seed S [--trace] | --faults [--seeds N]; and --kind NAME, "
            "--sets, --failover, --cluster, --scripts DIR\n",
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
    for (size_t i = 0; name && i < OTHER_KINDS; i++) {
        if (strcmp(other_kinds[i].word, name) == 0) {
            *kind_out = other_kinds[i].kind;
            return true;
        }
    }
    for (int kind = REDLATCH_MUTEX; name && kind < KINDS_END; kind++) { /* not every number is a kind */
        if (kind_of_number(kind) && strcmp(redlatch_kind_name(kind), name) == 0) {
            *kind_out = (uint8_t)kind;
            return true;
        }
    }
    return false;
}

/* Returns the field of an option without a value, or NULL. */
static bool *flag(struct options *options, const char *option) {
    return strcmp(option, "--trace") == 0      ? &options->trace
           : strcmp(option, "--sets") == 0     ? &options->sets
           : strcmp(option, "--faults") == 0   ? &options->faults
           : strcmp(option, "--failover") == 0 ? &options->failover
           : strcmp(option, "--cluster") == 0  ? &options->cluster
                                               : NULL;
}

static int parse(int count, char **arguments, struct options *options) {
    for (int i = 1; i < count; i++) {
        const char *option = arguments[i];
        bool *is_on = flag(options, option);
        if (is_on) {
            *is_on = true;
            continue;
        }
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        bool good = true;
        if (strcmp(option, "--seeds") == 0) {
            good = number(value, &options->seeds);
        } else if (strcmp(option, "--first") == 0) {
            good = number(value, &options->first);
        } else if (strcmp(option, "--jobs") == 0) {
            good = number(value, &options->jobs) && options->jobs >= 1 && options->jobs <= JOBS_MAX;
        } else if (strcmp(option, "--seed") == 0) {
            options->one = true;
            good = number(value, &options->seed);
        } else if (strcmp(option, "--kind") == 0) {
            good = kind_of_name(value, &options->kind);
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
    return 0;
}

/* Chooses the scenario of a kind. Returns 0, or the exit status if there is none. */
static int choose(struct options *options) {
    const struct kind *kind = kind_of_number(options->kind);
    if (options->sets && options->kind != KINDS_MIXED && !(kind && kind->member_type)) {
        return usage("no sets of locks of the kind ", kind_word(options->kind));
    }
    if (options->kind == KINDS_MIXED && !options->sets) {
        return usage("--sets is needed for --kind ", kind_word(KINDS_MIXED));
    }
    if (kind && kind_of_names(options->kind) != options->kind) {
        return usage("both sides are simulated together, by --kind ", redlatch_kind_name(kind_of_names(options->kind)));
    }
    bool composite = options->kind == KIND_MULTI || options->kind == KIND_REDLOCK;
    bool counted = kind && kind->is_counted;
    if (options->failover && (options->sets || composite)) {
        return usage("no failovers of locks of the kind ", kind_word(options->kind));
    }
    if (options->cluster && (options->sets || options->failover || !kind_clusters(options->kind))) {
        return usage("no clusters of locks of the kind ", kind_word(options->kind));
    }
    options->scenario = options->cluster ? &cluster_scenario
                        : options->failover
                            ? (kind_is_number(options->kind) ? &failover_counts_scenario : &failover_scenario)
                        : composite     ? &composite_scenario
                        : options->sets ? &sets_scenario
                        : counted       ? &counts_scenario
                                        : &locks_scenario;
    return 0;
}

int main(int count, char **arguments) {
    struct options options = {.first = 1, .jobs = 1, .kind = REDLATCH_MUTEX};
    int wrong = parse(count, arguments, &options);
    wrong = wrong ? wrong : choose(&options);
    if (wrong) {
        return wrong;
    }
    if (!options.one && !options.faults && options.seeds == 0) {
        return usage("nothing to do", "");
    }
    if (options.faults && options.seeds == 0) {
        options.seeds = FAULT_SEEDS;
    }
    struct script_set scripts;
    if (!script_set_open(&scripts, options.scripts)) {
        return 1;
    }
    int status = options.one      ? simulate_one(&options, &scripts)
                 : options.faults ? find_planted_faults(&options, &scripts)
                                  : simulate_many(&options, &scripts);
    script_set_close(&scripts);
    return status;
}
