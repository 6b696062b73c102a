/* Scans: a walk over the locks of a server, or of all masters of a cluster, page by page.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "cluster.h"
#include "errors.h"
#include "guard.h"
#include "inquiry.h"
#include "report.h"
#include "walk.h"

/* How many keys the server scans for one page. It takes a fraction of a millisecond for them. */
static const char PAGE_KEYS[] = "100";

/* What `peek` finds: a report, a question to be sent first, or the end of the walk. */
enum next { NEXT_REPORT, NEXT_QUESTION, NEXT_END };

static struct walk *walk_new(const struct client *client, const char *pattern, size_t size) {
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        return NULL;
    }
    walk->references = 1;
    strcpy(walk->cursor, "0");
    walk->pattern = name_join(client, true, size ? pattern : "*", size ? size : 1, &walk->pattern_size);
    if (!walk->pattern) {
        walk_drop(walk);
        return NULL;
    }
    return walk;
}

int redlatch_scan_new(redlatch_client *handle, const char *pattern, size_t pattern_size, redlatch_scan **scan_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!scan_out) {
        return fail_with(REDLATCH_INVALID, "scan_out is NULL: expected a pointer to set");
    }
    if ((pattern_size > 0 && !pattern) || pattern_size > REDLATCH_NAME_SIZE_MAX) {
        return fail_with(REDLATCH_INVALID, "pattern %s: expected at most %d bytes", pattern ? "is too long" : "is NULL",
                         REDLATCH_NAME_SIZE_MAX);
    }
    struct redlatch_scan *scan = handle_new_scan();
    struct walk *walk = scan ? walk_new(handle->client, pattern, pattern_size) : NULL;
    if (!walk) {
        if (scan) {
            handle_free_scan(scan);
        }
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    scan->fork_generation = system_fork_generation();
    scan->walk = walk;
    scan->client = client_keep(handle->client);
    *scan_out = scan;
    return REDLATCH_OK;
}

static int guard_scan_handle(const struct redlatch_scan *scan) {
    if (!scan || atomic_load(&scan->magic) != MAGIC_SCAN) {
        return fail_bad_handle(scan, "scan", "redlatch_scan_new");
    }
    return REDLATCH_OK;
}

static int guard_scan(const struct redlatch_scan *scan) {
    int status = guard_scan_handle(scan);
    if (status != REDLATCH_OK || (status = client_check(scan->client)) != REDLATCH_OK) {
        return status;
    }
    if (scan->fork_generation != system_fork_generation()) {
        return fail_with(REDLATCH_FORKED, "the scan belongs to the parent process: expected one of this process");
    }
    return REDLATCH_OK;
}

/* Begins a step, which has the walk to itself until it clears `stepping`. */
static int begin_step(const struct redlatch_scan *scan) {
    int status = guard_scan(scan);
    if (status == REDLATCH_OK && atomic_exchange(&scan->walk->stepping, true)) {
        return fail_with(REDLATCH_IN_USE, "scan has a step in progress: expected its end, or the event of a started"
                                          " step, before the next step");
    }
    return status;
}

void redlatch_scan_free(redlatch_scan *scan) {
    if (!scan || guard_scan_handle(scan) != REDLATCH_OK) {
        return;
    }
    struct client *client = scan->client;
    walk_drop(scan->walk);
    handle_free_scan(scan);
    client_drop(client);
}

/* ------------------------------------------------------------------------------------------------------ stepping -- */

static void request_page(const struct walk *walk, struct inquiry *inquiry) {
    inquiry->question = (struct question){.argument_count = 3, .server = walk->server};
    inquiry->subject = (struct argument_part){walk->pattern, walk->pattern_size};
    inquiry->arguments[0] = (struct argument_part){walk->cursor, strlen(walk->cursor)};
    inquiry->arguments[1] = (struct argument_part){walk->pattern, walk->pattern_size};
    inquiry->arguments[2] = (struct argument_part){PAGE_KEYS, sizeof PAGE_KEYS - 1};
}

/* Reads the next record of the page. NEXT_REPORT: *report_out is its report. NEXT_QUESTION: `inquiry` has the question,
 * for a name that the page left out or for the next page. Without memory the record is left for the next step. */
static int peek(struct walk *walk, const struct client *client, struct inquiry *inquiry, enum next *next_out,
                redlatch_report **report_out) {
    if (walk->page_at >= walk->page_size) {
        request_page(walk, inquiry);
        *next_out = walk->over ? NEXT_END : NEXT_QUESTION;
        return REDLATCH_OK;
    }
    struct argument_part record;
    size_t at = walk->page_at;
    if (!report_next_string(walk->page, walk->page_size, &at, &record)) {
        walk->page_at = walk->page_size;
        return REDLATCH_PROTOCOL;
    }
    if (report_is_name(&record, &inquiry->arguments[0])) { /* the page left it out: it gets a question of its own */
        inquiry->question = (struct question){.key_count = 1};
        inquiry->subject = inquiry->arguments[0];
        *next_out = NEXT_QUESTION;
        return REDLATCH_OK;
    }
    *next_out = NEXT_REPORT;
    int status = report_new(&record, client->name_prefix_size, report_out);
    if (status == REDLATCH_OK) {
        memcpy((*report_out)->facts.node, walk->page_node, sizeof walk->page_node);
    }
    if (status == REDLATCH_OK || status == REDLATCH_PROTOCOL) {
        walk->page_at = at;
    }
    return status;
}

/* Returns the server whose pages follow those of `server`. Returns `first` after the last one. */
static struct server *next_server(struct client *client, struct server *first, struct server *server) {
    if (!client->cluster) {
        return server;
    }
    client_lock(client);
    struct server *next = cluster_next_server(client, first, server);
    client_unlock(client);
    return next;
}

/* Replaces the page of the walk by the next one. */
static int take_page(struct walk *walk, struct client *client, struct inquiry *inquiry) {
    struct argument_part cursor;
    size_t at = 0;
    if (!report_next_string(inquiry->text, inquiry->size, &at, &cursor) || cursor.size == 0 ||
        cursor.size >= sizeof walk->cursor) {
        return REDLATCH_PROTOCOL;
    }
    memcpy(walk->cursor, cursor.text, cursor.size);
    walk->cursor[cursor.size] = '\0';
    walk->over = strcmp(walk->cursor, "0") == 0;
    walk->server = inquiry->question.server;
    memcpy(walk->page_node, inquiry->node, sizeof walk->page_node);
    walk->first = walk->first ? walk->first : walk->server;
    if (walk->over) {
        walk->server = next_server(client, walk->first, walk->server);
        walk->over = walk->server == walk->first;
    }
    free(walk->page);
    walk->page = inquiry->text;
    walk->page_size = inquiry->size;
    walk->page_at = at;
    inquiry->text = NULL;
    return REDLATCH_OK;
}

static bool tells_of_lock(const redlatch_report *report) {
    int detected_kind = report->facts.detected_kind;
    return detected_kind != REDLATCH_DETECTED_UNKNOWN && detected_kind != REDLATCH_DETECTED_COUNT &&
           strcmp(report->facts.type, "none") != 0;
}

/* Takes in the reply about a name that its page left out. Returns OK without a report if it is no lock, or no longer
 * one. */
static int take_single(struct walk *walk, const struct client *client, const struct inquiry *inquiry,
                       redlatch_report **report_out) {
    redlatch_report *report = NULL;
    int status = inquiry_report(client, inquiry, &report);
    if (status == REDLATCH_OK || status == REDLATCH_PROTOCOL) {
        struct argument_part passed_over;
        report_next_string(walk->page, walk->page_size, &walk->page_at, &passed_over);
    }
    if (report && tells_of_lock(report)) {
        *report_out = report;
    } else {
        redlatch_report_free(report);
    }
    return status;
}

int redlatch_scan_is_ready(const redlatch_scan *scan) {
    if (guard_scan(scan) != REDLATCH_OK || atomic_load(&scan->walk->stepping)) {
        return 0;
    }
    const struct walk *walk = scan->walk;
    struct argument_part record;
    struct argument_part name;
    size_t at = walk->page_at;
    return at < walk->page_size && report_next_string(walk->page, walk->page_size, &at, &record) &&
           !report_is_name(&record, &name);
}

/* Takes in the reply to the question that `peek` set. */
static int take(struct walk *walk, struct client *client, struct inquiry *inquiry, redlatch_report **report_out) {
    return inquiry->question.key_count == 1 ? take_single(walk, client, inquiry, report_out)
                                            : take_page(walk, client, inquiry);
}

/* Steps until there is a report, or no further lock. */
static int find_next(struct walk *walk, struct client *client, redlatch_report **report_out) {
    enum next next = NEXT_QUESTION;
    while (!*report_out && next == NEXT_QUESTION) {
        struct inquiry inquiry = {.text = NULL};
        int status = peek(walk, client, &inquiry, &next, report_out);
        if (status == REDLATCH_OK && next == NEXT_QUESTION) {
            status = inquiry_execute(client, &inquiry);
            if (status != REDLATCH_OK) {
                free(inquiry.text);
                return status;
            }
            status = take(walk, client, &inquiry, report_out);
            free(inquiry.text);
        }
        if (status != REDLATCH_OK) {
            return fail_plain(status);
        }
    }
    return REDLATCH_OK;
}

int redlatch_scan_next(redlatch_scan *scan, redlatch_report **report_out) {
    int status = guard_scan(scan);
    if (status == REDLATCH_OK && !report_out) {
        return fail_with(REDLATCH_INVALID, "report_out is NULL: expected a pointer to set");
    }
    if (status != REDLATCH_OK || (status = begin_step(scan)) != REDLATCH_OK) {
        return status;
    }
    redlatch_report *report = NULL;
    status = find_next(scan->walk, scan->client, &report);
    atomic_store(&scan->walk->stepping, false);
    if (status == REDLATCH_OK) {
        *report_out = report;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ a started step -- */

/* Ends a started step that needed no question. */
static bool known(struct request *request) {
    atomic_store(&request->inquiry->walk->stepping, false);
    return true;
}

/* Ends a started step with the reply about a page or a name. If that brought no report and there is a further question,
 * the status is AGAIN: the next step sends it. */
static bool answered(struct request *request) {
    struct inquiry *inquiry = request->inquiry;
    struct walk *walk = inquiry->walk;
    int status = request->operation.status;
    if (status == REDLATCH_OK) {
        status = take(walk, request->client, inquiry, &inquiry->report);
    }
    if (status == REDLATCH_OK && !inquiry->report) {
        enum next next;
        status = peek(walk, request->client, inquiry, &next, &inquiry->report);
        if (status == REDLATCH_OK && next == NEXT_QUESTION) {
            status = REDLATCH_AGAIN;
        }
    }
    request->operation.status = status;
    atomic_store(&walk->stepping, false);
    return true;
}

int redlatch_scan_start_next(redlatch_scan *scan, uint64_t tag) {
    int status = begin_step(scan);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = scan->client;
    struct walk *walk = scan->walk;
    struct inquiry *inquiry = calloc(1, sizeof *inquiry);
    if (!inquiry) {
        atomic_store(&walk->stepping, false);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    enum next next = NEXT_END;
    size_t page_at = walk->page_at;
    int found = peek(walk, client, inquiry, &next, &inquiry->report);
    bool sends = found == REDLATCH_OK && next == NEXT_QUESTION;
    atomic_fetch_add(&walk->references, 1);
    inquiry->walk = walk;
    inquiry->answered = sends ? answered : known;
    inquiry->subject = (struct argument_part){walk->pattern, walk->pattern_size};
    status = sends ? inquiry_start(client, inquiry, tag) : inquiry_start_known(client, inquiry, found, tag);
    if (status != REDLATCH_OK) {
        walk->page_at = page_at;
        atomic_store(&walk->stepping, false);
    }
    return status;
}
