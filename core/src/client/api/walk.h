/* The state of a walk over the locks of a server, or of all masters of a cluster. It is reference-counted, since the
 * handle of a scan may be freed while a step is in progress.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WALK_H
#define WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node.h"

/* The handle has one reference, and so has a started step, which may outlive the handle. */
struct walk {
    _Atomic uint32_t references;
    atomic_bool stepping;  /* a step is in progress, or its event not yet collected: only the step uses the rest */
    bool over;             /* there are no more pages */
    struct server *server; /* its page is next: in a cluster, one master after the other. NULL: not known yet */
    struct server *first;  /* its page was the first */
    char cursor[24];       /* of SCAN: "0" at the beginning and at the end */
    char *pattern;         /* prefix included */
    size_t pattern_size;
    char *page; /* records of the last page */
    size_t page_size;
    size_t page_at; /* offset of the next record to report */
    char page_node[NODE_ADDRESS_SIZE];
};

/* Drops a reference, and frees the walk with the last one. */
void walk_drop(struct walk *walk);

#endif
