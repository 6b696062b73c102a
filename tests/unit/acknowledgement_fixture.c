/* The engine's rig with two replicas that must acknowledge.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acknowledgement_fixture.h"

void open_rig(void) {
    rig_open();
    rig.engine.settings.min_replicas = 2;
    rig.engine.settings.replica_timeout_ms = 1000;
}

void grant(int64_t replicas) {
    rig_acknowledged(PIPELINE, (struct reply){.kind = REPLY_NIL}, replicas);
}

void confirm(int64_t replicas) {
    rig_acknowledged(PIPELINE, (struct reply){.kind = REPLY_INTEGER, .integer = 1}, replicas);
}
