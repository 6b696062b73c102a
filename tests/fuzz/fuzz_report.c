/* Fuzz target: the record that the script `inspect` makes. Any bytes are a valid report or are rejected. Every part of
 * a report can be read and is within its bounds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte is the size of the client's prefix; the rest is the record. */
#include "report.h"

#include "fuzz.h"
#include "numbers.h"

static const int64_t number_max = INT64_C(999999999999999999);

static bool is_text(const char *text, size_t room) {
    return memchr(text, '\0', room) != NULL;
}

static void check_party(const redlatch_report *report, uint64_t index) {
    redlatch_party party = {.struct_size = sizeof party};
    MUST(redlatch_report_party(report, index, &party) == REDLATCH_OK);
    MUST(is_text(party.owner, sizeof party.owner) && is_text(party.value, sizeof party.value));
    MUST(party.ttl_ms <= SERVER_MS_MAX && party.ttl_ms >= -SERVER_MS_MAX);
}

static void check_report(redlatch_report *report, size_t prefix_size, size_t record_size) {
    redlatch_facts facts = {.struct_size = sizeof facts};
    MUST(redlatch_report_facts(report, &facts) == REDLATCH_OK);
    MUST(facts.name_size + prefix_size <= record_size && is_text(facts.type, sizeof facts.type));
    const char *name = redlatch_report_name(report);
    MUST(name && name[facts.name_size] == '\0');
    MUST(facts.ttl_ms <= SERVER_MS_MAX && facts.ttl_ms >= -SERVER_MS_MAX);
    MUST(facts.count <= number_max && facts.count >= -number_max);
    MUST(redlatch_detected_kind_name(facts.detected_kind));
    for (uint64_t i = 0; i < facts.parties && i < 50; i++) {
        check_party(report, i);
    }
    redlatch_party party = {.struct_size = sizeof party};
    MUST(redlatch_report_party(report, facts.parties, &party) == REDLATCH_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    size_t prefix_size = input_byte(&input);
    struct argument_part record = {(const char *)input.bytes, input.size};
    struct argument_part name;
    if (report_is_name(&record, &name)) {
        MUST(name.text + name.size == record.text + record.size);
    }
    redlatch_report *report = NULL;
    int status = report_new(&record, prefix_size, &report);
    MUST(status == REDLATCH_OK || status == REDLATCH_PROTOCOL);
    MUST((status == REDLATCH_OK) == (report != NULL));
    if (report) {
        check_report(report, prefix_size, input.size);
        redlatch_report_free(report);
    }
    return 0;
}
