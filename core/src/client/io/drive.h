/* Drives blocking calls until they are done.
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

/* Returns the pipeline whose replies the call waits for. */
struct pipeline_io *drive_io(const struct request *request);

/* Returns whether the call should read that pipeline. */
bool drive_should_read(const struct request *request);

/* Pauses for a moment, so that another hardware thread of the core has it to itself: it may run the server. Returns
 * false once `until` has come. */
bool drive_pause_until(int64_t until);

#endif
