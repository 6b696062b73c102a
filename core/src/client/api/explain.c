/* The explanation of a failed call: queries to the server that fill its error text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "failures.h"
#include "inquiry.h"
#include "inspect.h"
#include "kinds.h"
#include "locations.h"

/* An explanation prolongs a wait by a tenth, by LONGEST_MS at most, and a wait of less than SHORTEST_WAIT_MS not at
 * all. WRONG_TYPE is a mistake of the program, which repeats until it is corrected: there a good error text matters
 * more than the time. */
enum { LONGEST_MS = 100, SHORTEST_WAIT_MS = 50, WRONG_TYPE_LONGEST_MS = 1000 };

/* Many waits may end at once. In each such interval only one of them queries the holder; the error texts of the others
 * lack it. */
static const int64_t HOLDERS_EVERY = LONGEST_MS * MILLISECOND;

/* CLIENT LIST costs the server time for each of its connections, so it is not repeated sooner. The jitter keeps clients
 * that started together from sending it together each time. */
static const int64_t LOCATIONS_EVERY = 30 * SECOND;
enum { LOCATIONS_JITTER_MS = 10000 };

/* No explanation is tried for this long after NO_PERMISSION: access rules seldom change, and the server logs each
 * command that it denies. */
static const int64_t FORBIDDEN_FOR = 60 * SECOND;

enum { UUID_SIZE = 36 };

/* Returns for how long the replies may be waited for, or 0 if nothing is to be queried. If a TIMEOUT may query the
 * holder, other waits that end within HOLDERS_EVERY may not. */
static int64_t take_turn(struct client *client, const struct operation *failed, int status, int64_t wait_ms) {
    int64_t now = system_now();
    bool a_lock = !failed->lock_kind || !kind_of_number(failed->lock_kind)->is_counted;
    if (!client_is_open(client) || !failed->resource || now < client->explained_from) {
        return 0;
    }
    if (status == REDLATCH_WRONG_TYPE) {
        return WRONG_TYPE_LONGEST_MS * MILLISECOND;
    }
    if (status != REDLATCH_TIMEOUT || !a_lock || wait_ms < SHORTEST_WAIT_MS || now < client->holders_from) {
        return 0;
    }
    client->holders_from = now + HOLDERS_EVERY;
    return (wait_ms < 10 * LONGEST_MS ? wait_ms / 10 : LONGEST_MS) * MILLISECOND;
}

static void inspect_member_of(struct explanation *explanation, struct inquiry *inquiry) {
    const struct operation *failed = explanation->failed;
    struct finding *finding = &explanation->finding;
    finding->resource = failed->resource;
    finding->lock_kind = failed->lock_kind;
    if (failed->set) {
        finding->resource = failed->set->members[explanation->member].resource;
        finding->lock_kind = failed->set->members[explanation->member].lock_kind;
    }
    inquiry->subject = (struct argument_part){finding->resource->name, finding->resource->name_size};
    inquiry_set_name(inquiry, NULL);
}

static void begin(struct explanation *explanation, struct inquiry *inquiry, const struct operation *failed,
                  int status) {
    *explanation = (struct explanation){.failed = failed, .status = status};
    if (failed->set && status == REDLATCH_TIMEOUT) {
        explanation->member = failed->contended_member;
    }
    inspect_member_of(explanation, inquiry);
}

int64_t explain_begin(struct client *client, struct explanation *explanation, struct inquiry *inquiry,
                      const struct operation *failed, int status, int64_t wait_ms) {
    int64_t left = take_turn(client, failed, status, wait_ms);
    if (left == 0) {
        return 0;
    }
    begin(explanation, inquiry, failed, status);
    inquiry->until = system_now() + left;
    return left;
}

/* Returns whether the detected kind fits the kind that the name is used as. */
static bool fits(int32_t detected_kind, uint8_t lock_kind) {
    const struct kind *kind = kind_of_number(lock_kind); /* NULL: a wait until a name is free has none */
    bool mutex = detected_kind == REDLATCH_DETECTED_FENCED || detected_kind == REDLATCH_DETECTED_FAIR;
    return (mutex ? REDLATCH_DETECTED_MUTEX : detected_kind) == (kind ? kind->detected_kind : REDLATCH_DETECTED_MUTEX);
}

static void read_report(struct finding *finding, const redlatch_report *report) {
    redlatch_facts facts = {.struct_size = sizeof facts};
    redlatch_party party = {.struct_size = sizeof party};
    redlatch_report_facts(report, &facts);
    finding->detected_kind = facts.detected_kind;
    finding->holders = facts.holders;
    memcpy(finding->type, facts.type, sizeof finding->type);
    finding->owner[0] = '\0';
    if (facts.holders > 0 && redlatch_report_party(report, 0, &party) == REDLATCH_OK && party.role != REDLATCH_WAITER) {
        memcpy(finding->owner, party.owner, sizeof finding->owner);
    }
}

/* Sets the location of the owner, if it is the one that was found last. Else returns whether CLIENT LIST is to be sent
 * now. */
static bool is_to_be_located(struct client *client, struct finding *finding) {
    client_lock(client);
    int64_t now = system_now();
    bool known = memcmp(client->located_uuid, finding->owner, UUID_SIZE) == 0;
    bool query = !known && now >= client->locations_from;
    if (known) {
        finding->location = client->located_at;
    } else if (query) {
        client->locations_from = now + LOCATIONS_EVERY +
                                 engine_random(&client->engine, LOCATIONS_JITTER_MS) * MILLISECOND;
    }
    client_unlock(client);
    return query;
}

static void note_location(struct client *client, struct finding *finding, const redlatch_report *report) {
    redlatch_party party = {.struct_size = sizeof party};
    if (redlatch_report_party(report, 0, &party) != REDLATCH_OK || party.pid == 0) {
        return;
    }
    memcpy(finding->location.host, party.host, sizeof finding->location.host);
    memcpy(finding->location.label, party.label, sizeof finding->location.label);
    finding->location.pid = party.pid;
    client_lock(client);
    memcpy(client->located_uuid, finding->owner, UUID_SIZE);
    client->located_at = finding->location;
    client_unlock(client);
}

bool explain_next(struct client *client, struct explanation *explanation, struct inquiry *inquiry, int status) {
    const struct operation *failed = explanation->failed;
    struct finding *finding = &explanation->finding;
    if (explanation->report) {
        if (status == REDLATCH_OK && locations_find(explanation->report, inquiry->text, inquiry->size) == REDLATCH_OK) {
            note_location(client, finding, explanation->report);
        }
        return true;
    }
    if (status == REDLATCH_NO_PERMISSION) {
        client_lock(client);
        client->explained_from = system_now() + FORBIDDEN_FOR;
        client_unlock(client);
    }
    if (status != REDLATCH_OK || inquiry_report(client, inquiry, &explanation->report) != REDLATCH_OK) {
        return true;
    }
    read_report(finding, explanation->report);
    if (failed->set && explanation->status == REDLATCH_WRONG_TYPE && explanation->member + 1 < failed->set->count &&
        (finding->detected_kind == REDLATCH_DETECTED_NOTHING || fits(finding->detected_kind, finding->lock_kind))) {
        explanation->member++; /* this member is right: another one is wrong */
        redlatch_report_free(explanation->report);
        explanation->report = NULL;
        inspect_member_of(explanation, inquiry);
        return false;
    }
    bool located = explanation->status == REDLATCH_TIMEOUT && finding->owner[0] &&
                   locations_wanted(explanation->report);
    if (!located || !is_to_be_located(client, finding)) {
        return true;
    }
    inquiry_set_client_list(inquiry);
    return false;
}

/* If the inspected key fits the kind, another key of the lock has the wrong type, and the finding does not say
 * which. */
bool explain_is_worth_saying(const struct explanation *explanation) {
    const struct finding *finding = &explanation->finding;
    return finding->detected_kind != REDLATCH_DETECTED_NOTHING &&
           (explanation->status != REDLATCH_WRONG_TYPE || !fits(finding->detected_kind, finding->lock_kind));
}

struct finding *explain(struct client *client, const struct operation *failed, struct redlatch_cancel *cancel,
                        int status, int64_t wait_ms, struct finding *finding_out) {
    struct explanation explanation;
    struct inquiry inquiry = {.text = NULL};
    if (explain_begin(client, &explanation, &inquiry, failed, status, wait_ms) == 0) {
        return NULL;
    }
    bool over;
    do {
        free(inquiry.text);
        inquiry.text = NULL;
        int answered = inquiry_drive(client, &inquiry, cancel);
        client_unlock(client);
        over = explain_next(client, &explanation, &inquiry, answered);
        client_lock(client);
    } while (!over);
    free(inquiry.text);
    redlatch_report_free(explanation.report);
    *finding_out = explanation.finding;
    return explain_is_worth_saying(&explanation) ? finding_out : NULL;
}

/* ------------------------------------------------------------------------------------------------- started calls -- */

static bool answered(struct request *request) {
    return explain_next(request->client, request->inquiry->explanation, request->inquiry, request->operation.status);
}

bool explain_started(struct request *request) {
    const struct operation *failed = &request->operation;
    struct client *client = request->client;
    if (request->finding || request->inquiry || request->op) {
        return false;
    }
    int64_t left = take_turn(client, failed, failed->status, request->wait_ms);
    struct explanation *explanation = left ? calloc(1, sizeof *explanation) : NULL;
    struct inquiry *inquiry = explanation ? calloc(1, sizeof *inquiry) : NULL;
    if (!inquiry) {
        free(explanation);
        return false;
    }
    begin(explanation, inquiry, failed, failed->status);
    inquiry->explanation = explanation;
    inquiry->explained = request;
    inquiry->answered = answered;
    inquiry->until = system_now() + left;
    return inquiry_start_inside(client, inquiry);
}

struct request *explained_request(struct request *request) {
    struct request *explained = request->inquiry ? request->inquiry->explained : NULL;
    if (explained) {
        const struct explanation *explanation = request->inquiry->explanation;
        explained->finding = explain_is_worth_saying(explanation) ? malloc(sizeof *explained->finding) : NULL;
        if (explained->finding) {
            *explained->finding = explanation->finding;
        }
        request->inquiry->explained = NULL;
    }
    return explained;
}
