/* redlatch show --mine: whether the `redlatch run` around this command still holds its locks, by the environment
 * variables of CMD.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

/* The lines of a variable; it has at least one. */
struct lines {
    char *text; /* in which each line ends with a NUL */
    char **entry;
    size_t count;
};

static void free_lines(struct lines *lines) {
    free(lines->text);
    free(lines->entry);
}

/* Splits a text into lines. Returns false if there was no memory; free_lines must be called then, too. */
static bool split(const char *text, struct lines *lines) {
    lines->count = 1;
    for (const char *at = text; *at; at++) {
        lines->count += *at == '\n';
    }
    lines->text = strdup(text);
    lines->entry = calloc(lines->count, sizeof *lines->entry);
    if (!lines->text || !lines->entry) {
        return false;
    }
    char *rest = lines->text;
    for (size_t i = 0; i < lines->count; i++) {
        lines->entry[i] = strsep(&rest, "\n");
    }
    return true;
}

/* What the environment says is held. */
struct mine {
    const char *whole; /* the names as one text */
    struct lines names;
    struct lines owners;
};

/* Returns the name that an owner holds. Several owners of one name (permits) share it. A single owner's name may have
 * newlines in it, so it is the whole text. */
static const char *name_of(const struct mine *mine, size_t owner) {
    if (mine->owners.count == 1) {
        return mine->whole;
    }
    return mine->names.entry[mine->names.count == 1 ? 0 : owner];
}

static int inspect_key(redlatch_client *client, const char *name, const char *owner, struct found *found) {
    char *key = key_of_template(getenv("REDLATCH_KEY_TEMPLATE"), name);
    int exit_status = key ? found_inspect(client, key, owner, found) : complain(STATUS_SYSTEM, "out of memory");
    free(key);
    return exit_status;
}

static void print(const struct found *found, size_t count, bool as_json) {
    if (as_json) {
        json_print_all(found, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i) {
            putchar('\n');
        }
        lines_print(&found[i]);
    }
}

/* Inspects the name of each owner, and prints each name once. */
static int inspect_and_print(redlatch_client *client, const struct mine *mine, bool as_json) {
    struct found *found = calloc(mine->owners.count, sizeof *found);
    if (!found) {
        return complain(STATUS_SYSTEM, "out of memory");
    }
    int exit_status = STATUS_GOOD;
    bool all_held = true;
    size_t count = 0;
    while (exit_status == STATUS_GOOD && count < mine->owners.count) {
        const char *owner = mine->owners.entry[count];
        exit_status = inspect_key(client, name_of(mine, count), owner, &found[count]);
        if (exit_status == STATUS_GOOD) {
            all_held = all_held && found_is_held_by(&found[count], owner);
            count++;
        }
    }
    if (exit_status == STATUS_GOOD) {
        print(found, mine->names.count == mine->owners.count ? count : 1, as_json);
    }
    for (size_t i = 0; i < count; i++) {
        redlatch_report_free(found[i].report);
    }
    free(found);
    return exit_status == STATUS_GOOD ? finish_output(all_held ? STATUS_GOOD : STATUS_FREE) : exit_status;
}

static int show_owned(const struct server_options *placeholder, const struct mine *mine, bool as_json) {
    size_t names = mine->names.count;
    size_t owners = mine->owners.count;
    if (owners != 1 && names != 1 && names != owners) {
        return complain(STATUS_USAGE, "REDLATCH_LOCK has %zu lines, REDLATCH_OWNER %zu: expected as many of both",
                        names, owners);
    }
    redlatch_client *client;
    int exit_status = open_client(placeholder, NULL, &client);
    if (exit_status == STATUS_GOOD) {
        exit_status = inspect_and_print(client, mine, as_json);
        redlatch_client_free(client);
    }
    return exit_status;
}

int show_mine(const struct server_options *given, bool as_json) {
    struct mine mine = {.whole = getenv("REDLATCH_LOCK")};
    const char *owners = getenv("REDLATCH_OWNER");
    if (!mine.whole) {
        return complain(STATUS_USAGE, "show --mine: REDLATCH_LOCK is not set: expected to be run by redlatch run");
    }
    if (!owners) {
        return complain(STATUS_USAGE,
                        "show --mine: REDLATCH_OWNER is not set: expected a lock or a permit semaphore; the permits of"
                        " a semaphore have no owner");
    }
    struct server_options placeholder = server_of_run(given);
    bool good = split(mine.whole, &mine.names) && split(owners, &mine.owners);
    int exit_status = good ? show_owned(&placeholder, &mine, as_json) : complain(STATUS_SYSTEM, "out of memory");
    free_lines(&mine.names);
    free_lines(&mine.owners);
    return exit_status;
}
