/* The hand-off game: two processes pass one lock to and fro, and the time of each pass is taken.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One process holds, the other waits in its acquire; the holder releases after a random 2 to 4 ms. A sample is the time
 * from the call of release in one process to the return of acquire in the other. Then the roles change. What the two
 * tell each other goes through a socket pair and never while a sample is running, so it costs the sample nothing.
 */
#ifndef BENCH_HAND_OFF_H
#define BENCH_HAND_OFF_H

#include "measure.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

typedef struct hand_off_player {
    void *(*open)(const void *settings, int side); /* called in the process that will use it */
    void (*acquire)(void *state);                  /* waits until the lock is ours */
    void (*release)(void *state);
    void (*close)(void *state);
    const void *settings;
} hand_off_player;

typedef struct hand_off_board {
    _Atomic int64_t released_ns;
    int64_t samples_ns[];
} hand_off_board;

static inline void hand_off_tell(int descriptor) {
    if (send(descriptor, "x", 1, MSG_NOSIGNAL) != 1) {
        give_up("the other player of the hand-off is gone");
    }
}

static inline void hand_off_hear(int descriptor) {
    char word = 0;
    if (read(descriptor, &word, 1) != 1) {
        give_up("the other player of the hand-off is gone");
    }
}

/* Plays one side. Side 0 begins as the holder. */
static inline void hand_off_play(const hand_off_player *player, int side, int descriptor, int passes,
                                 hand_off_board *board) {
    void *state = player->open(player->settings, side);
    uint32_t random = 2463534242u + (uint32_t)side;
    if (side == 0) {
        player->acquire(state);
        hand_off_tell(descriptor);
    }
    for (int pass = 0; pass < passes; pass++) {
        if (pass % 2 == side) {
            hand_off_hear(descriptor); /* the other is about to wait */
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            sleep_ns(2000000 + random % 2000000);
            atomic_store(&board->released_ns, now_ns());
            player->release(state);
        } else {
            hand_off_hear(descriptor); /* the other holds */
            hand_off_tell(descriptor);
            player->acquire(state);
            board->samples_ns[pass] = now_ns() - atomic_load(&board->released_ns);
            if (pass + 1 < passes) {
                hand_off_tell(descriptor);
            }
        }
    }
    if (passes % 2 == side) {
        player->release(state);
    }
    player->close(state);
}

/* Plays the game and prints its samples as one line of JSON. */
static inline void hand_off_run(const hand_off_player *player, int passes) {
    const size_t board_size = sizeof(hand_off_board) + (size_t)passes * sizeof(int64_t);
    hand_off_board *board = mmap(NULL, board_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int pair[2];
    if (board == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        give_up("cannot make shared memory and a socket pair for %d passes", passes);
    }
    const pid_t child = fork();
    if (child < 0) {
        give_up("cannot start the second process");
    }
    close(pair[child == 0 ? 0 : 1]);
    hand_off_play(player, child == 0 ? 1 : 0, pair[child == 0 ? 1 : 0], passes, board);
    if (child == 0) {
        exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
        give_up("the second process of the hand-off failed");
    }
    printf("{\"samples_us\": [");
    for (int pass = 0; pass < passes; pass++) {
        printf("%s%.1f", pass == 0 ? "" : ", ", (double)board->samples_ns[pass] / 1e3);
    }
    printf("]}\n");
}

#endif
