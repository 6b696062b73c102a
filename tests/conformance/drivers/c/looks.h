/* What the server knows of names, told by redlatch.h to anybody.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_INSPECT_H
#define CONFORMANCE_INSPECT_H

#include <jansson.h>
#include <redlatch.h>
#include <stdbool.h>

/* Whether a call is one of these: inspect, scan, wait_free. */
bool is_inspect(const json_t *call);

/* The call, on any thread; the outcome is the caller's. */
json_t *call_inspect(redlatch_client *client, const json_t *call);

/* Starts it, unless it is a scan. */
int start_inspect(redlatch_client *client, const json_t *call, uint64_t tag);

/* A report as JSON; gives it back. */
json_t *shown_report(redlatch_report *report);

#endif
