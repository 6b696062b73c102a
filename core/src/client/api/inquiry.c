/* Inquiries: sending a question to the server and taking the text of its reply.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inquiry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "drive.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "outputs.h"
#include "preallocate.h"
#include "report.h"
#include "started.h"
#include "walk.h"

static bool take_text(struct question *question, const char *text, size_t size) {
    struct inquiry *inquiry = (struct inquiry *)(void *)question;
    inquiry->text = malloc(size + 1);
    if (!inquiry->text) {
        return false;
    }
    memcpy(inquiry->text, text, size);
    inquiry->size = size;
    node_address(container_of(question->server, struct node, server), inquiry->node);
    return true;
}

/* Writes an element of a reply as text to `to`, unless that is NULL. Returns the size of the text. */
static size_t write_element(const struct reply *element, char *to) {
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%lld", (long long)element->integer);
    const char *text = element->kind == REPLY_INTEGER ? digits : element->text;
    size_t text_size = element->kind == REPLY_INTEGER ? (size_t)size : element->size;
    if (to) {
        memcpy(to, text, text_size);
    }
    return text_size;
}

static bool take_other(struct question *question, const struct reply *reply) {
    struct inquiry *inquiry = (struct inquiry *)(void *)question;
    size_t size = reply->kind == REPLY_ARRAY ? 0 : write_element(reply, NULL);
    for (size_t i = 0; i < reply->count; i++) {
        size += write_element(&reply->elements[i], NULL) + 1;
    }
    char *to = inquiry->text = malloc(size + 1);
    if (!to) {
        return false;
    }
    to += reply->kind == REPLY_ARRAY ? 0 : write_element(reply, to);
    for (size_t i = 0; i < reply->count; i++) {
        to += write_element(&reply->elements[i], to);
        *to++ = '\n';
    }
    inquiry->size = size;
    return true;
}

struct question *inquiry_question(struct inquiry *inquiry) {
    inquiry->question.arguments = inquiry->arguments;
    inquiry->question.take = take_text;
    inquiry->question.take_other = inquiry->verb ? take_other : NULL;
    return &inquiry->question;
}

/* With the mutex. */
static int set_up(struct request *request, struct inquiry *inquiry, int64_t now) {
    request->operation.kind = OPERATION_INSPECT;
    request->operation.question = inquiry_question(inquiry);
    request->operation.wait_until = inquiry->until ? inquiry->until : now + request->client->command_timeout;
    return client_preallocate(request->client, OPERATION_INSPECT) ? REDLATCH_OK : fail_plain(REDLATCH_NO_MEMORY);
}

int inquiry_drive(struct client *client, struct inquiry *inquiry, struct redlatch_cancel *cancel) {
    struct request request;
    int64_t now = system_now();
    if (!client_is_open(client)) {
        return REDLATCH_CLOSED;
    }
    if (now >= inquiry->until) {
        return REDLATCH_TIMEOUT;
    }
    request_init(&request, client, cancel);
    int status = set_up(&request, inquiry, now);
    if (status == REDLATCH_OK) {
        drive_start(&request, now);
        status = drive(&request);
    }
    return status;
}

bool inquiry_start_inside(struct client *client, struct inquiry *inquiry) {
    int64_t now = system_now();
    struct request *request = request_start_inside(client);
    if (!request || set_up(request, inquiry, now) != REDLATCH_OK) {
        free(request);
        inquiry->explained = NULL;
        inquiry_free(inquiry);
        return false;
    }
    request->inquiry = inquiry;
    engine_start(&client->engine, &request->operation, now);
    return true;
}

int inquiry_execute(struct client *client, struct inquiry *inquiry) {
    struct request request;
    request_init(&request, client, NULL);
    int status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    int64_t now = system_now();
    status = set_up(&request, inquiry, now);
    if (status == REDLATCH_OK) {
        drive_start(&request, now);
        status = drive(&request);
    }
    if (status != REDLATCH_OK) {
        request_failed(client, &request, inquiry->verb ? inquiry->verb : "inspect", inquiry->subject.text,
                       inquiry->subject.size, status);
    }
    client_leave(client);
    return status;
}

/* Enters the client with a request for the inquiry. On failure frees the inquiry and returns NULL. */
static struct request *enter_with(struct client *client, struct inquiry *inquiry, uint64_t tag, int *status_out) {
    struct request *request = request_start_entered(client, REDLATCH_EVENT_ANSWERED, tag, status_out);
    if (request) {
        request->inquiry = inquiry;
    } else {
        inquiry_free(inquiry);
    }
    return request;
}

int inquiry_start(struct client *client, struct inquiry *inquiry, uint64_t tag) {
    int status;
    struct request *request = enter_with(client, inquiry, tag, &status);
    if (!request) {
        return status;
    }
    int64_t now = system_now();
    status = request_start_prepared(request, set_up(request, inquiry, now), now);
    if (status != REDLATCH_OK) {
        inquiry_free(inquiry);
    }
    return status;
}

int inquiry_start_known(struct client *client, struct inquiry *inquiry, int status, uint64_t tag) {
    int entered;
    struct request *request = enter_with(client, inquiry, tag, &entered);
    if (!request) {
        return entered;
    }
    request->operation.kind = OPERATION_INSPECT;
    request->operation.phase = PHASE_DONE;
    request->operation.status = status;
    list_append(&client->engine.finished, &request->operation.link);
    client_finish_step(client, system_now());
    client_leave(client);
    return REDLATCH_OK;
}

bool inquiry_complete(struct request *request) {
    struct inquiry *inquiry = request->inquiry;
    client_unlock(request->client); /* renewals must not wait while a list of thousands of connections is read */
    bool complete = inquiry->answered(request);
    client_lock(request->client);
    int64_t now = system_now();
    if (complete || !client_is_open(request->client) || (inquiry->until && now >= inquiry->until)) {
        return true;
    }
    free(inquiry->text);
    inquiry->text = NULL;
    request_start_over(request);
    if (set_up(request, inquiry, now) != REDLATCH_OK) {
        return true; /* with what is known so far */
    }
    engine_start(&request->client->engine, &request->operation, now);
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
    struct argument_part cursor; /* always "0" for one name */
    struct argument_part record;
    size_t at = 0;
    if (!report_next_string(inquiry->text, inquiry->size, &at, &cursor) ||
        !report_next_string(inquiry->text, inquiry->size, &at, &record) || at != inquiry->size) {
        return REDLATCH_PROTOCOL;
    }
    int status = report_new(&record, client->name_prefix_size, report_out);
    if (status == REDLATCH_OK) {
        memcpy((*report_out)->facts.node, inquiry->node, sizeof inquiry->node);
    }
    return status;
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
