/* redlatch show: everything known of one lock.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

static const char usage[] =
    "usage: redlatch show [OPTION...] NAME\n"
    "\n"
    "Everything known of a lock, a semaphore or a latch, whoever wrote it. Status: 0 held, 3 free, 65 a key that is\n"
    "none we know. A number may be a latch's, a semaphore's or anything's: status 0.\n"
    "\n"
    "      --owner OWNER  status 0 only if OWNER holds it, such as \"$REDLATCH_OWNER\", who is shown first; else 3\n"
    "      --json         an object instead of lines\n"
    "  -u, --url URL      the server; else REDIS_URL, else redis://127.0.0.1:6379/0\n"
    "      --prefix TEXT  put before the name\n"
    "  -h, --help         this text\n";

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"owner", required_argument, NULL, OPTION_OWNER},
    PLACE_OPTIONS,
};

static void print_line(const char *what, const char *text) {
    printf("%-8s %s\n", what, text);
}

/* A line of bytes that came from the server. */
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
        printf("%-8s %s", role_name(party.role), owner ? owner : "?");
        if (party.role != REDLATCH_WAITER) {
            printf("  count %llu", (unsigned long long)party.count);
        }
        if (party.pid) {
            printf("  process %lld on %s", (long long)party.pid, host ? host : "?");
        }
        putchar('\n');
        free(owner);
        free(host);
    }
    if (found->facts.holders + found->facts.waiters > index) {
        uint64_t more = found->facts.holders + found->facts.waiters - index;
        printf("%-8s %llu not shown\n", "more", (unsigned long long)more);
    }
}

static void print_lines(const struct found *found) {
    const redlatch_facts *facts = &found->facts;
    int width;
    char *name = text_shown(found->name, (size_t)facts->name_size, 0, &width);
    bool held = found_is_held(found);
    bool known = facts->form != REDLATCH_FORM_UNKNOWN;
    const char *colour = !text_coloured() || !known ? "" : held ? "\033[33m" : "\033[32m";
    print_line("name", name ? name : "?");
    print_line("kind", redlatch_form_name(facts->form));
    const char *state = held ? "held" : known ? "free" : "not a lock we know";
    if (facts->form != REDLATCH_FORM_COUNT) {
        printf("%-8s %s%s%s\n", "state", colour, state, *colour ? "\033[0m" : "");
    }
    if (found_is_count(found)) {
        printf("%-8s %lld\n", "count", (long long)facts->count);
    }
    print_parties(found);
    if (held && !(found_is_count(found) && facts->ttl_ms < 0)) {
        char ttl[32];
        text_ttl(facts->ttl_ms, ttl);
        print_line("ttl", ttl);
    }
    if (facts->form == REDLATCH_FORM_FENCED) {
        printf("%-8s %llu\n", "token", (unsigned long long)facts->token);
    }
    if (!known) {
        print_bytes("type", facts->type);
    }
    free(name);
}

static bool is_held_by(const struct found *found, const char *owner) {
    redlatch_party party;
    for (uint64_t i = 0; found_party(found, i, &party); i++) {
        if (party.role != REDLATCH_WAITER && strcmp(party.owner, owner) == 0) {
            return true;
        }
    }
    return false;
}

static int status_of(const struct found *found, const char *owner) {
    if (owner) {
        return is_held_by(found, owner) ? STATUS_GOOD : STATUS_FREE;
    }
    if (found->facts.form == REDLATCH_FORM_UNKNOWN) {
        return STATUS_NO_LOCK;
    }
    return found_is_held(found) ? STATUS_GOOD : STATUS_FREE;
}

static int show(const struct found *found, const char *owner, bool as_json) {
    if (!as_json) {
        print_lines(found);
    } else if (!json_print_one(found)) {
        return complain(STATUS_OUTPUT, "the lock could not be printed");
    }
    return finish_output(status_of(found, owner));
}

int command_show(int argc, char **argv) {
    struct place place = {NULL, NULL};
    const char *owner = NULL;
    bool as_json = false;
    int exit_status;
    int letter;
    while ((letter = getopt_long(argc, argv, "u:h", long_options, NULL)) != -1) {
        if (letter == OPTION_JSON) {
            as_json = true;
        } else if (letter == OPTION_OWNER) {
            owner = optarg;
        } else if (!take_place_option(&place, letter, "show", usage, &exit_status)) {
            return exit_status;
        }
    }
    const char *name = only_name(argc, argv, "show");
    if (!name) {
        return STATUS_USAGE;
    }
    redlatch_client *client;
    struct found found;
    exit_status = found_ask(&place, name, owner, &client, &found);
    if (exit_status == STATUS_GOOD) {
        redlatch_client_free(client);
        exit_status = show(&found, owner, as_json);
        redlatch_report_free(found.report);
    }
    return exit_status;
}
