/* Reports: records as the script returns them, and replies that are no records.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>

#include "locations.h"
#include "unit.h"

static int make(const char *record, size_t prefix_size, redlatch_report **report_out) {
    struct argument_part part = {record, strlen(record)};
    return report_new(&part, prefix_size, report_out);
}

/* A record of a name with a prefix of 5 bytes: name, type, detected kind, remaining ms, token, holders, waiters, count,
 * parties; a holder of a value for 50 ms; a waiter. */
static const char LOCK[] = "8:shop:a:b4:hash1:15:299991:71:11:12:-31:2"
                           "1:11:26:f4c1:92:Vx2:50"
                           "1:41:06:f4c1:20:2:-1";

static void a_record_is_read(void) {
    redlatch_report *report = NULL;
    CHECK_EQ_INT(make(LOCK, 5, &report), REDLATCH_OK);
    CHECK_STR(redlatch_report_name(report), "a:b");
    redlatch_facts facts = {.struct_size = sizeof facts};
    CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_OK);
    CHECK_STR(facts.type, "hash");
    CHECK_EQ_INT(facts.detected_kind, REDLATCH_DETECTED_MUTEX);
    CHECK_EQ_INT(facts.ttl_ms, 29999);
    CHECK_EQ_INT(facts.token, 7);
    CHECK_EQ_INT(facts.count, -3);
    CHECK(facts.holders == 1 && facts.waiters == 1 && facts.parties == 2 && facts.name_size == 3);
    redlatch_party party = {.struct_size = sizeof party};
    CHECK_EQ_INT(redlatch_report_party(report, 0, &party), REDLATCH_OK);
    CHECK(party.role == REDLATCH_HOLDER && party.count == 2);
    CHECK_STR(party.owner, "f4c1:9");
    CHECK_STR(party.value, "Vx");
    CHECK_EQ_INT(party.ttl_ms, 50);
    CHECK_EQ_INT(redlatch_report_party(report, 1, &party), REDLATCH_OK);
    CHECK(party.role == REDLATCH_WAITER && party.count == 0);
    CHECK_STR(party.owner, "f4c1:2");
    CHECK(party.value[0] == '\0' && party.ttl_ms == -1);
    CHECK_EQ_INT(redlatch_report_party(report, 2, &party), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "index is 2") != NULL);
    redlatch_report_free(report);
    CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_BAD_HANDLE);
    CHECK(redlatch_report_name(report) == NULL);
    CHECK_EQ_INT(redlatch_report_facts(NULL, &facts), REDLATCH_BAD_HANDLE);
    redlatch_report_free(NULL);
}

static void a_record_may_be_a_name_alone(void) {
    struct argument_part name;
    struct argument_part alone = {"3:a:b", 5};
    CHECK(report_is_name(&alone, &name) && name.size == 3 && memcmp(name.text, "a:b", 3) == 0);
    struct argument_part whole = {LOCK, sizeof LOCK - 1};
    CHECK(!report_is_name(&whole, &name));
    struct argument_part bad = {"4:a:b", 5};
    CHECK(!report_is_name(&bad, &name));
}

static void what_is_cut_short_or_changed_is_no_record(void) {
    redlatch_report *report = NULL;
    char text[sizeof LOCK + 1];
    for (size_t size = 0; size < sizeof LOCK - 1; size++) {
        memcpy(text, LOCK, size);
        text[size] = '\0';
        CHECK_EQ_INT(make(text, 0, &report), REDLATCH_PROTOCOL);
    }
    snprintf(text, sizeof text, "%sx", LOCK);
    CHECK_EQ_INT(make(text, 0, &report), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(make("1:a4:none1:02:-21:x1:01:01:01:0", 0, &report), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(make("1:a4:none1:01:-1:01:01:01:01:0", 0, &report), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(make("99999999999999999999999999:a", 0, &report), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(make("1:a4:none1:02:-21:01:01:01:01:0", 2, &report), REDLATCH_PROTOCOL); /* shorter than its prefix */
    CHECK(report == NULL);
}

static void nothing_is_a_record_too(void) {
    redlatch_report *report = NULL;
    CHECK_EQ_INT(make("1:a4:none1:02:-21:01:01:01:01:0", 0, &report), REDLATCH_OK);
    redlatch_facts facts = {.struct_size = sizeof facts};
    CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_OK);
    CHECK(facts.detected_kind == REDLATCH_DETECTED_NOTHING && facts.ttl_ms == 0 && facts.parties == 0);
    redlatch_report_free(report);
}

/* A lock with a TTL and a token of 19 digits, and a holder with a TTL of as many. */
static void numbers_beyond_reckoning_are_cut_down(void) {
    redlatch_report *report = NULL;
    int status = make("1:a4:hash1:119:900000000000000000019:99999999999999999991:11:01:01:1"
                      "1:11:26:f4c1:92:Vx19:9000000000000000000",
                      0, &report);
    CHECK_EQ_INT(status, REDLATCH_OK);
    redlatch_facts facts = {.struct_size = sizeof facts};
    redlatch_party party = {.struct_size = sizeof party};
    CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_OK);
    CHECK_EQ_INT(facts.ttl_ms, INT64_C(1000000000000));
    CHECK_EQ_INT(facts.token, INT64_C(999999999999999999));
    CHECK_EQ_INT(redlatch_report_party(report, 0, &party), REDLATCH_OK);
    CHECK_EQ_INT(party.ttl_ms, INT64_C(1000000000000));
    redlatch_report_free(report);
}

/* So many parties that a search for each of them from the beginning would take minutes. */
static void many_parties_are_read(void) {
    enum { PARTIES = 300000 };
    static const char party[] = "1:11:141:01234567-89ab-8def-8123-456789abcdef:1234"
                                "0:2:-1";
    char head[100];
    int head_size = snprintf(head, sizeof head, "1:a4:hash1:15:299991:06:%d1:01:06:%d", PARTIES, PARTIES);
    size_t size = (size_t)head_size + PARTIES * (sizeof party - 1);
    char *text = malloc(size);
    CHECK(text);
    memcpy(text, head, (size_t)head_size);
    for (size_t i = 0; i < PARTIES; i++) {
        memcpy(text + head_size + i * (sizeof party - 1), party, sizeof party - 1);
    }
    redlatch_report *report = NULL;
    CHECK_EQ_INT(report_new(&(struct argument_part){text, size}, 0, &report), REDLATCH_OK);
    free(text);
    CHECK(locations_wanted(report));
    static const char list[] = "name=redlatch:h:1:01234567-89ab-8def-8123-456789abcdef\n";
    CHECK_EQ_INT(locations_find(report, list, sizeof list - 1), REDLATCH_OK);
    redlatch_party found = {.struct_size = sizeof found};
    for (uint64_t i = 0; i < PARTIES; i++) {
        CHECK_EQ_INT(redlatch_report_party(report, i, &found), REDLATCH_OK);
    }
    CHECK_STR(found.owner, "01234567-89ab-8def-8123-456789abcdef:1234");
    CHECK_EQ_INT(found.pid, 1);
    redlatch_report_free(report);
}

static void forms_have_names(void) {
    CHECK_STR(redlatch_detected_kind_name(REDLATCH_DETECTED_NOTHING), "nothing");
    CHECK_STR(redlatch_detected_kind_name(REDLATCH_DETECTED_MUTEX), "mutex");
    CHECK_STR(redlatch_detected_kind_name(REDLATCH_DETECTED_READ_WRITE), "read_write");
    CHECK_STR(redlatch_detected_kind_name(REDLATCH_DETECTED_UNKNOWN), "unknown");
    CHECK_STR(redlatch_detected_kind_name(12345), "unknown");
}

int main(void) {
    RUN(a_record_is_read);
    RUN(a_record_may_be_a_name_alone);
    RUN(what_is_cut_short_or_changed_is_no_record);
    RUN(nothing_is_a_record_too);
    RUN(numbers_beyond_reckoning_are_cut_down);
    RUN(many_parties_are_read);
    RUN(forms_have_names);
    return unit_done();
}
