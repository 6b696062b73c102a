/* Reports as JSON, and waiting until a name is free.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver_inspect.h"

#include <stdlib.h>
#include <string.h>

#include "driver_json.h"

/* Returns a name as JSON: as hexadecimal if it is not ASCII. */
static json_t *shown_name(const char *name, size_t size) {
    static const char digits[] = "0123456789abcdef";
    bool ascii = true;
    for (size_t i = 0; i < size; i++) {
        ascii = ascii && (unsigned char)name[i] < 0x80;
    }
    if (ascii) {
        return json_stringn(name, size);
    }
    char *hex = malloc(2 * size);
    if (!hex) {
        misunderstood("out of memory");
    }
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[(unsigned char)name[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)name[i] & 15];
    }
    json_t *shown = json_pack("{s:s%}", "hex", hex, 2 * size);
    free(hex);
    return shown;
}

static json_t *party_of(const redlatch_report *report, uint64_t index) {
    static const char *const roles[] = {"", "holder", "reader", "writer", "waiter"};
    redlatch_party party = {.struct_size = sizeof party};
    redlatch_report_party(report, index, &party);
    return json_pack("{s:s, s:s, s:I, s:s, s:I, s:s}", "role", roles[party.role], "owner", party.owner, "count",
                     (json_int_t)party.count, "host", party.host, "pid", (json_int_t)party.pid, "label", party.label);
}

json_t *shown_report(redlatch_report *report) {
    redlatch_facts facts = {.struct_size = sizeof facts};
    redlatch_report_facts(report, &facts);
    json_t *parties = json_array();
    for (uint64_t i = 0; i < facts.parties; i++) {
        json_array_append_new(parties, party_of(report, i));
    }
    json_t *value = json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
                              shown_name(redlatch_report_name(report), (size_t)facts.name_size), "detected_kind",
                              redlatch_detected_kind_name(facts.detected_kind), "type", facts.type, "ttl_ms",
                              (json_int_t)facts.ttl_ms, "token", (json_int_t)facts.token, "holders",
                              (json_int_t)facts.holders, "waiters", (json_int_t)facts.waiters, "count",
                              (json_int_t)facts.count, "parties", parties);
    redlatch_report_free(report);
    return value;
}

static json_t *inspect(redlatch_client *client, struct text name) {
    redlatch_report *report = NULL;
    int status = redlatch_client_inspect(client, name.bytes, name.size, NULL, &report);
    return outcome(status, status == REDLATCH_OK ? shown_report(report) : NULL);
}

static json_t *scan(redlatch_client *client, struct text pattern) {
    redlatch_scan *walk = NULL;
    redlatch_report *report = NULL;
    json_t *found = json_array();
    int status = redlatch_scan_new(client, pattern.bytes, pattern.size, &walk);
    while (status == REDLATCH_OK && (status = redlatch_scan_next(walk, &report)) == REDLATCH_OK && report) {
        json_array_append_new(found, shown_report(report));
    }
    json_t *notified = outcome(status, found);
    redlatch_scan_free(walk);
    return notified;
}

bool is_inspect(const json_t *call) {
    const char *name = string_of(call, "call");
    return strcmp(name, "inspect") == 0 || strcmp(name, "scan") == 0 || strcmp(name, "wait_free") == 0;
}

json_t *call_inspect(redlatch_client *client, const json_t *call) {
    const char *what = string_of(call, "call");
    struct text name = text_of(call, "name");
    json_t *notified;
    if (strcmp(what, "wait_free") == 0) {
        int64_t wait_ms = milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER);
        notified = outcome(redlatch_client_wait_free(client, name.bytes, name.size, wait_ms, NULL), NULL);
    } else {
        notified = strcmp(what, "scan") == 0 ? scan(client, name) : inspect(client, name);
    }
    free(name.bytes);
    return notified;
}

int start_inspect(redlatch_client *client, const json_t *call, uint64_t tag) {
    bool waits = strcmp(string_of(call, "call"), "wait_free") == 0;
    struct text name = text_of(call, "name");
    int64_t wait_ms = waits ? milliseconds_of(call, "wait_ms", "forever", REDLATCH_FOREVER) : 0;
    int status = waits ? redlatch_client_start_wait_free(client, name.bytes, name.size, wait_ms, tag)
                       : redlatch_client_start_inspect(client, name.bytes, name.size, NULL, tag);
    free(name.bytes);
    return status;
}
