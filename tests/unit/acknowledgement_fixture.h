/* The engine's rig with two replicas that must acknowledge.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACKNOWLEDGEMENT_FIXTURE_H
#define ACKNOWLEDGEMENT_FIXTURE_H

#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

void open_rig(void);

/* Both reply to the oldest command: grant with nil, confirm with 1. `replicas` replicas acknowledge the command. */
void grant(int64_t replicas);
void confirm(int64_t replicas);

#endif
