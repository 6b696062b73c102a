/* The engine's rig with two replicas that must acknowledge.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACKNOWLEDGEMENT_FIXTURE_H
#define ACKNOWLEDGEMENT_FIXTURE_H

#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

void open_rig(void);

/* Answers the oldest command: it is granted, or confirmed by 1, and so many replicas acknowledge it. */
void grant(int64_t replicas);
void confirm(int64_t replicas);

#endif
