/* Hand-overs of a fair lock with a given number of waiters, which are threads of one process or of several.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each takes the lock, frees it and asks again, so that the queue at the server stays as long as it is. The parent has
 * the lock until all have their places, lets them play for a tenth of the time, and counts turns for the time asked.
 */
#include "arguments.h"
#include "bare.h"
#include "redlatch_peer.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { TIMEOUT_SECONDS = 100, STACK_SIZE = 64 * 1024 };

#define NAME "bench:fair"

/* What parent and children share. */
typedef struct fair_board {
    atomic_int begun;
    atomic_int over;
    atomic_int inside;
    atomic_int_least64_t turns;
} fair_board;

typedef struct fair_process {
    fair_board *board;
    redlatch_lock *lock;
} fair_process;

static void *take_turns(void *process_of_thread) {
    const fair_process *process = process_of_thread;
    fair_board *board = process->board;
    while (!atomic_load(&board->over)) {
        must(redlatch_lock_acquire(process->lock, REDLATCH_FOREVER), "acquire of the fair lock");
        if (atomic_fetch_add(&board->inside, 1) != 0) {
            give_up("two threads hold the fair lock at once");
        }
        atomic_fetch_add(&board->turns, 1);
        atomic_fetch_sub(&board->inside, 1);
        must(redlatch_lock_release(process->lock), "release of the fair lock");
    }
    return NULL;
}

/* Plays one process to its end. */
__attribute__((noreturn)) static void play(fair_board *board, int port, int waiters) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!atomic_load(&board->begun)) {
        sleep_ns(1000000);
    }
    redlatch_client *client = client_open(port);
    fair_process process = {.board = board, .lock = lock_open_of_kind(client, REDLATCH_FAIR, NAME)};
    pthread_t *threads = calloc((size_t)waiters, sizeof *threads);
    if (threads == NULL) {
        give_up("no memory for %d threads", waiters);
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (int i = 0; i < waiters; i++) {
        if (pthread_create(&threads[i], &attributes, take_turns, &process) != 0) {
            give_up("cannot start thread %d of %d: is there a limit on threads?", i + 1, waiters);
        }
    }
    for (int i = 0; i < waiters; i++) {
        pthread_join(threads[i], NULL);
    }
    free(threads);
    redlatch_lock_free(process.lock);
    client_close(client);
    exit(0);
}

static void fork_players(fair_board *board, int processes, int port, int waiters) {
    for (int i = 0; i < processes; i++) {
        const pid_t child = fork();
        if (child < 0) {
            give_up("cannot start process %d of %d", i + 1, processes);
        }
        if (child == 0) {
            play(board, port, waiters / processes);
        }
    }
}

static void await_places(int port, int waiters) {
    redisContext *context = bare_connect(port);
    long long places = 0;
    for (int tries = 0; places < waiters; tries++) {
        if (tries == TIMEOUT_SECONDS * 100 || waitpid(-1, NULL, WNOHANG) != 0) {
            give_up("only %lld of %d waiters have a place in the queue", places, waiters);
        }
        sleep_ns(10000000);
        redisReply *reply = bare_checked(context, redisCommand(context, "LLEN redisson_lock_queue:{%s}", NAME));
        places = reply->integer;
        freeReplyObject(reply);
    }
    redisFree(context);
}

/* Lets the players play and prints what they did. */
static void measure(fair_board *board, double seconds) {
    sleep_ns((int64_t)(seconds * 1e8));
    const int64_t turns_before = atomic_load(&board->turns);
    const int64_t start_ns = now_ns();
    sleep_ns((int64_t)(seconds * 1e9));
    const int64_t turns = atomic_load(&board->turns) - turns_before;
    printf("{\"seconds\": %.6f, \"hand_overs\": %" PRId64 "}\n", (double)(now_ns() - start_ns) / 1e9, turns);
}

int main(int argc, char **argv) {
    int port = 6379;
    int waiters = 10;
    int processes = 1;
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--waiters", .integer = &waiters},
        {.name = "--processes", .integer = &processes},
        {.name = "--seconds", .number = &seconds},
    };
    ARGUMENTS_READ(argc, argv, table);
    if (processes < 1 || waiters < processes || waiters % processes != 0) {
        give_up("%d waiters cannot be shared out evenly among %d processes", waiters, processes);
    }
    fair_board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        give_up("cannot make shared memory");
    }
    fork_players(board, processes, port, waiters);

    redlatch_client *client = client_open(port);
    redlatch_lock *lock = lock_open_of_kind(client, REDLATCH_FAIR, NAME);
    must(redlatch_lock_try_acquire(lock), "acquire of a free lock");
    atomic_store(&board->begun, 1);
    await_places(port, waiters);
    must(redlatch_lock_release(lock), "release of the fair lock");
    measure(board, seconds);

    atomic_store(&board->over, 1);
    for (int i = 0; i < processes; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            give_up("a process of waiters failed");
        }
    }
    redlatch_lock_free(lock);
    client_close(client);
    return 0;
}
