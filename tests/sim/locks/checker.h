/* The invariants of the simulation of locks. They are checked after every event, between the server's keys, what the
 * engines believe and what owners were told.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   check_tokens.c      fencing tokens
 *   check_fair.c        fair locks: turns and positions
 *   check_wire.c        what each script did to a key: which holds it made, removed or changed
 *   check_answers.c     what each script replied, by the keys before and after
 *   check_read_write.c  the same for the two modes of a read-write lock
 *   check_groups.c      the same for the values of group locks
 *   check_sets.c        several names at once: all or nothing
 *   check_beliefs.c     no two believe to hold one lock; the server has what they believe; no hold is left behind
 *   check_outcomes.c    the results of calls are true
 *   check_waits.c       waiters are woken, first come first served, each process in turn
 *   check_losses.c      a loss is noticed when a connection ends
 *   check_wakes.c       when waiters wake
 *   check_end.c         after the last lease nothing is left anywhere */
#ifndef CHECKER_H
#define CHECKER_H

#include "sim_connection.h"
#include "engine.h"
#include "plan.h"

struct world;
struct client;
struct hold;
struct error_reply;
struct owner;
struct sim_operation;

enum removal { REMOVED_NOT, REMOVED_RELEASE, REMOVED_HANDED, REMOVED_EXPIRED, REMOVED_DELETED };

/* The history of one wire number. Times are true times; 0: not yet. */
struct id_note {
    int64_t created_at;
    int64_t removed_at;
    int64_t release_sent_at;
    int64_t deadline;           /* the deadline of the hold when its release was first sent */
    int64_t ends_by;            /* by the client's clock: the end of max_hold, counted from the request; 0: none */
    uint32_t releases_in_doubt; /* release and hand-over commands sent that the server may have carried out */
    int64_t requested_at;       /* when a connection ended, after which the client must ask about the hold */
    int64_t token;              /* fenced: the token that was drawn for it */
    uint64_t serial;            /* the serial of the hold that was to move to this number; 0: its own */
    int64_t ghost_since;        /* fair: since when it has a position without a waiter; 0 */
    uint8_t removed;            /* enum removal */
    bool reported_missing;      /* the reply to a renewal said that the server does not have it */
    bool prolonged;             /* a renewal ran again, late */
    bool count_in_doubt;        /* the server finally refused a change of the count */
    bool tainted;               /* removed by an operator, a crash or a clock: not by the engine's fault */
    bool place_restored;        /* fair: it had a position when the server came back with its data */
    bool restored;              /* the server came back with it, from an old snapshot */
    bool written_off;           /* lost, abandoned or refused: its lease will end */
    bool granted;               /* its owner was told of the grant */
    bool unconfirmed;           /* its last release was unconfirmed, and has begun */
    bool release_failed;        /* the failure of that release was reported later */
};

enum { FOREIGN = 255, WIRE_FIELDS = 64 };

struct wire_field {
    uint8_t client; /* index of a client, or FOREIGN */
    bool dead;      /* a reader without timeout keys */
    uint64_t id;
    int64_t count;
    int64_t expires; /* in true time */
};

/* A key as it was after the last command that accessed it. */
struct wire_name {
    struct wire_field fields[WIRE_FIELDS];
    uint32_t count;
    uint32_t chain;        /* hand-overs in a row */
    int64_t expires;       /* in true time */
    int64_t stepped_until; /* read-write: `expires` when the server's clock was last set; 0: not set since then */
    int64_t free_since;    /* in true time */
    int64_t taken_at;      /* true time at which its holder, or the last one, acquired it */
    int64_t last_token;
    bool present;
    bool other_type;
    bool notified;        /* when it became free, a message was published */
    bool left_by_foreign; /* the holder before it was free was a foreign client */
};

/* Fair locks: the server queue of a name, as it was after the last script that accessed it. */
enum { FAIR_PLACES = 256 }; /* more positions than all owners of a world can have */

struct fair_place {
    uint8_t client;
    uint64_t id;
    double score;
    bool gone; /* by its score, or because its client has no heartbeat */
};

struct fair_queue {
    struct fair_place places[FAIR_PLACES];
    uint32_t count;
    int64_t head_since;
    bool was_held;
};

struct checker {
    struct id_note *notes[MAX_CLIENTS];
    size_t note_counts[MAX_CLIENTS];
    struct wire_name wire[MAX_NAMES];
    struct fair_queue queues[MAX_NAMES];
    struct lease_before {
        int64_t expires;
        uint32_t count;
        bool present;
    } before[MAX_NAMES];           /* before the last script */
    int64_t ran_out_at[MAX_NAMES]; /* true time at which the lock became free since its lease ended; 0 */
    int64_t changed_at[MAX_NAMES]; /* true time of the last script that changed a holder or a lease */
    uint64_t last_order;
    int64_t longest_lease_ms;
    uint32_t created;     /* holds made by the last script */
    uint32_t had_own;     /* a bit for each name of the script: its owner held the name before */
    int64_t lease_before; /* true time at which the lease of its first name ended; 0: not held */
    bool was_present;     /* the key of its first name existed before */
};

void checker_start(struct world *world);
void checker_free(struct world *world);
struct id_note *note_of(struct world *world, uint32_t client, uint64_t id);

/* Returns the serial of the hold that the server has under an id: the id with which it was granted. */
uint64_t serial_of(struct world *world, uint32_t client, uint64_t id);

/* Maps the script of a kind to the script of the mutex that does the same. */
enum script_id role_of(enum script_id script);

/* check_wire.c. The functions named `external` are for changes by other parties than scripts: an operator, a foreign
 * client, a crash. */
void watch_before(struct world *world, const struct request *request);
void watch_after(struct world *world, const struct request *request, const struct redis_reply *reply);
void watch_name(struct world *world, uint32_t name);
void watch_external(struct world *world, uint32_t name, bool notified);
void watch_prolonged(struct world *world, const struct request *request);
void watch_data_replaced(struct world *world);
void watch_clock_step(struct world *world);
void wire_call(struct world *world, const char *command, uint32_t name, struct redis_reply *reply);
struct wire_field wire_parse_owner(struct redis_text text);
bool wire_is_argument(const struct request *request, uint32_t argument, const struct wire_field *field);
void wire_removed(struct world *world, const struct wire_field *field, enum removal how, int64_t at);
void wire_created(struct world *world, const struct wire_field *field);
void wire_update(struct world *world, uint32_t name, const struct wire_name *new, bool notified);
const struct wire_field *wire_find(const struct wire_name *wire, uint32_t client, uint64_t id);
uint32_t names_of(const struct request *request);
uint32_t key_name(struct world *world, const struct request *request, uint32_t index);
struct wire_field owner_named(const struct request *request, uint32_t argument);

/* check_answers.c */
void answers_before(struct world *world, const struct request *request);
void answers_after(struct world *world, const struct request *request, const struct redis_reply *reply);

/* Whether a script may lower or raise the count of a hold. */
struct count_changes {
    bool lower;
    bool raise;
};

/* check_changes.c. `before` and `after` are counts or ends of leases, before and after a script. */
void wrongly_removed(struct world *world, enum script_id script, const struct wire_field *field);
void wrongly_created(struct world *world, enum script_id script, const struct wire_field *field);
void check_chain(struct world *world, uint32_t chain);
void check_count(struct world *world, enum script_id script, int64_t before, int64_t after,
                 struct count_changes allowed);
void check_not_shortened(struct world *world, enum script_id script, int64_t before, int64_t after);

/* check_read_write.c: does for a read-write lock what check_wire.c and check_beliefs.c do for other kinds */
void judge_sides(struct world *world, const struct request *request, uint32_t name, bool whole);
void watch_sides(struct world *world, uint32_t name);
void watch_external_sides(struct world *world, uint32_t name, bool notified);
void watch_clock_of_sides(struct world *world, uint32_t name);
void check_exclusion_of_modes(struct world *world, uint32_t name);
void check_upgrade(struct client *client, const struct sim_operation *operation);
void check_upgrade_waits(struct client *client, const struct sim_operation *operation);

/* check_groups.c: does the same for the values of group locks */
void judge_groups(struct world *world, const struct request *request, bool whole);
void watch_values(struct world *world, uint32_t name);
void watch_external_values(struct world *world, uint32_t name, bool notified);
void watch_clock_of_values(struct world *world);
void check_exclusion_of_values(struct world *world, uint32_t name);
uint32_t group_name(const struct world *world, const struct request *request, uint32_t line);

/* check_sets.c */
bool is_set(const struct request *request);
uint32_t lines_of(const struct request *request);
uint32_t line_key(const struct request *request, uint32_t line);
uint32_t line_argument(const struct request *request, uint32_t line);
uint32_t owner_argument(struct world *world, const struct request *request, uint32_t name);
char form_of_line(struct world *world, const struct request *request, uint32_t name);
void check_all_or_nothing(struct world *world, const struct request *request, const struct redis_reply *reply);
void check_set_sent(struct client *client, const struct command *command);
void check_set_refused(struct client *client, const struct command *command, const struct error_reply *error_reply);
void check_set_begun(struct client *client, struct sim_operation *operation);
void check_set_not_owned(struct client *client, const struct sim_operation *operation);
void check_set_acquired(struct client *client, const struct sim_operation *operation);
bool set_names_id(const struct command *command, const struct resource *resource, uint64_t id);
bool set_asks_with(const struct operation *operation, const struct resource *resource, uint64_t id);

/* check_tokens.c */
void check_token_drawn(struct world *world, uint32_t name, struct id_note *note);
void check_token_lost(struct world *world, uint32_t name);
void check_token_notified(struct world *world, const struct hold *hold, const struct id_note *note, uint32_t name);

/* check_fair.c. The functions do nothing for other kinds. */
void fair_before(struct world *world, const struct request *request);
void fair_after(struct world *world, const struct request *request, const struct redis_reply *reply);
void fair_restored(struct world *world, uint32_t name);
void check_fair_tick(struct world *world, uint32_t name);
void check_fair_end(struct world *world, uint32_t name);

/* check_beliefs.c */
void check_beliefs_about(struct world *world, uint32_t name);
bool is_believed(struct client *client, const struct hold *hold, uint32_t name);
void check_left_behind(struct world *world, uint32_t name, struct client *client);
void check_client(struct client *client);

/* check_outcomes.c */
void check_begun(struct client *client, struct sim_operation *operation);
void check_aborting(struct client *client, struct sim_operation *operation);
void check_aborted(struct client *client, struct sim_operation *operation);
void check_ended(struct client *client, struct sim_operation *operation);
void check_sent(struct client *client, const struct command *command);
void check_reply(struct client *client, const struct command *command, const struct reply *reply);
void check_resolution(struct client *client, enum link_kind kind, enum resolution how);
void check_loss(struct client *client, const struct hold *hold);
void check_owner_end(struct client *client, const struct owner *owner);

/* check_unconfirmed.c */
void check_unconfirmed_begun(struct client *client, const struct sim_operation *operation);
void check_release_failed(struct client *client, const struct hold *hold);
void check_unconfirmed_end(struct world *world);

/* check_wakes.c */
int64_t promptly(const struct world *world); /* how long a message and its consequences take at most without a fault */
int64_t latest(int64_t one, int64_t other);
int64_t unhindered_since(const struct client *client); /* NEVER while something hinders the client */
void wakes_lost(struct client *client, const struct hold *hold);
void wakes_before(struct world *world, uint32_t name);
void wakes_after(struct world *world, uint32_t name);
void wakes_external(struct world *world, uint32_t name); /* for changes by other parties than scripts of our clients */
void check_wake(struct client *client, const struct sim_operation *waiter, uint32_t name);

/* check_waits.c */
void check_queues(struct client *client);
void check_granted_in_order(struct client *client, const struct sim_operation *operation);
void check_freed(struct world *world, uint32_t name);
void check_waits_start(struct world *world);

/* check_losses.c */
void check_connection_ended(struct client *client);
void check_losses_start(struct world *world);

/* check_end.c */
void check_end(struct world *world);

#endif
