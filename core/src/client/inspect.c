/* Looking at names that need not be ours: one of them, or a walk over all.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "guard.h"
#include "places.h"

/* How many keys the server looks at for one page of a walk: a fraction of a millisecond of its time. */
static const char PAGE_KEYS[] = "100";

/* A question of the script `inspect` and the text of its answer. */
struct inquiry {
    struct question question;
    struct argument_part words[3];
    char *text;
    size_t size;
};

static bool take_text(struct question *question, const char *text, size_t size) {
    struct inquiry *inquiry = (struct inquiry *)(void *)question;
    inquiry->text = malloc(size + 1);
    if (!inquiry->text) {
        return false;
    }
    memcpy(inquiry->text, text, size);
    inquiry->size = size;
    return true;
}

/* Asks, waiting for the answer as long as for any command. The text is the caller's, also on failure. */
static int ask(struct client *client, struct inquiry *inquiry) {
    struct call call;
    call_init(&call, client, NULL);
    call.operation.kind = OPERATION_INSPECT;
    call.operation.question = &inquiry->question;
    inquiry->question.words = inquiry->words;
    inquiry->question.take = take_text;
    const struct argument_part *shown = &inquiry->words[inquiry->question.key_count == 1 ? 0 : 1];
    int status = enter_call(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = client_supply(client, OPERATION_INSPECT) ? REDLATCH_OK : REDLATCH_NO_MEMORY;
    if (status == REDLATCH_OK) {
        int64_t now = system_now();
        call.operation.wait_until = now + client->command_timeout;
        drive_start(&call, now);
        status = drive(&call);
    }
    if (status != REDLATCH_OK) {
        call_failed(client, &call.answer, "inspect", shown->text, shown->size, status);
    }
    leave_call(client);
    return status;
}

/* Writes `before` (as a glob that matches just that, if so wanted) and `text` into new memory; NULL without. */
static char *join(const char *before, size_t before_size, bool as_glob, const char *text, size_t size,
                  size_t *joined_size_out) {
    char *joined = malloc(2 * before_size + size + 1);
    if (!joined) {
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < before_size; i++) {
        if (as_glob && before[i] && strchr("*?[]\\", before[i])) {
            joined[at++] = '\\';
        }
        joined[at++] = before[i];
    }
    memcpy(joined + at, text, size);
    *joined_size_out = at + size;
    return joined;
}

/* A record becomes a report; the last error is set where it can not. */
static int report_of(const struct client *client, const struct argument_part *record, redlatch_report **report_out) {
    int status = report_new(record, client->name_prefix_size, report_out);
    return status == REDLATCH_OK ? status : fail_plain(status);
}

/* The answer about one name: a cursor, which says nothing, and one record. */
static int only_report(const struct client *client, const struct inquiry *inquiry, redlatch_report **report_out) {
    struct argument_part cursor;
    struct argument_part record;
    size_t at = 0;
    if (!report_next_string(inquiry->text, inquiry->size, &at, &cursor) ||
        !report_next_string(inquiry->text, inquiry->size, &at, &record) || at != inquiry->size) {
        return fail_plain(REDLATCH_PROTOCOL);
    }
    return report_of(client, &record, report_out);
}

/* Looks for the owners among the server's connections; where that is forbidden or fails, they stay unknown. */
static void find_places(struct client *client, redlatch_report *report) {
    struct inquiry inquiry = {.question = {.argument_count = 2, .plain = true}, .words = {{"CLIENT", 6}, {"LIST", 4}}};
    if (places_wanted(report) && ask(client, &inquiry) == REDLATCH_OK) {
        places_find(report, inquiry.text, inquiry.size);
    }
    free(inquiry.text);
}

int redlatch_inspect(redlatch_client *handle, const char *name, size_t name_size, redlatch_report **report_out) {
    return redlatch_inspect_owner(handle, name, name_size, NULL, report_out);
}

int redlatch_inspect_owner(redlatch_client *handle, const char *name, size_t name_size, const char *owner,
                           redlatch_report **report_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    if (!report_out) {
        return fail_with(REDLATCH_INVALID, "report_out is NULL: expected where to put the report");
    }
    if (check_name(client, name, name_size) != REDLATCH_OK) {
        return REDLATCH_INVALID;
    }
    struct inquiry inquiry = {.question = {.key_count = 1, .argument_count = owner ? 1 : 0}};
    inquiry.words[1] = (struct argument_part){owner, owner ? strlen(owner) : 0};
    char *full = join(client->name_prefix, client->name_prefix_size, false, name, name_size, &inquiry.words[0].size);
    if (!full) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    inquiry.words[0].text = full;
    status = ask(client, &inquiry);
    if (status == REDLATCH_OK) {
        status = only_report(client, &inquiry, report_out);
    }
    if (status == REDLATCH_OK) {
        find_places(client, *report_out);
    }
    free(inquiry.text);
    free(full);
    return status;
}

int redlatch_scan_new(redlatch_client *handle, const char *pattern, size_t pattern_size, redlatch_scan **scan_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    if (!scan_out) {
        return fail_with(REDLATCH_INVALID, "scan_out is NULL: expected where to put the walk");
    }
    if ((pattern_size > 0 && !pattern) || pattern_size > REDLATCH_NAME_SIZE_MAX) {
        return fail_with(REDLATCH_INVALID, "pattern %s: expected at most %d bytes", pattern ? "is too long" : "is NULL",
                         REDLATCH_NAME_SIZE_MAX);
    }
    struct redlatch_scan *scan = handle_new_scan();
    if (!scan) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    scan->pattern = join(client->name_prefix, client->name_prefix_size, true, pattern_size ? pattern : "*",
                         pattern_size ? pattern_size : 1, &scan->pattern_size);
    if (!scan->pattern) {
        handle_free_scan(scan);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    strcpy(scan->cursor, "0");
    scan->client = client_keep(client);
    *scan_out = scan;
    return REDLATCH_OK;
}

static int guard_scan_handle(const struct redlatch_scan *scan) {
    if (!scan || atomic_load(&scan->magic) != MAGIC_SCAN) {
        return fail_with(REDLATCH_BAD_HANDLE, "scan is %s: expected one that redlatch_scan_new made",
                         scan ? "freed or of another kind" : "NULL");
    }
    return REDLATCH_OK;
}

/* The next page of the walk takes the place of the last one. */
static int next_page(struct redlatch_scan *scan) {
    struct inquiry inquiry = {.question = {.argument_count = 3},
                              .words = {{scan->cursor, strlen(scan->cursor)},
                                        {scan->pattern, scan->pattern_size},
                                        {PAGE_KEYS, sizeof PAGE_KEYS - 1}}};
    int status = ask(scan->client, &inquiry);
    struct argument_part cursor;
    size_t at = 0;
    if (status == REDLATCH_OK && (!report_next_string(inquiry.text, inquiry.size, &at, &cursor) || cursor.size == 0 ||
                                  cursor.size >= sizeof scan->cursor)) {
        status = fail_plain(REDLATCH_PROTOCOL);
    }
    if (status != REDLATCH_OK) {
        free(inquiry.text);
        return status;
    }
    memcpy(scan->cursor, cursor.text, cursor.size);
    scan->cursor[cursor.size] = '\0';
    scan->over = strcmp(scan->cursor, "0") == 0;
    free(scan->page);
    scan->page = inquiry.text;
    scan->page_size = inquiry.size;
    scan->page_at = at;
    return REDLATCH_OK;
}

/* Asks about a name that the page left out. There is no report, only OK, if it is no lock, or no longer. */
static int ask_alone(struct client *client, const struct argument_part *name, redlatch_report **report_out) {
    struct inquiry inquiry = {.question = {.key_count = 1}, .words = {*name}};
    redlatch_report *report = NULL;
    int status = ask(client, &inquiry);
    if (status == REDLATCH_OK) {
        status = only_report(client, &inquiry, &report);
    }
    free(inquiry.text);
    int form = report ? report->facts.form : REDLATCH_FORM_NOTHING;
    bool is_lock = form != REDLATCH_FORM_UNKNOWN && form != REDLATCH_FORM_COUNT;
    if (report && (!is_lock || strcmp(report->facts.type, "none") == 0)) {
        redlatch_report_free(report);
        report = NULL;
    }
    *report_out = report;
    return status;
}

/* The next record of the page, which has one. A failure that may pass leaves it for the next time. */
static int next_record(struct redlatch_scan *scan, redlatch_report **report_out) {
    struct argument_part record;
    struct argument_part name;
    size_t at = scan->page_at;
    if (!report_next_string(scan->page, scan->page_size, &at, &record)) {
        scan->page_at = scan->page_size;
        return fail_plain(REDLATCH_PROTOCOL);
    }
    int status = report_is_name(&record, &name) ? ask_alone(scan->client, &name, report_out)
                                                : report_of(scan->client, &record, report_out);
    if (status == REDLATCH_OK || status == REDLATCH_PROTOCOL) {
        scan->page_at = at;
    }
    return status;
}

int redlatch_scan_next(redlatch_scan *scan, redlatch_report **report_out) {
    int status = guard_scan_handle(scan);
    if (status != REDLATCH_OK || (status = client_check(scan->client)) != REDLATCH_OK) {
        return status;
    }
    if (!report_out) {
        return fail_with(REDLATCH_INVALID, "report_out is NULL: expected where to put the report");
    }
    redlatch_report *report = NULL;
    while (!report && (scan->page_at < scan->page_size || !scan->over)) {
        status = scan->page_at < scan->page_size ? next_record(scan, &report) : next_page(scan);
        if (status != REDLATCH_OK) {
            return status;
        }
    }
    *report_out = report;
    return REDLATCH_OK;
}

void redlatch_scan_free(redlatch_scan *scan) {
    if (!scan || guard_scan_handle(scan) != REDLATCH_OK) {
        return;
    }
    free(scan->pattern);
    free(scan->page);
    struct client *client = scan->client;
    handle_free_scan(scan);
    client_drop(client);
}
