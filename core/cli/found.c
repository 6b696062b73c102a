/* Reading reports for the commands that print them.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "found.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool found_read(struct found *found, redlatch_report *report) {
    memset(found, 0, sizeof *found);
    found->report = report;
    found->name = redlatch_report_name(report);
    found->facts.struct_size = sizeof found->facts;
    int status = redlatch_report_facts(report, &found->facts);
    if (status != REDLATCH_OK) {
        complain_of(status);
    }
    return status == REDLATCH_OK;
}

int found_inspect(redlatch_client *client, const char *name, const char *owner, struct found *found) {
    redlatch_report *report;
    int status = redlatch_client_inspect(client, name, strlen(name), owner, &report);
    int exit_status = status == REDLATCH_OK ? STATUS_GOOD : complain_of(status);
    if (exit_status == STATUS_GOOD && !found_read(found, report)) {
        redlatch_report_free(report);
        exit_status = STATUS_SYSTEM;
    }
    return exit_status;
}

bool found_is_count(const struct found *found) {
    return found->facts.detected_kind == REDLATCH_DETECTED_COUNT ||
           found->facts.detected_kind == REDLATCH_DETECTED_PERMIT_SEMAPHORE;
}

bool found_is_held(const struct found *found) {
    return !found_is_count(found) && found->facts.holders > 0;
}

bool found_is_held_by(const struct found *found, const char *owner) {
    redlatch_party party;
    for (uint64_t i = 0; found_party(found, i, &party); i++) {
        if (party.role != REDLATCH_WAITER && strcmp(party.owner, owner) == 0) {
            return true;
        }
    }
    return false;
}

bool found_party(const struct found *found, uint64_t index, redlatch_party *party) {
    memset(party, 0, sizeof *party);
    party->struct_size = sizeof *party;
    bool good = index < found->facts.parties && redlatch_report_party(found->report, index, party) == REDLATCH_OK;
    if (good && found->hosts) {
        hosts_fill(found->hosts, party);
    }
    return good;
}

void found_scan_step(redlatch_client *client, redlatch_scan *scan, redlatch_event *event_out) {
    struct pollfd fd = {.events = POLLIN};
    *event_out = (redlatch_event){.struct_size = sizeof *event_out};
    int status = redlatch_client_event_fd(client, &fd.fd);
    status = status == REDLATCH_OK ? redlatch_scan_start_next(scan, 1) : status;
    while (status == REDLATCH_OK && event_out->kind != REDLATCH_EVENT_ANSWERED) { /* but a move, for instance */
        status = redlatch_client_next_event(client, event_out);
        if (status == REDLATCH_AGAIN) {
            poll(&fd, 1, -1);
            status = REDLATCH_OK;
        }
    }
    if (status != REDLATCH_OK) {
        event_out->status = status;
        event_out->message = redlatch_last_error();
    }
}

char *party_text(const redlatch_party *party) {
    char *text = NULL;
    const char *label = party->label;
    int size = party->pid ? asprintf(&text, "%s (%s%s%sprocess %lld on %s)", party->owner, *label ? "label \"" : "",
                                     label, *label ? "\", " : "", (long long)party->pid, party->host)
                          : asprintf(&text, "%s", party->owner);
    return size < 0 ? NULL : text;
}

void party_location(const redlatch_party *party, char text[LOCATION_SIZE]) {
    text[0] = '\0';
    if (party->pid) {
        snprintf(text, LOCATION_SIZE, "%s%s%s:%lld", party->label, party->label[0] ? "@" : "", party->host,
                 (long long)party->pid);
    }
}

char *found_holder_text(const struct found *found) {
    redlatch_party party;
    if (!found_party(found, 0, &party) || party.role == REDLATCH_WAITER) {
        return NULL;
    }
    char *first = party_text(&party);
    char *text = NULL;
    uint64_t more = found->facts.holders - 1;
    if (first && more && asprintf(&text, "%s and %llu more", first, (unsigned long long)more) < 0) {
        text = NULL;
    }
    if (text || more) {
        free(first);
        return text;
    }
    return first;
}

const char *role_name(int role) {
    switch (role) {
    case REDLATCH_READER:
        return "reader";
    case REDLATCH_WRITER:
        return "writer";
    case REDLATCH_WAITER:
        return "waiter";
    default:
        return "holder";
    }
}

bool found_say_holder(redlatch_client *client, const char *name, const char *template, const char *gave_up) {
    struct found found;
    redlatch_report *report = NULL;
    char *key = key_of_template(template, name);
    bool good = key && redlatch_client_inspect(client, key, strlen(key), NULL, &report) == REDLATCH_OK &&
                found_read(&found, report);
    char *holder = good ? found_holder_text(&found) : NULL;
    if (holder) {
        char ttl[32];
        text_ttl(found.facts.ttl_ms, ttl);
        bool leased = !found_is_count(&found) && found.facts.ttl_ms >= 0;
        notice("%s\"%s\" is held by %s%s%s", gave_up, name, holder, leased ? ", lease ends in " : "",
               leased ? ttl : "");
    }
    bool done = holder != NULL;
    free(holder);
    free(key);
    redlatch_report_free(report);
    return done;
}
