/* Calls that inspect names, and reports as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_INSPECT_H
#define DRIVER_INSPECT_H

#include <jansson.h>
#include <redlatch.h>
#include <stdbool.h>

/* Returns whether a call is inspect, scan or wait_free. */
bool is_inspect(const json_t *call);

/* Makes such a call, on any thread. The outcome belongs to the caller. */
json_t *call_inspect(redlatch_client *client, const json_t *call);

/* Starts such a call, except a scan. */
int start_inspect(redlatch_client *client, const json_t *call, uint64_t tag);

/* Returns a report as JSON and frees the report. */
json_t *shown_report(redlatch_report *report);

#endif
