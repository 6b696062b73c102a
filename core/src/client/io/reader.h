/* The reader role of a pipeline: who has it next.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READER_H
#define READER_H

#include "client.h"

void drive_pass_reading(struct pipeline_io *io, int64_t now);
bool drive_has_reader(const struct pipeline_io *io);

/* Whoever steps machines may have sent commands on other pipelines for callers who sleep: they are to read them. */
void drive_pass_reading_all(struct client *client, const struct pipeline_io *except);

#endif
