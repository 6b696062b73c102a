/* Reports: the records that the script `inspect` makes. A record is checked on arrival; its parts are parsed when read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "numbers.h"
#include "options.h"

bool report_next_string(const char *text, size_t size, size_t *at, struct argument_part *string_out) {
    size_t length = 0;
    size_t digits = *at;
    while (digits < size && text[digits] >= '0' && text[digits] <= '9' && length <= size) {
        length = length * 10 + (size_t)(text[digits++] - '0');
    }
    if (digits == *at || digits >= size || text[digits] != ':' || length > size - digits - 1) {
        return false;
    }
    string_out->text = text + digits + 1;
    string_out->size = length;
    *at = digits + 1 + length;
    return true;
}

bool report_is_name(const struct argument_part *record, struct argument_part *name_out) {
    size_t at = 0;
    return report_next_string(record->text, record->size, &at, name_out) && at == record->size;
}

/* Reads the next string as a decimal number, which may be negative. Returns false if it is none. */
static bool next_number(const char *text, size_t size, size_t *at, int64_t *number_out) {
    struct argument_part string;
    return report_next_string(text, size, at, &string) && server_number(string.text, string.size, number_out);
}

/* Copies a string, cut if it is too long. */
static void copy_cut(char *to, size_t capacity, const struct argument_part *string) {
    size_t size = string->size < capacity - 1 ? string->size : capacity - 1;
    memcpy(to, string->text, size);
    memset(to + size, 0, capacity - size);
}

static bool next_party(const struct redlatch_report *report, size_t *at, redlatch_party *party) {
    int64_t role;
    int64_t count;
    struct argument_part owner;
    struct argument_part value;
    if (!next_number(report->record, report->record_size, at, &role) ||
        !next_number(report->record, report->record_size, at, &count) ||
        !report_next_string(report->record, report->record_size, at, &owner) ||
        !report_next_string(report->record, report->record_size, at, &value) ||
        !next_number(report->record, report->record_size, at, &party->ttl_ms)) {
        return false;
    }
    party->ttl_ms = server_ms(party->ttl_ms);
    party->role = (int32_t)role;
    party->count = (uint64_t)count;
    copy_cut(party->owner, sizeof party->owner, &owner);
    copy_cut(party->value, sizeof party->value, &value);
    return true;
}

/* Reads the facts, and checks that every party can be read. */
static bool read_record(struct redlatch_report *report, struct argument_part *name_out, size_t *parties_at_out) {
    redlatch_facts *facts = &report->facts;
    size_t at = 0;
    struct argument_part type;
    int64_t numbers[7];
    if (!report_next_string(report->record, report->record_size, &at, name_out) ||
        !report_next_string(report->record, report->record_size, &at, &type)) {
        return false;
    }
    for (int i = 0; i < 7; i++) {
        if (!next_number(report->record, report->record_size, &at, &numbers[i])) {
            return false;
        }
    }
    copy_cut(facts->type, sizeof facts->type, &type);
    facts->detected_kind = (int32_t)numbers[0];
    facts->ttl_ms = numbers[1] == -2 ? 0 : server_ms(numbers[1]);
    facts->token = (uint64_t)numbers[2];
    facts->holders = (uint64_t)numbers[3];
    facts->waiters = (uint64_t)numbers[4];
    facts->count = numbers[5];
    facts->parties = (uint64_t)numbers[6];
    *parties_at_out = at;
    redlatch_party party;
    for (uint64_t i = 0; i < facts->parties; i++) {
        if (!next_party(report, &at, &party)) {
            return false;
        }
    }
    return at == report->record_size;
}

/* Notes the offset of each party. read_record has checked that all are in the record. Returns false if there was no
 * memory. */
static bool index_parties(struct redlatch_report *report, size_t at) {
    report->party_at = malloc((report->facts.parties + 1) * sizeof *report->party_at);
    for (uint64_t i = 0; report->party_at && i < report->facts.parties; i++) {
        redlatch_party party;
        report->party_at[i] = (uint32_t)at;
        next_party(report, &at, &party);
    }
    return report->party_at != NULL;
}

static void free_report(struct redlatch_report *report) {
    free(report->name);
    free(report->record);
    free(report->party_at);
    free(report->locations);
    handle_free_report(report);
}

int report_new(const struct argument_part *record, size_t prefix_size, redlatch_report **report_out) {
    struct redlatch_report *report = handle_new_report();
    if (!report) {
        return REDLATCH_NO_MEMORY;
    }
    report->record = malloc(record->size + 1);
    if (!report->record) {
        free_report(report);
        return REDLATCH_NO_MEMORY;
    }
    memcpy(report->record, record->text, record->size);
    report->record_size = record->size;
    struct argument_part name;
    size_t parties_at;
    bool fits = record->size <= UINT32_MAX;
    if (!fits || !read_record(report, &name, &parties_at) || name.size < prefix_size) {
        free_report(report);
        return REDLATCH_PROTOCOL;
    }
    report->facts.name_size = name.size - prefix_size;
    report->name = malloc(name.size - prefix_size + 1);
    if (!report->name || !index_parties(report, parties_at)) {
        free_report(report);
        return REDLATCH_NO_MEMORY;
    }
    memcpy(report->name, name.text + prefix_size, name.size - prefix_size);
    report->name[name.size - prefix_size] = '\0';
    *report_out = report;
    return REDLATCH_OK;
}

static int guard_report(const struct redlatch_report *report) {
    if (!report || atomic_load(&report->magic) != MAGIC_REPORT) {
        return fail_bad_handle(report, "report", "redlatch_client_inspect or redlatch_scan_next");
    }
    return REDLATCH_OK;
}

const char *redlatch_report_name(const redlatch_report *report) {
    return guard_report(report) == REDLATCH_OK ? report->name : NULL;
}

int redlatch_report_facts(const redlatch_report *report, redlatch_facts *facts_out) {
    int status = guard_report(report);
    return status == REDLATCH_OK ? answer_write(facts_out, &report->facts, sizeof report->facts, "facts_out") : status;
}

int redlatch_report_party(const redlatch_report *report, uint64_t index, redlatch_party *party_out) {
    int status = guard_report(report);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (index >= report->facts.parties) {
        return fail_with(REDLATCH_INVALID, "index is %llu: expected less than %llu, the number of parties",
                         (unsigned long long)index, (unsigned long long)report->facts.parties);
    }
    size_t at = report->party_at[index];
    redlatch_party party = {.role = 0};
    next_party(report, &at, &party);
    if (report->locations) {
        memcpy(party.host, report->locations[index].host, sizeof party.host);
        memcpy(party.label, report->locations[index].label, sizeof party.label);
        party.pid = report->locations[index].pid;
    }
    return answer_write(party_out, &party, sizeof party, "party_out");
}

void redlatch_report_free(redlatch_report *report) {
    if (report && guard_report(report) == REDLATCH_OK) {
        free_report(report);
    }
}

const char *redlatch_detected_kind_name(int detected_kind) {
    switch ((enum redlatch_detected_kind)detected_kind) {
    case REDLATCH_DETECTED_NOTHING:
        return "nothing";
    case REDLATCH_DETECTED_MUTEX:
        return "mutex";
    case REDLATCH_DETECTED_FENCED:
        return "fenced";
    case REDLATCH_DETECTED_FAIR:
        return "fair";
    case REDLATCH_DETECTED_READ_WRITE:
        return "read_write";
    case REDLATCH_DETECTED_PLAIN:
        return "plain";
    case REDLATCH_DETECTED_GROUP:
        return "group";
    case REDLATCH_DETECTED_COUNT:
        return "count";
    case REDLATCH_DETECTED_PERMIT_SEMAPHORE:
        return "permit_semaphore";
    case REDLATCH_DETECTED_UNKNOWN:
        break;
    }
    return "unknown";
}
