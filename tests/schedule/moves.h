/* Clients whose server changes under them, and whose passwords do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MOVES_H
#define MOVES_H

/* How clients are led to another server: their URL's name, a proxy at its address, a list in the URL; a proxy that
 * balances over two servers; not at all. And whether passwords change. */
enum {
    MOVES_BY_NAME = 1 << 20,
    MOVES_BY_PROXY = 1 << 21,
    MOVES_BY_LIST = 1 << 22,
    IS_BALANCED = 1 << 23,
    CHANGES_PASSWORDS = 1 << 24,
    MOVES_ANY = MOVES_BY_NAME | MOVES_BY_PROXY | MOVES_BY_LIST | IS_BALANCED | CHANGES_PASSWORDS
};

/* The first actor of a run, of a struct scenario whose `calls` are these; it is judged by move_checks.h. */
void moves_run(void *context);

#endif
