/* Prints one report as lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

static void print_line(const char *what, const char *text) {
    printf("%-8s %s\n", what, text);
}

/* Prints a line with bytes from the server; those that cannot be shown are escaped. */
static void print_bytes(const char *what, const char *text) {
    int width;
    char *shown = text_shown(text, strlen(text), 0, &width);
    print_line(what, shown ? shown : "?");
    free(shown);
}

static void print_parties(const struct found *found) {
    redlatch_party party;
    uint64_t index = 0;
    for (; found_party(found, index, &party); index++) {
        int width;
        char *owner = text_shown(party.owner, strlen(party.owner), 0, &width);
        char *host = text_shown(party.host, strlen(party.host), 0, &width);
        char *label = text_shown(party.label, strlen(party.label), 0, &width);
        char *value = text_shown(party.value, strlen(party.value), 0, &width);
        printf("%-8s %s", role_name(party.role), owner ? owner : "?");
        if (party.role != REDLATCH_WAITER) {
            printf("  count %llu", (unsigned long long)party.count);
        }
        if (party.value[0]) {
            printf("  value %s", value ? value : "?");
        }
        if (party.ttl_ms >= 0) {
            char ttl[32];
            text_ttl(party.ttl_ms, ttl);
            printf("  ttl %s", ttl);
        }
        if (party.label[0]) {
            printf("  label %s", label ? label : "?");
        }
        if (party.pid) {
            printf("  process %lld on %s", (long long)party.pid, host ? host : "?");
        }
        putchar('\n');
        free(owner);
        free(host);
        free(label);
        free(value);
    }
    if (found->facts.holders + found->facts.waiters > index) {
        uint64_t more = found->facts.holders + found->facts.waiters - index;
        printf("%-8s %llu not shown\n", "more", (unsigned long long)more);
    }
}

void lines_print(const struct found *found) {
    const redlatch_facts *facts = &found->facts;
    int width;
    char *name = text_shown(found->name, (size_t)facts->name_size, 0, &width);
    bool held = found_is_held(found);
    bool known = facts->detected_kind != REDLATCH_DETECTED_UNKNOWN;
    const char *colour = !text_coloured() || !known ? "" : held ? "\033[33m" : "\033[32m";
    print_line("name", name ? name : "?");
    print_line("kind", redlatch_detected_kind_name(facts->detected_kind));
    const char *state = held ? "held" : known ? "free" : "not a known lock";
    if (found_is_count(found)) {
        printf("%-8s %lld\n", "number", (long long)facts->count);
    } else {
        printf("%-8s %s%s%s\n", "state", colour, state, *colour ? "\033[0m" : "");
    }
    print_parties(found);
    if (held || (found_is_count(found) && facts->ttl_ms >= 0)) {
        char ttl[32];
        text_ttl(facts->ttl_ms, ttl);
        print_line("ttl", ttl);
    }
    if (facts->detected_kind == REDLATCH_DETECTED_FENCED) {
        printf("%-8s %llu\n", "token", (unsigned long long)facts->token);
    }
    if (!known) {
        print_bytes("type", facts->type);
    }
    print_bytes("node", facts->node);
    free(name);
}
