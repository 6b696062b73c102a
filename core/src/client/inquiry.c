/* Asking the server what it knows of names that need not be ours.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inquiry.h"

#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "failures.h"
#include "guard.h"
#include "scan.h"
#include "started.h"

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

/* With the mutex. */
static int set_up(struct call *call, struct inquiry *inquiry, int64_t now) {
    call->operation.kind = OPERATION_INSPECT;
    call->operation.question = &inquiry->question;
    call->operation.wait_until = inquiry->until ? inquiry->until : now + call->client->command_timeout;
    inquiry->question.words = inquiry->words;
    inquiry->question.take = take_text;
    return client_supply(call->client, OPERATION_INSPECT) ? REDLATCH_OK : fail_plain(REDLATCH_NO_MEMORY);
}

int inquiry_drive(struct client *client, struct inquiry *inquiry, struct redlatch_cancel *cancel) {
    struct call call;
    int64_t now = system_now();
    if (!client_is_open(client)) {
        return REDLATCH_CLOSED;
    }
    if (now >= inquiry->until) {
        return REDLATCH_TIMEOUT;
    }
    call_init(&call, client, cancel);
    int status = set_up(&call, inquiry, now);
    if (status == REDLATCH_OK) {
        drive_start(&call, now);
        status = drive(&call);
    }
    return status;
}

bool inquiry_start_inside(struct client *client, struct inquiry *inquiry) {
    int64_t now = system_now();
    struct call *call = call_start_inside(client);
    if (!call || set_up(call, inquiry, now) != REDLATCH_OK) {
        free(call);
        inquiry->explained = NULL;
        inquiry_free(inquiry);
        return false;
    }
    call->inquiry = inquiry;
    engine_start(&client->engine, &call->operation, now);
    return true;
}

int inquiry_ask(struct client *client, struct inquiry *inquiry) {
    struct call call;
    call_init(&call, client, NULL);
    int status = enter_call(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    int64_t now = system_now();
    status = set_up(&call, inquiry, now);
    if (status == REDLATCH_OK) {
        drive_start(&call, now);
        status = drive(&call);
    }
    if (status != REDLATCH_OK) {
        call_failed(client, &call, "inspect", inquiry->subject.text, inquiry->subject.size, status);
    }
    leave_call(client);
    return status;
}

/* Enters with a call for the inquiry; NULL, without the inquiry, on failure. */
static struct call *enter_with(struct client *client, struct inquiry *inquiry, uint64_t tag, int *status_out) {
    struct call *call = call_start_entered(client, REDLATCH_EVENT_ANSWERED, tag, status_out);
    if (call) {
        call->inquiry = inquiry;
    } else {
        inquiry_free(inquiry);
    }
    return call;
}

int inquiry_start(struct client *client, struct inquiry *inquiry, uint64_t tag) {
    int status;
    struct call *call = enter_with(client, inquiry, tag, &status);
    if (!call) {
        return status;
    }
    int64_t now = system_now();
    return call_start_prepared(call, set_up(call, inquiry, now), now);
}

int inquiry_start_known(struct client *client, struct inquiry *inquiry, int status, uint64_t tag) {
    int entered;
    struct call *call = enter_with(client, inquiry, tag, &entered);
    if (!call) {
        return entered;
    }
    call->operation.phase = PHASE_DONE;
    call->operation.status = status;
    list_append(&client->engine.finished, &call->operation.link);
    client_settle(client, system_now());
    leave_call(client);
    return REDLATCH_OK;
}

bool inquiry_is_told(struct call *call) {
    struct inquiry *inquiry = call->inquiry;
    client_unlock(call->client); /* a list of thousands of connections is nothing that renewals should wait for */
    bool told = inquiry->answered(call);
    client_lock(call->client);
    int64_t now = system_now();
    if (told || !client_is_open(call->client) || (inquiry->until && now >= inquiry->until)) {
        return true;
    }
    free(inquiry->text);
    inquiry->text = NULL;
    call_start_over(call);
    if (set_up(call, inquiry, now) != REDLATCH_OK) {
        return true; /* as far as it came */
    }
    engine_start(&call->client->engine, &call->operation, now);
    return false;
}

void inquiry_free(struct inquiry *inquiry) {
    if (inquiry->walk) {
        walk_drop(inquiry->walk);
    }
    if (inquiry->explanation) {
        redlatch_report_free(inquiry->explanation->report);
        free(inquiry->explanation);
    }
    redlatch_report_free(inquiry->report);
    free(inquiry->text);
    free(inquiry->name);
    free(inquiry->owner);
    free(inquiry);
}

int inquiry_report(const struct client *client, const struct inquiry *inquiry, redlatch_report **report_out) {
    struct argument_part cursor; /* which says nothing */
    struct argument_part record;
    size_t at = 0;
    if (!report_next_string(inquiry->text, inquiry->size, &at, &cursor) ||
        !report_next_string(inquiry->text, inquiry->size, &at, &record) || at != inquiry->size) {
        return REDLATCH_PROTOCOL;
    }
    return report_new(&record, client->name_prefix_size, report_out);
}

char *name_join(const struct client *client, bool as_glob, const char *text, size_t size, size_t *joined_size_out) {
    const char *before = client->name_prefix;
    char *joined = malloc(2 * client->name_prefix_size + size + 1);
    if (!joined) {
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < client->name_prefix_size; i++) {
        if (as_glob && before[i] && strchr("*?[]\\", before[i])) {
            joined[at++] = '\\';
        }
        joined[at++] = before[i];
    }
    memcpy(joined + at, text, size);
    *joined_size_out = at + size;
    return joined;
}
