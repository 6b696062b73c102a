/* Clients whose server or password changes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MOVES_H
#define MOVES_H

/* How clients are led to another server: by the name in their URL, by a proxy, by a list in the URL, by
 * sentinels, or not at all. A
 * proxy may balance over two servers. Passwords may change. */
enum {
    MOVES_BY_NAME = 1 << 20,
    MOVES_BY_PROXY = 1 << 21,
    MOVES_BY_LIST = 1 << 22,
    IS_BALANCED = 1 << 23,
    CHANGES_PASSWORDS = 1 << 24,
    MOVES_BY_SENTINEL = 1 << 25,
    MOVES_ANY = MOVES_BY_NAME | MOVES_BY_PROXY | MOVES_BY_LIST | MOVES_BY_SENTINEL | IS_BALANCED | CHANGES_PASSWORDS
};

/* The first actor of a run. `context` is a struct scenario with these flags in `calls`. move_checks.h checks the
 * run. */
void moves_run(void *context);

#endif
