/* Waits for several subrequests on one thread: one poll waits for all their pipelines.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The thread takes the reader role of each open pipeline that no other thread reads. It keeps the roles until the wait
 * ends or a separate subrequest has its turn. A separate subrequest is one whose pipeline another thread reads, or
 * whose connection has to be opened first. It is driven for a moment, in turn with the poll. */
#include "subrequests_wait.h"

#include <poll.h>

#include "adaptive_spin.h"
#include "client_lock.h"
#include "drive.h"
#include "outputs.h"
#include "pipeline_io.h"
#include "reader.h"
#include "subrequest.h"

/* How long the poll and a separate subrequest have in turn. After SHORT_TURNS turns something is known to be slow, and
 * the turns are longer. */
static const int64_t SHORT_TURN = MILLISECOND;
static const int64_t LONG_TURN = 8 * MILLISECOND;
enum { SHORT_TURNS = 64 };

/* What is polled: the subrequests that read, and the cancel object. */
struct watch_list {
    struct pollfd fds[REDLATCH_MEMBERS_MAX + 2];
    struct subrequest *subrequests[REDLATCH_MEMBERS_MAX + 2];
    uint32_t count;
    uint32_t separate; /* separate subrequests */
    int64_t until;
};

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static bool is_cancelled(const struct subrequest_set *set) {
    return set->cancel && (atomic_load(&set->cancel->futex) & CANCEL_FIRED);
}

/* Takes or keeps the reader role of the subrequest's pipeline, if there is something to read, a connection, and no
 * other reader. Returns whether the pipeline is to be polled. */
static bool start_reading(struct subrequest *subrequest, int64_t now) {
    struct pipeline_io *io = drive_io(&subrequest->request);
    if (subrequest->reads && subrequest->reads != io) { /* the name has moved */
        subrequest_stop_reading(subrequest, now);
    }
    bool wanted = drive_should_read(&subrequest->request) && io->connection.state == CONNECTION_READY;
    if (!wanted || (!subrequest->reads && io_is_read(io))) {
        subrequest_stop_reading(subrequest, now);
        return false;
    }
    if (!subrequest->reads) {
        subrequest->reads = io;
        reader_take(io, READER_COMPOSITE);
    }
    io_flush(io); /* writes what was left to the reader; drops the mutex for a moment */
    return io->connection.state == CONNECTION_READY;
}

/* Ends a subrequest whose deadline has come, else prepares to read for it. Returns whether it is done. */
static bool prepare(struct subrequest *subrequest, struct watch_list *list) {
    struct client *client = subrequest->client;
    struct operation *operation = &subrequest->request.operation;
    client_lock(client);
    int64_t now = system_now();
    if (operation->phase != PHASE_DONE && now >= operation->wait_until) {
        engine_abort(&client->engine, operation, REDLATCH_TIMEOUT, now);
        client_outputs(client, now);
    }
    if (operation->phase != PHASE_DONE && start_reading(subrequest, now) && operation->phase != PHASE_DONE) {
        struct pipeline_io *io = subrequest->reads;
        list->until = earlier(list->until, earlier(operation->wait_until, io_next_time(io)));
        list->fds[list->count] = (struct pollfd){io->connection.fd, io_poll_events(io), 0};
        list->subrequests[list->count++] = subrequest;
    } else {
        list->separate += operation->phase != PHASE_DONE;
    }
    reader_pass_all(client, subrequest->reads);
    bool done = operation->phase == PHASE_DONE;
    client_unlock(client);
    return done;
}

/* Polls the sockets in a loop without sleeping, if that is likely to pay; then sleeps. Returns how many are ready. */
static int busy_poll(struct watch_list *list, int64_t start) {
    struct client *client = list->subrequests[0]->client;
    struct busy_poll *busy_poll = &list->subrequests[0]->reads->busy_poll;
    client_lock(client);
    bool chosen = client->busy_poll && busy_poll_chosen(busy_poll);
    int64_t until = earlier(start + busy_poll_budget(busy_poll), list->until);
    client_unlock(client);
    int ready = 0;
    while (chosen && ready == 0) {
        ready = system_poll(list->fds, list->count, 0);
        if (ready == 0 && !drive_pause_until(until)) {
            break;
        }
    }
    int64_t polled = system_now() - start;
    if (ready == 0) {
        ready = system_poll(list->fds, list->count + 1, list->until);
    }
    client_lock(client);
    client->engine.stats.busy_polls += chosen;
    client->engine.stats.busy_polls_hit += chosen && ready > 0 && polled < until - start;
    if (ready > 0) {
        busy_poll_learn(busy_poll, chosen, system_now() - start);
    }
    client_unlock(client);
    return ready;
}

/* Reads what has come for a subrequest, and for others that share its pipeline. */
static void take(struct subrequest *subrequest, short events) {
    struct client *client = subrequest->client;
    struct pipeline_io *io = subrequest->reads;
    ssize_t got = events ? connection_read(&io->connection, io->staging, STAGING_SIZE) : 0;
    client_lock(client);
    int64_t now = system_now();
    io_take(io, got, now);
    client_outputs(client, now);
    client_unlock(client);
}

/* Waits for the sockets and the cancel object, and reads. */
static void wait_and_take(const struct subrequest_set *set, struct watch_list *list) {
    list->fds[list->count] = (struct pollfd){set->cancel ? set->cancel->signal.fd : -1, POLLIN, 0};
    busy_poll(list, system_now());
    for (uint32_t i = 0; i < list->count; i++) {
        take(list->subrequests[i], list->fds[i].revents);
    }
    if (set->cancel && list->fds[list->count].revents && !is_cancelled(set)) {
        system_unsignal(set->cancel->signal.fd); /* left by a firing whose bit in the futex an earlier wait has taken */
    }
}

/* Returns the next subrequest, in turn, that does not read. */
static struct subrequest *next_separate(struct subrequest_set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t at = (set->turn + i) % set->count;
        if (set->subrequests[at].active && !set->subrequests[at].reads) {
            set->turn = (at + 1) % set->count;
            return &set->subrequests[at];
        }
    }
    return NULL;
}

/* Prepares to read for all active subrequests. Returns one that is done, if there is one. */
static struct subrequest *prepare_all(struct subrequest_set *set, struct watch_list *list) {
    for (uint32_t i = 0; i < set->count; i++) {
        struct subrequest *subrequest = &set->subrequests[i];
        if (subrequest->active && prepare(subrequest, list)) {
            subrequest_collect(subrequest);
            return subrequest;
        }
    }
    return NULL;
}

struct subrequest *subrequests_wait(struct subrequest_set *set, int64_t until) {
    do {
        struct watch_list list = {.count = 0, .until = until};
        struct subrequest *done = prepare_all(set, &list);
        if (done) {
            return done;
        }
        bool is_only = list.count + list.separate == 1;
        int64_t turn = set->turns < SHORT_TURNS ? SHORT_TURN : LONG_TURN;
        set->turns += !is_only && list.separate > 0 && set->turns < SHORT_TURNS;
        if (list.count > 0) {
            list.until = list.separate > 0 ? earlier(list.until, system_now() + turn) : list.until;
            wait_and_take(set, &list);
        }
        struct subrequest *separate = list.separate > 0 ? next_separate(set) : NULL;
        if (separate) {
            subrequests_stop_reading(set);
            if (subrequest_drive(separate, is_only ? until : earlier(until, system_now() + turn))) {
                return separate;
            }
        }
    } while (system_now() < until && !is_cancelled(set));
    return NULL;
}

void subrequests_stop_reading(struct subrequest_set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        struct subrequest *subrequest = &set->subrequests[i];
        if (subrequest->reads) {
            client_lock(subrequest->client);
            subrequest_stop_reading(subrequest, system_now());
            client_unlock(subrequest->client);
        }
    }
}
