/* Several calls on one thread: it waits for all their lanes with one poll.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It takes the reader role of each lane that is open and that nobody reads, and has it until the call is done or it
 * turns away. Calls whose lane is another's to read, or has to be opened first, are driven by themselves for a moment,
 * in turn with the poll. */
#include <poll.h>

#include "task.h"

/* How long the poll and a call by itself have before it is the other's turn; longer once something is known to be slow.
 */
static const int64_t SHORT_TURN = MILLISECOND;
static const int64_t LONG_TURN = 8 * MILLISECOND;
enum { SHORT_TURNS = 64 };

/* What is polled: the tasks that read, and the cancel object. */
struct watch_list {
    struct pollfd fds[REDLATCH_MEMBERS_MAX + 2];
    struct task *tasks[REDLATCH_MEMBERS_MAX + 2];
    uint32_t count;
    uint32_t apart; /* tasks that are to be driven by themselves */
    int64_t until;
};

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static bool is_cancelled(const struct task_set *set) {
    return set->cancel && (atomic_load(&set->cancel->word) & CANCEL_FIRED);
}

void task_stop_reading(struct task *task, int64_t now) {
    struct port *port = task->reads;
    if (port) {
        task->reads = NULL;
        port->reading = false;
        drive_pass_role(port, now);
    }
}

/* Takes the reader role of the task's lane, or keeps it: there is something to read, and a connection to read from. */
static bool start_reading(struct task *task, int64_t now) {
    struct port *port = &task->client->ports[task->call.operation.lane];
    bool wanted = drive_should_read(&task->call) && port->connection.state == CONNECTION_READY;
    if (!wanted || (!task->reads && port->reading)) {
        task_stop_reading(task, now);
        return false;
    }
    if (!task->reads) {
        task->reads = port;
        port->reading = true;
        port->reader_comes = false;
        port->unread_since = 0;
    }
    port_flush(port); /* what was left to the reader; the mutex is dropped for a moment */
    return port->connection.state == CONNECTION_READY;
}

/* Ends a call whose time is over; else makes ready to read for it. true when it is done. */
static bool prepare(struct task *task, struct watch_list *list) {
    struct client *client = task->client;
    struct operation *operation = &task->call.operation;
    client_lock(client);
    int64_t now = system_now();
    if (operation->phase != PHASE_DONE && now >= operation->wait_until) {
        engine_abort(&client->engine, operation, REDLATCH_TIMEOUT, now);
        client_outputs(client, now);
    }
    if (operation->phase != PHASE_DONE && start_reading(task, now) && operation->phase != PHASE_DONE) {
        struct port *port = task->reads;
        list->until = earlier(list->until, earlier(operation->wait_until, port_next_time(port)));
        list->fds[list->count] = (struct pollfd){port->connection.fd, port_events(port), 0};
        list->tasks[list->count++] = task;
    } else {
        list->apart += operation->phase != PHASE_DONE;
    }
    drive_pass_roles(client, task->reads);
    bool done = operation->phase == PHASE_DONE;
    client_unlock(client);
    return done;
}

/* Looks at the sockets without sleeping, if that is likely to pay; how many are readable. */
static int look(struct watch_list *list, int64_t start) {
    struct client *client = list->tasks[0]->client;
    struct looking *looking = &list->tasks[0]->reads->looking;
    client_lock(client);
    bool chosen = client->look && looking_chosen(looking);
    int64_t until = start + looking_budget(looking);
    client_unlock(client);
    int ready = 0;
    while (chosen && ready == 0) {
        ready = system_poll(list->fds, list->count, 0);
        if (ready == 0 && !drive_pause_until(until)) {
            break;
        }
    }
    int64_t looked = system_now() - start;
    if (ready == 0) {
        ready = system_poll(list->fds, list->count + 1, list->until);
    }
    client_lock(client);
    client->engine.stats.looks += chosen;
    client->engine.stats.looks_paid += chosen && ready > 0 && looked < until - start;
    if (ready > 0) {
        looking_learn(looking, chosen, system_now() - start);
    }
    client_unlock(client);
    return ready;
}

/* Reads what has come for a task, and for others who share its lane. */
static void take(struct task *task, short events) {
    struct client *client = task->client;
    struct port *port = task->reads;
    ssize_t got = events ? connection_read(&port->connection, port->staging, STAGING_SIZE) : 0;
    client_lock(client);
    int64_t now = system_now();
    port_take(port, got, now);
    port_check_peer(port, now);
    client_outputs(client, now);
    client_unlock(client);
}

/* Waits for the sockets and the cancel object. */
static void wait_and_take(const struct task_set *set, struct watch_list *list) {
    list->fds[list->count] = (struct pollfd){set->cancel ? set->cancel->signal : -1, POLLIN, 0};
    look(list, system_now());
    for (uint32_t i = 0; i < list->count; i++) {
        take(list->tasks[i], list->fds[i].revents);
    }
    if (set->cancel && list->fds[list->count].revents && !is_cancelled(set)) {
        system_unsignal(set->cancel->signal); /* left by a firing whose word an earlier wait has seen already */
    }
}

/* The next one, in turn, that does not read. */
static struct task *next_apart(struct task_set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t at = (set->turn + i) % set->count;
        if (set->tasks[at].active && !set->tasks[at].reads) {
            set->turn = (at + 1) % set->count;
            return &set->tasks[at];
        }
    }
    return NULL;
}

/* Makes ready to read for all that can be read for; one that is done, if any is. */
static struct task *prepare_all(struct task_set *set, struct watch_list *list) {
    for (uint32_t i = 0; i < set->count; i++) {
        struct task *task = &set->tasks[i];
        if (task->active && prepare(task, list)) {
            task_collect(task);
            return task;
        }
    }
    return NULL;
}

struct task *tasks_wait(struct task_set *set, int64_t until) {
    do {
        struct watch_list list = {.count = 0, .until = until};
        struct task *done = prepare_all(set, &list);
        if (done) {
            return done;
        }
        bool alone = list.count + list.apart == 1;
        int64_t turn = set->turns < SHORT_TURNS ? SHORT_TURN : LONG_TURN;
        set->turns += !alone && list.apart > 0 && set->turns < SHORT_TURNS;
        if (list.count > 0) {
            list.until = list.apart > 0 ? earlier(list.until, system_now() + turn) : list.until;
            wait_and_take(set, &list);
        }
        struct task *apart = list.apart > 0 ? next_apart(set) : NULL;
        if (apart) {
            tasks_leave(set);
            if (task_visit(apart, alone ? until : earlier(until, system_now() + turn))) {
                return apart;
            }
        }
    } while (system_now() < until && !is_cancelled(set));
    return NULL;
}

void tasks_leave(struct task_set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        struct task *task = &set->tasks[i];
        if (task->reads) {
            client_lock(task->client);
            task_stop_reading(task, system_now());
            client_unlock(task->client);
        }
    }
}
