/* Prints reports as JSON. Names and owners are bytes, and JSON is UTF-8. In a text that is not valid UTF-8, each byte
 * that is not ASCII becomes U+FFFD. A member such as name_hex has the true bytes in hexadecimal.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "found.h"
#include "json_writer.h"

static void put_text(struct json_writer *writer, const char *key, const char *text) {
    json_key(writer, key);
    json_string(writer, text, strlen(text));
}

static void put_number(struct json_writer *writer, const char *key, int64_t number) {
    json_key(writer, key);
    json_number(writer, number);
}

/* Writes a member of any bytes. If they are not UTF-8, adds a member `hex_key` with the bytes in hexadecimal. */
static void put_bytes(struct json_writer *writer, const char *key, const char *hex_key, const char *bytes,
                      size_t size) {
    json_key(writer, key);
    if (json_is_utf8(bytes, size)) {
        json_string(writer, bytes, size);
        return;
    }
    json_mended(writer, bytes, size);
    json_key(writer, hex_key);
    json_hexadecimal(writer, bytes, size);
}

static void put_holder(struct json_writer *writer, const redlatch_party *party) {
    json_begin(writer, '{');
    put_bytes(writer, "owner", "owner_hex", party->owner, strlen(party->owner));
    put_number(writer, "count", (int64_t)party->count);
    if (party->pid) {
        put_bytes(writer, "host", "host_hex", party->host, strlen(party->host));
        put_number(writer, "pid", party->pid);
    }
    if (party->label[0]) {
        put_bytes(writer, "label", "label_hex", party->label, strlen(party->label));
    }
    if (party->value[0]) {
        put_bytes(writer, "value", "value_hex", party->value, strlen(party->value));
    }
    if (party->ttl_ms >= 0) {
        put_number(writer, "ttl_ms", party->ttl_ms);
    }
    if (party->role != REDLATCH_HOLDER) {
        put_text(writer, "role", role_name(party->role));
    }
    json_end(writer, '}');
}

static void put_waiter(struct json_writer *writer, const redlatch_party *party) {
    size_t size = strlen(party->owner);
    if (json_is_utf8(party->owner, size)) {
        json_string(writer, party->owner, size);
    } else {
        json_mended(writer, party->owner, size);
    }
}

/* Writes the waiters, or all other parties. */
static void put_parties(struct json_writer *writer, const struct found *found, bool waiting) {
    redlatch_party party;
    json_begin(writer, '[');
    for (uint64_t i = 0; found_party(found, i, &party); i++) {
        if ((party.role == REDLATCH_WAITER) == waiting) {
            (waiting ? put_waiter : put_holder)(writer, &party);
        }
    }
    json_end(writer, ']');
}

static void put_found(struct json_writer *writer, const struct found *found) {
    const redlatch_facts *facts = &found->facts;
    json_begin(writer, '{');
    put_bytes(writer, "name", "name_hex", found->name, (size_t)facts->name_size);
    put_text(writer, "kind", redlatch_detected_kind_name(facts->detected_kind));
    if (!found_is_count(found)) {
        json_key(writer, "held");
        json_boolean(writer, found_is_held(found));
    }
    json_key(writer, "holders");
    put_parties(writer, found, false);
    put_number(writer, "holder_count", (int64_t)facts->holders);
    put_number(writer, "ttl_ms", facts->ttl_ms);
    json_key(writer, "waiters");
    put_parties(writer, found, true);
    put_number(writer, "waiter_count", (int64_t)facts->waiters);
    if (facts->detected_kind == REDLATCH_DETECTED_FENCED) {
        put_number(writer, "token", (int64_t)facts->token);
    }
    if (found_is_count(found)) {
        put_number(writer, "number", facts->count);
    }
    put_bytes(writer, "node", "node_hex", facts->node, strlen(facts->node));
    put_bytes(writer, "type", "type_hex", facts->type, strlen(facts->type));
    json_end(writer, '}');
}

void json_print_one(const struct found *found) {
    struct json_writer writer = {0};
    put_found(&writer, found);
}

void json_print_all(const struct found *found, size_t count) {
    struct json_writer writer = {0};
    json_begin(&writer, '[');
    for (size_t i = 0; i < count; i++) {
        put_found(&writer, &found[i]);
    }
    json_end(&writer, ']');
}
