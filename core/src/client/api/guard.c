/* Checking whether a client may be used.
 * SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include "reopen.h"

int client_check(struct client *client) {
    int status = client_is_inherited(client) ? client_reopen(client) : REDLATCH_OK;
    return status == REDLATCH_OK ? client_status(client) : status;
}

bool client_adopt(struct client *client) {
    return !client_is_inherited(client) || client_reopen(client) == REDLATCH_OK;
}

int guard_client(const struct redlatch_client *handle) {
    int status = guard_client_handle(handle);
    return status == REDLATCH_OK ? client_check(handle->client) : status;
}
