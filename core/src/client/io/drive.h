/* Blocking calls: driven until they are done.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVE_H
#define DRIVE_H

#include "client.h"

void request_init(struct request *request, struct client *client, struct redlatch_cancel *cancel);
void request_set_wait(struct request *request, int64_t wait_ms, int64_t now); /* 0: does not wait for others */
void drive_start(struct request *request, int64_t now);
void drive_until(struct request *request, int64_t until);
int drive(struct request *request);
enum pipeline_role drive_pick_pipeline(struct client *client, const struct operation *operation);

/* The connection that a call waits for. */
struct pipeline_io *drive_io(const struct request *request);

/* Whether a call should read it. */
bool drive_should_read(const struct request *request);

/* A moment for the other thread of a shared core, which may be the server's; false when the time has come. */
bool drive_pause_until(int64_t until);

#endif
