/* Events: the host polls one descriptor, and pulls completions of started calls, losses, late renewals, moves and
 * refused credentials.
 * SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client_lock.h"
#include "completed.h"
#include "composite.h"
#include "composite_async.h"
#include "composite_holds.h"
#include "errors.h"
#include "guard.h"
#include "kinds.h"
#include "options.h"
#include "outputs.h"
#include "permit_text.h"
#include "pipeline_io.h"

static int begin(redlatch_client *handle, struct client **client_out) {
    int status = guard_client(handle);
    if (status == REDLATCH_OK) {
        status = client_enter(handle->client);
        *client_out = handle->client;
    }
    return status;
}

/* As `begin`, for redlatch_client_next_event: it goes on with a broken client, which still has completions to
 * collect. */
static int begin_collecting(redlatch_client *handle, const redlatch_event *event_out) {
    int status = guard_client(handle);
    if ((status != REDLATCH_OK && status != REDLATCH_INTERNAL) ||
        (status = answer_check(event_out, "event_out")) != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    client_lock(client);
    if (atomic_load(&client->closed)) {
        client_unlock(client);
        return client_status(client);
    }
    client->callers++;
    return REDLATCH_OK;
}

/* As `begin`, for a call that also fills in an event of the caller. */
static int begin_for(redlatch_client *handle, const redlatch_event *event_out, struct client **client_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = answer_check(event_out, "event_out")) != REDLATCH_OK) {
        return status;
    }
    return begin(handle, client_out);
}

/* Makes the descriptor that the host polls. On a system without sets of descriptors it is the signal alone, and the
 * background thread reads the host's connection. */
static int make_descriptor(struct client *client) {
    int set = system_set_new();
    bool has_sets = set != SYSTEM_NO_SETS;
    struct system_signal signal = SYSTEM_NO_SIGNAL;
    if (set == -1 || !system_signal_new(&signal) || (has_sets && system_set_add(set, signal.fd) != 0)) {
        int failure = errno;
        client_close_descriptor(&set);
        system_signal_close(&signal);
        return fail_with(REDLATCH_SYSTEM, "no descriptor can be opened: %s", strerror(failure));
    }
    client->event_set = has_sets ? set : -1;
    client->event_signal = signal;
    client->engine.losses_wanted[LOSS_EVENTS] = true;
    client->engine.losses_wanted[LATE_EVENTS] = true;
    atomic_store(&client->losses_watched[LOSS_EVENTS], true);
    for (struct node *node = &client->node; node; node = node->next) {
        struct pipeline_io *io = &node->ios[PIPELINE_HOST];
        if (has_sets && io->connection.state == CONNECTION_READY && io->reader != READER_BACKGROUND) {
            io->in_set = system_set_add(client->event_set, io->connection.fd) == 0;
        }
    }
    if (!list_is_empty(&client->events)) {
        client->event_raised = true;
        system_signal(&client->event_signal);
    }
    return REDLATCH_OK;
}

int redlatch_client_event_fd(redlatch_client *handle, int *fd_out) {
    if (!fd_out) {
        return fail_with(REDLATCH_INVALID, "fd_out is NULL: expected a pointer to set");
    }
    struct client *client;
    int status = begin(handle, &client);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (client->event_signal.fd < 0) {
        status = make_descriptor(client);
    }
    if (status == REDLATCH_OK) {
        *fd_out = client->event_set >= 0 ? client->event_set : client->event_signal.fd;
    }
    client_leave(client);
    return status;
}

static void fill_hold(const struct hold *hold, redlatch_event *event) {
    event->owner = hold->owner;
    event->serial = hold->serial;
    event_set_name(event, hold->resource->name, hold->resource->name_size);
}

static void fill_loss(const struct hold *hold, redlatch_event *event) {
    event->kind = hold->reason == REDLATCH_REASON_ABANDONED ? REDLATCH_EVENT_ABANDONED : REDLATCH_EVENT_LOST;
    event->status = REDLATCH_LOST;
    event->reason = hold->reason;
    event->number = hold->over_ms;
    fill_hold(hold, event);
}

static void fill_failed_release(const struct hold *hold, redlatch_event *event) {
    event->kind = REDLATCH_EVENT_RELEASE_FAILED;
    event->status = hold->release_status;
    event->reason = hold->reason;
    fill_hold(hold, event);
}

static void put_failed_release_text(redlatch_event *event, struct error_text *error) {
    char shown[64];
    size_t size = event->name_size < sizeof event->name - 1 ? event->name_size : sizeof event->name - 1;
    shown_name(event->name, size, shown);
    const char *why = event->status == REDLATCH_LOST ? reason_text(event->reason)
                                                     : "the lock is held at the longest until its lease ends";
    snprintf(error->text, sizeof error->text, "release \"%s\": %s: %s", shown, redlatch_strerror(event->status), why);
    event->message = error->text;
}

static void put_loss_text(const struct client *client, bool permit, redlatch_event *event, struct error_text *error) {
    char shown[64];
    char id[REDLATCH_PERMIT_ID_SIZE];
    size_t size = event->name_size < sizeof event->name - 1 ? event->name_size : sizeof event->name - 1;
    shown_name(event->name, size, shown);
    if (permit) {
        permit_id(&client->engine, event->serial, id);
    }
    snprintf(error->text, sizeof error->text, "%s%s of \"%s\": lost: %s", permit ? "permit " : "hold", permit ? id : "",
             shown, reason_text(event->reason));
    event->message = error->text;
}

static bool take_loss(struct client *client, enum loss_queue queue, redlatch_event *event) {
    struct hold *hold = engine_first_loss(&client->engine, queue);
    bool permit = hold && kind_has_permit_ids(hold->lock_kind);
    if (hold && hold->release_status != REDLATCH_OK) {
        fill_failed_release(hold, event);
        engine_loss_taken(&client->engine, queue);
        put_failed_release_text(event, &client->event_errors[queue]);
        return true;
    }
    if (hold) {
        fill_loss(hold, event);
        engine_loss_taken(&client->engine, queue);
    } else if (!composite_next_loss(client, queue, event)) {
        return false;
    }
    put_loss_text(client, permit, event, &client->event_errors[queue]);
    return true;
}

/* Takes a late renewal that `queue` has not reported yet. Returns false if there is none. */
static bool take_late(struct client *client, enum loss_queue queue, redlatch_event *event) {
    struct hold *hold = engine_first_loss(&client->engine, queue);
    if (!hold) {
        return false;
    }
    event->kind = REDLATCH_EVENT_RENEWED_LATE;
    event->number = hold->late_ms;
    fill_hold(hold, event);
    engine_loss_taken(&client->engine, queue);
    return true;
}

/* Takes the move that `queue` has not reported yet. The event points to a copy of the addresses, which a later move
 * does not change while the caller reads them. */
static bool take_move(struct client *client, enum loss_queue queue, redlatch_event *event) {
    struct move_event *move = &client->node.current.moves[queue];
    struct move_event *reported = &client->node.current.reported_moves[queue];
    if (!move->pending) {
        return false;
    }
    move->pending = false;
    *reported = *move;
    event->kind = REDLATCH_EVENT_MOVED;
    event->old_address = reported->from;
    event->new_address = reported->to;
    return true;
}

/* Takes the refusal of credentials that `queue` has not reported yet. */
static bool take_refused(struct client *client, enum loss_queue queue, redlatch_event *event) {
    struct refused_credentials *refused = &client->refused;
    if (!refused->pending[queue]) {
        return false;
    }
    refused->pending[queue] = false;
    struct error_text *error = &client->event_errors[queue];
    snprintf(error->text, sizeof error->text, "the server refused the user or the password: %s", refused->detail);
    event->kind = REDLATCH_EVENT_CREDENTIALS_REFUSED;
    event->status = REDLATCH_AUTHENTICATION;
    event->message = error->text;
    return true;
}

/* What a closed client still has to report: losses, and the failures of unconfirmed releases. */
static int take_after_close(struct client *client, enum loss_queue queue, redlatch_event *event_out) {
    redlatch_event event = {.message = ""};
    bool found = false;
    if (!client_is_inherited(client) && answer_check(event_out, "event_out") == REDLATCH_OK) {
        client_lock(client);
        found = !atomic_load(&client->broken) && take_loss(client, queue, &event);
        client_unlock(client);
    }
    return found ? answer_write(event_out, &event, sizeof event, "event_out") : client_status(client);
}

/* Reads a pipeline of the role `host` on the host's own thread, unless another thread reads it. */
static void poll_host_pipeline(struct pipeline_io *io, int64_t now) {
    if (io->connection.state != CONNECTION_READY || io_is_read(io)) {
        return;
    }
    io_receive(io, connection_read(&io->connection, io->staging, STAGING_SIZE), now);
    if (!io_has_work(io)) {
        io->unread_since = 0;
    }
}

/* Returns whether an event can be collected. Of a broken client only completions count: its engine's records of holds
 * are not reliable. */
static bool has_events(struct client *client) {
    return !list_is_empty(&client->events) ||
           (!atomic_load(&client->broken) &&
            (client->node.current.moves[LOSS_EVENTS].pending || client->refused.pending[LOSS_EVENTS] ||
             engine_first_loss(&client->engine, LOSS_EVENTS) || engine_first_loss(&client->engine, LATE_EVENTS) ||
             composite_has_loss(client, LOSS_EVENTS)));
}

/* Keeps the descriptor readable exactly as long as there are events to collect. */
static void update_signal(struct client *client) {
    if (client->event_signal.fd >= 0 && client->event_raised != has_events(client)) {
        client->event_raised = !client->event_raised;
        if (client->event_raised) {
            system_signal(&client->event_signal);
        } else {
            system_unsignal(client->event_signal.fd);
        }
    }
}

/* Frees the report if the caller's struct, of an older version, has no field for it: nobody else would. */
static int hand_out(redlatch_event *event_out, const redlatch_event *event) {
    if (event_out->struct_size < offsetof(redlatch_event, report) + sizeof event->report) {
        redlatch_report_free(event->report);
    }
    return answer_write(event_out, event, sizeof *event, "event_out");
}

int redlatch_client_next_event(redlatch_client *handle, redlatch_event *event_out) {
    redlatch_event event = {.message = ""};
    int status = begin_collecting(handle, event_out);
    if (status == REDLATCH_CLOSED) {
        return take_after_close(handle->client, LOSS_EVENTS, event_out);
    }
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    int64_t now = system_now();
    client->event_polling = true;
    if (!has_events(client) && !atomic_load(&client->broken)) {
        for (struct node *node = &client->node; node; node = node->next) {
            poll_host_pipeline(&node->ios[PIPELINE_HOST], now);
        }
        client_finish_step(client, now);
    }
    struct composite *composite = NULL;
    bool found = request_next_event(client, &event, &composite) ||
                 (!atomic_load(&client->broken) &&
                  (take_move(client, LOSS_EVENTS, &event) || take_refused(client, LOSS_EVENTS, &event) ||
                   take_loss(client, LOSS_EVENTS, &event) || take_late(client, LATE_EVENTS, &event)));
    client->engine.stats.empty_polls += !found;
    client->event_polling = false;
    update_signal(client);
    client_finish_step(client, now);
    bool broken = atomic_load(&client->broken);
    client_leave(client);
    if (composite) {
        composite_drop(composite);
    }
    return found ? hand_out(event_out, &event) : broken ? fail_broken(client) : REDLATCH_AGAIN;
}

int redlatch_client_wait_lost(redlatch_client *handle, int64_t wait_ms, redlatch_event *event_out) {
    redlatch_event event = {.message = ""};
    struct client *client;
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_duration("wait_ms", wait_ms, 0, true)) != REDLATCH_OK ||
        (status = begin_for(handle, event_out, &client)) != REDLATCH_OK) {
        return status == REDLATCH_CLOSED ? take_after_close(handle->client, LOSS_THREADS, event_out) : status;
    }
    int64_t until = wait_ms == REDLATCH_FOREVER ? NEVER : system_now() + wait_ms * MILLISECOND;
    client->engine.losses_wanted[LOSS_THREADS] = true;
    client->engine.losses_wanted[LATE_THREADS] = true;
    atomic_store(&client->losses_watched[LOSS_THREADS], true);
    bool found;
    while (!(found = take_move(client, LOSS_THREADS, &event) || take_refused(client, LOSS_THREADS, &event) ||
                     take_loss(client, LOSS_THREADS, &event) || take_late(client, LATE_THREADS, &event)) &&
           client_is_open(client) && system_now() < until) {
        uint32_t expected = atomic_fetch_and(&client->loss_futex, ~UINT32_C(1)) & ~UINT32_C(1);
        client_unlock(client);
        system_wait(&client->loss_futex, expected, until);
        client_lock(client);
    }
    bool open = client_is_open(client);
    client_leave(client);
    if (found) {
        return answer_write(event_out, &event, sizeof event, "event_out");
    }
    return open ? REDLATCH_AGAIN : client_status(client);
}

int redlatch_client_cancel(redlatch_client *handle, uint64_t tag) {
    struct client *client;
    int status = begin(handle, &client);
    if (status != REDLATCH_OK) {
        return status;
    }
    int64_t now = system_now();
    struct list *tagged = &client->tagged[tag % TAG_LISTS]; /* engine_abort removes no request from it */
    for (struct list_link *link = list_first(tagged); link; link = list_next(tagged, link)) {
        struct request *request = container_of(link, struct request, tagged);
        if (request->tag == tag) {
            engine_abort(&client->engine, &request->operation, REDLATCH_CANCELLED, now);
        }
    }
    composite_cancel(client, tag);
    client_finish_step(client, now);
    client_leave(client);
    return REDLATCH_OK;
}

/* Called when nobody will collect the events: gives back granted permits of semaphores, which have no lease. */
void events_give_back(struct client *client) {
    for (struct list_link *link = list_first(&client->events); link; link = list_next(&client->events, link)) {
        engine_unclaimed(&client->engine, container_of(link, struct operation, link));
    }
}

/* Called at the end of a client: frees the requests whose events nobody will collect. */
void events_discard(struct client *client) {
    struct list_link *link;
    while ((link = list_pop(&client->events)) != NULL) {
        struct composite *composite = request_free(client, container_of(link, struct request, operation.link));
        if (composite) {
            client_unlock(client);
            composite_drop(composite);
            client_lock(client);
        }
    }
}
