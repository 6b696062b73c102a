/* Walks over the locks of a server, or of all masters of a cluster, whose handle may be freed while a step is under
 * way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WALK_H
#define WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a walk stands: the handle's, and that of a started step, which may outlive the handle. */
struct walk {
    _Atomic uint32_t references;
    atomic_bool stepping;  /* a step was started whose event was not handed out: nobody else touches the rest */
    bool over;             /* there are no more pages */
    struct server *server; /* whose pages these are; of a cluster, one master after the other. NULL: not known yet */
    struct server *first;  /* whose were first */
    char cursor[24];       /* the server's, "0" at the beginning and at the end */
    char *pattern;         /* prefix included */
    size_t pattern_size;
    char *page; /* records of the last page */
    size_t page_size;
    size_t page_at; /* told of up to here */
};

/* A started step lets go of its walk. */
void walk_drop(struct walk *walk);

#endif
