/* Inspecting one name, whatever wrote it: blocking and started calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "guard.h"
#include "inquiry.h"
#include "locations.h"

void inquiry_set_name(struct inquiry *inquiry, const char *owner) {
    inquiry->question = (struct question){.key_count = 1, .argument_count = owner ? 1 : 0};
    inquiry->arguments[0] = inquiry->subject;
    inquiry->arguments[1] = (struct argument_part){owner, owner ? strlen(owner) : 0};
}

/* CLIENT LIST: the names of the connections show where the owners are. If it is forbidden or fails, the locations stay
 * unknown. */
void inquiry_set_client_list(struct inquiry *inquiry) {
    inquiry->question = (struct question){.server = inquiry->question.server, .argument_count = 2, .plain = true};
    inquiry->arguments[0] = (struct argument_part){"CLIENT", 6};
    inquiry->arguments[1] = (struct argument_part){"LIST", 4};
}

/* Finds the locations of a report's parties, on the server that replied to the inquiry `before`. */
static void find_locations(struct client *client, const struct inquiry *before, redlatch_report *report) {
    struct inquiry inquiry = {.question = before->question, .subject = before->subject};
    inquiry_set_client_list(&inquiry);
    if (locations_wanted(report) && inquiry_execute(client, &inquiry) == REDLATCH_OK) {
        locations_find(report, inquiry.text, inquiry.size);
    }
    free(inquiry.text);
}

int redlatch_client_inspect(redlatch_client *handle, const char *name, size_t name_size, const char *owner,
                            redlatch_report **report_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    if (!report_out) {
        return fail_with(REDLATCH_INVALID, "report_out is NULL: expected a pointer to set");
    }
    if ((status = check_name(client, name, name_size)) != REDLATCH_OK) {
        return status;
    }
    struct inquiry inquiry = {.text = NULL};
    char *full = name_join(client, false, name, name_size, &inquiry.subject.size);
    if (!full) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    inquiry.subject.text = full;
    inquiry_set_name(&inquiry, owner);
    status = inquiry_execute(client, &inquiry);
    if (status == REDLATCH_OK && (status = inquiry_report(client, &inquiry, report_out)) != REDLATCH_OK) {
        fail_plain(status);
    }
    if (status == REDLATCH_OK) {
        find_locations(client, &inquiry, *report_out);
    }
    free(inquiry.text);
    free(full);
    return status;
}

/* The first reply is the report. The second has the locations of its owners; the report is handed out even if that
 * failed. */
static bool answered(struct request *request) {
    struct inquiry *inquiry = request->inquiry;
    struct operation *operation = &request->operation;
    if (inquiry->report) {
        if (operation->status == REDLATCH_OK) {
            locations_find(inquiry->report, inquiry->text, inquiry->size);
        }
        operation->status = REDLATCH_OK;
        return true;
    }
    if (operation->status == REDLATCH_OK) {
        operation->status = inquiry_report(request->client, inquiry, &inquiry->report);
    }
    if (operation->status != REDLATCH_OK || !locations_wanted(inquiry->report)) {
        return true;
    }
    inquiry_set_client_list(inquiry);
    return false;
}

int redlatch_client_start_inspect(redlatch_client *handle, const char *name, size_t name_size, const char *owner,
                                  uint64_t tag) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_name(handle->client, name, name_size)) != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    size_t owner_size = owner ? strlen(owner) + 1 : 0;
    struct inquiry *inquiry = calloc(1, sizeof *inquiry);
    if (!inquiry) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    inquiry->name = name_join(client, false, name, name_size, &inquiry->subject.size);
    inquiry->owner = owner ? malloc(owner_size) : NULL;
    if (!inquiry->name || (owner && !inquiry->owner)) {
        inquiry_free(inquiry);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    if (owner) {
        memcpy(inquiry->owner, owner, owner_size);
    }
    inquiry->subject.text = inquiry->name;
    inquiry->answered = answered;
    inquiry_set_name(inquiry, inquiry->owner);
    return inquiry_start(client, inquiry, tag);
}
