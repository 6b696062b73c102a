/* Reads a plan.
 * SPDX-License-Identifier: Apache-2.0 */
#include "soak_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak_journal.h"

enum { LINE_SIZE = 400 };

static void read_option(struct kind *kind, const char *word) {
    if (sscanf(word, "reentrant=%" SCNd32, &kind->reentrant) != 1 &&
        sscanf(word, "permits=%" SCNd64, &kind->amount) != 1 && sscanf(word, "count=%" SCNd64, &kind->amount) != 1 &&
        sscanf(word, "epoch_ms=%" SCNd64, &kind->epoch_ms) != 1) {
        give_up("no option of a kind: %s", word);
    }
}

static void read_kind(struct plan *plan, const char *line) {
    if (plan->kinds == KINDS_MAX) {
        give_up("more than %d kinds", KINDS_MAX);
    }
    struct kind *kind = &plan->kind[plan->kinds++];
    int used = 0;
    if (sscanf(line, "kind %63s %63s %d%n", kind->name, kind->shape, &kind->number, &used) != 3) {
        give_up("no kind: %s", line);
    }
    kind->reentrant = 1;
    char word[WORD_SIZE];
    int more = 0;
    for (const char *rest = line + used; sscanf(rest, "%63s%n", word, &more) == 1; rest += more) {
        read_option(kind, word);
    }
}

static void read_address(struct plan *plan, const char *line) {
    if (plan->addresses == ADDRESSES_MAX) {
        give_up("more than %d addresses", ADDRESSES_MAX);
    }
    struct address *address = &plan->address[plan->addresses++];
    if (sscanf(line, "witness %63s %127s %63s %d", address->kind, address->name, address->host, &address->port) != 4) {
        give_up("no address: %s", line);
    }
}

static void read_member(struct plan *plan, const char *line) {
    if (plan->members == MEMBERS_MAX) {
        give_up("more than %d members", MEMBERS_MAX);
    }
    struct member *member = &plan->member[plan->members++];
    if (sscanf(line, "member %127s %d %" SCNd32, member->name, &member->number, &member->reentrant) != 3) {
        give_up("no member: %s", line);
    }
}

static void read_turn(struct plan *plan, const char *line) {
    int thread = plan->threads - 1;
    if (thread < 0 || plan->turns[thread] == TURNS_MAX) {
        give_up("a turn before the first thread, or more than %d of one", TURNS_MAX);
    }
    struct turn *turn = &plan->turn[thread][plan->turns[thread]++];
    int kind = -1;
    int read = sscanf(line, "turn %d %127s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %d", &kind, turn->name,
                      &turn->wait_ms, &turn->lease_ms, &turn->hold_us, &turn->gap_us, &turn->levels);
    if (read != 7 || kind < 0 || kind >= plan->kinds) {
        give_up("no turn: %s", line);
    }
    turn->kind = &plan->kind[kind];
}

static void read_line(struct plan *plan, const char *line) {
    if (strncmp(line, "kind ", 5) == 0) {
        read_kind(plan, line);
    } else if (strncmp(line, "turn ", 5) == 0) {
        read_turn(plan, line);
    } else if (strncmp(line, "member ", 7) == 0) {
        read_member(plan, line);
    } else if (strncmp(line, "witness ", 8) == 0) {
        read_address(plan, line);
    } else if (strncmp(line, "thread", 6) == 0) {
        if (plan->threads == THREADS_MAX) {
            give_up("more than %d threads", THREADS_MAX);
        }
        plan->turn[plan->threads++] = calloc(TURNS_MAX, sizeof(struct turn));
        if (!plan->turn[plan->threads - 1]) {
            give_up("out of memory");
        }
    } else if (sscanf(line, "client %" SCNd64 " %" SCNd64, &plan->lease_ms, &plan->command_timeout_ms) != 2) {
        give_up("no line of a plan: %s", line);
    }
}

void plan_read(struct plan *plan, const char *path) {
    memset(plan, 0, sizeof *plan);
    FILE *file = fopen(path, "r");
    if (!file) {
        give_up("cannot read %s", path);
    }
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, file)) {
        read_line(plan, line);
    }
    fclose(file);
}

void plan_free(struct plan *plan) {
    for (int i = 0; i < plan->threads; i++) {
        free(plan->turn[i]);
    }
}
