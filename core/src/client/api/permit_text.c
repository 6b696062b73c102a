/* The ids of permits as text, and the error texts of calls on one permit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "permit_text.h"

#include "errors.h"

static void write_id(const unsigned char bytes[PERMIT_SIZE], char id[REDLATCH_PERMIT_ID_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < PERMIT_SIZE; i++) {
        id[2 * i] = digits[bytes[i] >> 4];
        id[2 * i + 1] = digits[bytes[i] & 15];
    }
    id[2 * PERMIT_SIZE] = '\0';
}

void permit_id(const struct engine *engine, uint64_t serial, char id[REDLATCH_PERMIT_ID_SIZE]) {
    unsigned char bytes[PERMIT_SIZE];
    permit_bytes(engine, serial, bytes);
    write_id(bytes, id);
}

int permit_failed(const struct request *request, int status) {
    const struct operation *operation = &request->operation;
    const struct resource *resource = operation->resource;
    bool extends = operation->kind == OPERATION_EXTEND || operation->change == PERMITS_EXTEND;
    char id[REDLATCH_PERMIT_ID_SIZE];
    char shown[64];
    if (operation->kind == OPERATION_CHANGE) {
        write_id(operation->permit, id);
    } else { /* on a hold, whose owner number is that of the permit */
        permit_id(&request->client->engine, operation->owner & ~PERMIT_OWNER, id);
    }
    shown_name(resource->name, resource->name_size, shown);
    const char *verb = extends ? "extend" : "release";
    if (status != REDLATCH_LOST) {
        return fail_with(status, "%s permit %s of \"%s\": there is no such permit, or it was acquired again since",
                         verb, id, shown);
    }
    int reason = operation->reason ? operation->reason : REDLATCH_REASON_EXPIRED; /* the server saw the lease's end */
    fail_with(status, "%s permit %s of \"%s\": it was acquired and has been lost: %s", verb, id, shown,
              reason_text(reason));
    return fail_for(status, reason);
}
