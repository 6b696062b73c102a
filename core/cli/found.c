/* Reading reports for the commands that print them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "found.h"

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

bool found_party(const struct found *found, uint64_t index, redlatch_party *party) {
    memset(party, 0, sizeof *party);
    party->struct_size = sizeof *party;
    return index < found->facts.parties && redlatch_report_party(found->report, index, party) == REDLATCH_OK;
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
