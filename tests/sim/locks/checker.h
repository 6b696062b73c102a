/* What must hold, checked after every event: between the server's keys, what the engines believe and what owners were
 * told.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   check_tokens.c    fencing tokens
 *   check_fair.c      fair locks: turns and places
 *   check_wire.c      what each script did to a key: whose hold it made, removed or changed
 *   check_answers.c  what each script answered, by what it found and left
 *   check_read_write.c    the same for the two sides of a read-write lock
 *   check_groups.c   and for values of groups
 *   check_sets.c      several names at once: all or nothing
 *   check_beliefs.c   no two believe in the same lock; what they believe is so on the server; nothing is left behind
 *   check_outcomes.c  what calls answered is true
 *   check_waits.c     waiters are woken, first come first served, everybody in turn
 *   check_losses.c    a loss is noticed when a connection ends
 *   check_wakes.c     when they wake
 *   check_end.c       after the last lease nothing is left anywhere */
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

/* What became of a wire id. Times are true times, 0: not yet. */
struct id_note {
    int64_t created_at;
    int64_t removed_at;
    int64_t release_sent_at;
    int64_t deadline;           /* of the hold when its release was first sent */
    int64_t ends_by;            /* by its client's clock: the end of its max_hold, counted from the ask; 0: has none */
    uint32_t releases_in_doubt; /* release and hand-over commands sent that the server may have carried out */
    int64_t requested_at;       /* a connection ended then, and made that the server is asked about the hold */
    int64_t token;              /* fenced: drawn when it was made */
    uint64_t serial;            /* of the hold that was to move to this id; 0: its own */
    int64_t ghost_since;        /* fair: it has a place, and nobody waits with it; 0: not so */
    uint8_t removed;            /* enum removal */
    bool reported_missing;      /* a renewal was answered that the server does not have it */
    bool prolonged;             /* a renewal was executed again, late */
    bool count_in_doubt;        /* the server refused for good to be told the count */
    bool tainted;        /* taken away by an operator, a crash or a clock: what its owner believes is not our doing */
    bool place_restored; /* fair: it had a place when the server came back with its data */
    bool restored;       /* an old snapshot brought it back */
    bool written_off;    /* lost, abandoned or refused: runs out */
    bool granted;        /* its owner was told of it */
    bool unconfirmed;    /* its last release was, and has begun */
    bool release_failed; /* which was reported later */
};

enum { FOREIGN = 255, WIRE_FIELDS = 64 };

struct wire_field {
    uint8_t client; /* or FOREIGN */
    bool dead;      /* a reader without a timeout key */
    uint64_t id;
    int64_t count;
    int64_t expires; /* true time */
};

/* A key as it was after the last command that touched it. */
struct wire_name {
    struct wire_field fields[WIRE_FIELDS];
    uint32_t count;
    uint32_t chain;        /* hand-overs in a row */
    int64_t expires;       /* true time at which it is gone */
    int64_t stepped_until; /* sides: that time after the server's clock was set last; 0: was not set meanwhile */
    int64_t free_since;    /* true time */
    int64_t taken_at;      /* by who holds it, or was the last to; true time */
    int64_t last_token;
    bool present;
    bool other_type;
    bool notified;        /* it became free with a message */
    bool left_by_foreign; /* before it was free */
};

/* Fair: the queue of a name as it was after the last script that touched it. */
enum { FAIR_PLACES = 256 }; /* more than all owners of a world may ask for */

struct fair_place {
    uint8_t client;
    uint64_t id;
    double score;
    bool gone; /* by its score, or for want of its client's heartbeat */
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
    int64_t ran_out_at[MAX_NAMES]; /* true time at which a lease ended and left the lock free; 0 */
    int64_t changed_at[MAX_NAMES]; /* true time of the last script that changed who holds the lock, or until when */
    uint64_t last_order;
    int64_t longest_lease_ms;
    uint32_t created;     /* holds made by the script that was run last */
    uint32_t had_own;     /* of its names, a bit each: those that its owners held before */
    int64_t lease_before; /* when that of its first name ended, in true time; 0: it was not held */
    bool was_present;     /* its first name, before */
};

void checker_start(struct world *world);
void checker_free(struct world *world);
struct id_note *note_of(struct world *world, uint32_t client, uint64_t id);

/* What the user calls the hold that the server knows by an id: the id that it was granted with. */
uint64_t serial_of(struct world *world, uint32_t client, uint64_t id);

/* What a script does, in the words of the mutex's. */
enum script_id role_of(enum script_id script);

/* check_wire.c. The external ones are for what is not a script: an operator, a peer, a crash. */
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

/* What a script may do to the count of a hold. */
struct count_changes {
    bool lower;
    bool raise;
};

/* check_changes.c; the counts and ends of leases are those before and after a script */
void wrongly_removed(struct world *world, enum script_id script, const struct wire_field *field);
void wrongly_created(struct world *world, enum script_id script, const struct wire_field *field);
void check_chain(struct world *world, uint32_t chain);
void check_count(struct world *world, enum script_id script, int64_t before, int64_t after,
                 struct count_changes allowed);
void check_not_shortened(struct world *world, enum script_id script, int64_t before, int64_t after);

/* check_read_write.c: what check_wire.c and check_beliefs.c do for a read-write lock */
void judge_sides(struct world *world, const struct request *request, uint32_t name, bool whole);
void watch_sides(struct world *world, uint32_t name);
void watch_external_sides(struct world *world, uint32_t name, bool notified);
void watch_clock_of_sides(struct world *world, uint32_t name);
void check_exclusion_of_modes(struct world *world, uint32_t name);
void check_upgrade(struct client *client, const struct sim_operation *operation);
void check_upgrade_waits(struct client *client, const struct sim_operation *operation);

/* check_groups.c: the same for values of groups */
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

/* check_fair.c; they do nothing for locks of other kinds */
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
int64_t promptly(const struct world *world); /* the longest that a message and what it sets off take without a fault */
int64_t latest(int64_t one, int64_t other);
int64_t unhindered_since(const struct client *client); /* NEVER while something hinders it */
void wakes_lost(struct client *client, const struct hold *hold);
void wakes_before(struct world *world, uint32_t name);
void wakes_after(struct world *world, uint32_t name);
void wakes_external(struct world *world, uint32_t name); /* somebody else than a script of ours changed it */
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
