/* Owners found in a CLIENT LIST: lists as servers print them, and connection names that only resemble redlatch's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "locations.h"

#include "unit.h"

#define OURS "01234567-89ab-8def-8123-456789abcdef"
#define OTHER "76543210-89ab-8def-8123-456789abcdef"
#define REDISSON "01234567-89ab-4def-8123-456789abcdef"

/* Returns a report of one holder and one waiter. */
static redlatch_report *report_of(const char *holder, const char *waiter) {
    char text[300];
    snprintf(text, sizeof text, "1:a4:hash1:15:299991:01:11:11:01:21:11:1%zu:%s0:2:-11:41:0%zu:%s0:2:-1",
             strlen(holder), holder, strlen(waiter), waiter);
    struct argument_part record = {text, strlen(text)};
    redlatch_report *report = NULL;
    CHECK_EQ_INT(report_new(&record, 0, &report), REDLATCH_OK);
    return report;
}

/* Returns the location of a party as "host pid", or as "label on host pid". */
static const char *place_of(redlatch_report *report, uint64_t index) {
    static char text[200];
    redlatch_party party = {.struct_size = sizeof party};
    CHECK_EQ_INT(redlatch_report_party(report, index, &party), REDLATCH_OK);
    snprintf(text, sizeof text, "%s%s%s %lld", party.label, party.label[0] ? " on " : "", party.host,
             (long long)party.pid);
    return text;
}

static void find(redlatch_report *report, const char *list) {
    CHECK_EQ_INT(locations_find(report, list, strlen(list)), REDLATCH_OK);
}

static void owners_are_found_by_their_uuid(void) {
    redlatch_report *report = report_of(OURS ":7", OTHER ":12");
    CHECK(locations_wanted(report));
    CHECK_STR(place_of(report, 0), " 0");
    find(report, "id=3 addr=127.0.0.1:40972 fd=8 name=e2e-admin age=0 cmd=client|list user=default\n"
                 "id=4 addr=127.0.0.1:40974 fd=9 name=redlatch:some-host:4711:" OURS " age=1 db=0\n"
                 "id=5 addr=127.0.0.1:40975 fd=9 name= age=1 db=0\n"
                 "id=6 addr=127.0.0.1:40976 fd=9 name=redlatch:h:1:" OTHER "\n");
    CHECK_STR(place_of(report, 0), "some-host 4711");
    CHECK_STR(place_of(report, 1), "h 1");
    redlatch_report_free(report);
}

static void labels_end_at_the_last_mark(void) {
    static const struct {
        const char *name;
        const char *place;
    } rows[] = {
        {"billing@host:7:", "billing on host 7"},
        {"a:1@b@host:7:", "a:1@b on host 7"},
        {"@@host:7:", "@ on host 7"},
        {"@host:7:", "host 7"},
        {"0123456789012345678901234567890123456789012345678901234567890123@host:7:",
         "0123456789012345678901234567890123456789012345678901234567890123 on host 7"},
        {"label@:7:", " 0"},
        {"label@host:", " 0"},
        {"012345678901234567890123456789012345678901234567890123456789012345678901@host:7:", " 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char list[300];
        redlatch_report *report = report_of(OURS ":7", OTHER ":12");
        snprintf(list, sizeof list, "id=4 name=redlatch:%s" OURS " age=1\n", rows[i].name);
        find(report, list);
        CHECK_STR(place_of(report, 0), rows[i].place);
        redlatch_report_free(report);
    }
}

static void redissons_owners_are_not_searched(void) {
    redlatch_report *report = report_of(REDISSON ":7", "short");
    CHECK(!locations_wanted(report));
    find(report, "id=4 name=redlatch:host:4711:" REDISSON " age=1\n");
    CHECK_STR(place_of(report, 0), " 0");
    redlatch_report_free(report);
}

static void names_of_another_shape_are_passed_over(void) {
    static const char *const lists[] = {
        "",
        "\n\n",
        "name=",
        "name=redlatch:",
        "id=1 name=redlatch:" OURS " age=1\n",
        "id=1 name=redlatch::4711:" OURS " age=1\n",
        "id=1 name=redlatch:host::" OURS " age=1\n",
        "id=1 name=redlatch:host:12345678901:" OURS " age=1\n",
        "id=1 name=redlatch:host:4711:" OURS "0 age=1\n",
        "id=1 name=redlatch:host-of-a-name-that-is-longer-than-any-host-name-may-be-and-so-is-not-one-of-ours:1:" OURS,
        "id=1 xname=redlatch:host:4711:" OURS " age=1\n",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        redlatch_report *report = report_of(OURS ":7", OTHER ":1");
        find(report, lists[i]);
        CHECK_STR(place_of(report, 0), " 0");
        redlatch_report_free(report);
    }
}

int main(void) {
    RUN(owners_are_found_by_their_uuid);
    RUN(labels_end_at_the_last_mark);
    RUN(redissons_owners_are_not_searched);
    RUN(names_of_another_shape_are_passed_over);
    return unit_done();
}
