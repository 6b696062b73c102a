/* What the parts of the protocol layer say to each other. Not for drivers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STEPS_H
#define STEPS_H

#include "engine.h"
#include "error_reply.h"

/* channels.c: whom a channel serves. The names it may stand for, as `a` and `{a}` share one; whether it is one's. */
enum { CHANNEL_NAMES_MAX = 2 };
size_t channel_names(const char *channel, size_t size, struct argument_part names[CHANNEL_NAMES_MAX]);
bool channel_is_of(const struct resource *resource, const char *channel, size_t size);

/* channels.c: the number of the waiter of this client whose own channel it is, which is then cut down to the name's;
 * else 0 */
uint64_t channel_waiter(const struct engine *engine, const char *channel, size_t *size);

/* wire.c: whether two kinds are renewed by the same script, and so in one batch */
bool renewed_alike(uint8_t lock_kind, uint8_t other_kind);

/* pools.c: memory for the engine's records */
struct command *take_command(struct engine *engine, struct operation *operation);
struct command *take_command_with_entries(struct engine *engine, struct operation *operation);
void give_command(struct engine *engine, struct command *command);
struct hold *take_hold(struct engine *engine, struct operation *operation);
void give_hold(struct engine *engine, struct hold *hold);
struct wait_queue *attach_wait_queue(struct engine *engine, struct operation *operation);
/* Gives an operation that has left its wait queue another name, with what is set aside; false: there is no room. */
bool use_wait_queue_of(struct engine *engine, struct operation *operation, struct resource *resource);
void detach_wait_queue(struct engine *engine, struct wait_queue *queue);
void reserve_for(struct engine *engine, struct operation *operation);
void return_reserve(struct engine *engine, struct operation *operation);
void keep_command_for(struct operation *operation, struct hold *hold);
void return_kept_command(struct engine *engine, struct hold *hold);

/* engine.c: operations and commands in general */
void finish(struct engine *engine, struct operation *operation, int status);
void finish_lost(struct engine *engine, struct operation *operation, int reason);
void arm_operation(struct engine *engine, struct operation *operation);
void push_command(struct engine *engine, struct command *command);
void repeat_command(struct engine *engine, struct command *command, int64_t at);
bool drop_unsent(struct engine *engine, struct command *command);

/* change.c: one command that answers with a number; undoing what a recorded operation took */
void change_begin(struct engine *engine, struct operation *operation, int64_t now);
void change_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void change_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void change_resolve(struct engine *engine, struct command *command, int64_t now);
bool change_goes_on(const struct operation *operation);
void undo_taken(struct engine *engine, struct operation *operation, struct command *taking);
void undo_taken_resolve(struct engine *engine, struct command *command, int64_t now);
void undo_taken_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

/* operation_record.c: the keys in which outcomes are recorded, and for how long */
void record_take_key(struct engine *engine, struct command *command);
void record_answered(const struct engine *engine, struct command *command, const struct reply *reply);
void record_give_key(struct engine *engine, struct command *command);
int64_t record_life_ms(const struct engine *engine);
bool record_is_over(const struct engine *engine, const struct command *command, int64_t now);

/* semaphore.c: acquiring permits that nobody owns */
void semaphore_send(struct engine *engine, struct operation *operation, int64_t now);
void semaphore_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void semaphore_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void semaphore_resolve(struct engine *engine, struct command *command, int64_t now);
void semaphore_unclaimed(struct engine *engine, struct operation *operation, int status);

/* mutex.c: an acquire that does not re-enter */
void acquire_begin(struct engine *engine, struct operation *operation, int64_t now);
void acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void acquire_timer(struct engine *engine, struct operation *operation, int64_t now);
void acquire_granted(struct engine *engine, struct operation *operation, int64_t sent_at, int64_t lease_ms,
                     uint64_t token, int64_t now);
struct hold *acquire_enter(struct engine *engine, struct operation *operation, uint64_t id, int64_t sent_at,
                           int64_t lease_ms, uint64_t token, int64_t now); /* a hold of a grant */
bool read_token(const struct reply *reply, uint64_t *token_out);           /* false, and 0: there is none */
void acquire_send(struct engine *engine, struct operation *operation, int64_t now);
void acquire_recheck(struct engine *engine, struct operation *operation, int64_t now);
void acquire_park(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now);
int64_t acquire_recheck_time(struct engine *engine, const struct subscription *subscription, int64_t ttl_ms,
                             int64_t now);
void acquire_error(struct engine *engine, struct operation *operation, struct error_reply error, int64_t now);
int64_t acquire_lease(const struct engine *engine, const struct operation *operation, int64_t now);
void undo_acquire(struct engine *engine, struct operation *operation, uint64_t id, int64_t repeat_until);
void undo_attempt(struct engine *engine, struct operation *operation);

void operation_pause(struct engine *engine, struct operation *operation, int status, int64_t now);
struct operation *operation_answered(const struct command *command, const struct reply *reply);

/* read_write.c: what the two sides of a read-write lock are to each other */
void read_write_begin(struct engine *engine, struct operation *operation, int64_t now);
uint64_t read_write_pass(const struct resource *resource, uint8_t lock_kind, uint64_t owner);
int read_write_upgrade(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                       int64_t now);
bool read_write_is_downgrade(const struct hold *hold);

/* set.c: an acquire of several names */
void set_acquire_begin(struct engine *engine, struct operation *operation, int64_t now);
void set_acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void set_acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void set_acquire_timer(struct engine *engine, struct operation *operation, int64_t now);
void set_acquire_retire(struct engine *engine, struct command *command, int64_t now);
void set_recheck_next(struct engine *engine, struct wait_queue *queue, int64_t now);
bool set_is_waiting(const struct wait_queue *queue);
void set_recheck(struct engine *engine, struct operation *operation, int64_t now);
bool set_undo(struct engine *engine, struct operation *operation, struct command *command, int64_t repeat_until);

/* set_release.c: their release */
void set_release(struct engine *engine, struct operation *operation, int64_t now);
void set_release_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void set_release_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

/* entries.c: commands about several names */
struct hold *member_hold(const struct set_member *member, uint64_t owner);
struct hold *set_busy_hold(struct engine *engine, const struct operation *operation, int64_t now);
void entry_add(struct command *command, const struct set_member *member, struct hold *hold);
void entries_command_done(struct engine *engine, struct command *command, int64_t now);
void command_forget(struct command *command, const struct hold *hold); /* a hold that is being forgotten */
bool command_has_hold(const struct command *command);

/* watch.c: waiting for a name to be free */
void watch_begin(struct engine *engine, struct operation *operation, int64_t now);
void watch_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void watch_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void watch_timer(struct engine *engine, struct operation *operation, int64_t now);
void watch_recheck_all(struct engine *engine, struct wait_queue *queue, int64_t now);
void watch_notified(struct engine *engine, struct wait_queue *queue, int64_t now);
void watch_join(struct engine *engine, struct operation *operation);
void watch_leave(struct engine *engine, struct operation *operation, int64_t now);

/* back_off.c: the next pause of a waiter that polls, in ms */
int64_t back_off_next(struct engine *engine, struct back_off *back_off);

/* queue.c: the local waiters of a name */
void queue_enter(struct engine *engine, struct operation *operation);
void queue_leave(struct engine *engine, struct operation *operation, int64_t now);
void queue_go_idle(struct engine *engine, struct wait_queue *queue, int64_t now);
void queue_advance(struct engine *engine, struct wait_queue *queue, int64_t now);
struct operation *queue_foremost(const struct wait_queue *queue);
struct operation *queue_find(const struct wait_queue *queue, uint64_t id);
bool queue_lets_in(const struct wait_queue *queue, const struct operation *operation);
bool queue_will_reenter(const struct wait_queue *queue, const struct operation *operation);
struct operation *queue_receiver(struct engine *engine, struct hold *hold, int64_t now);
void queue_after_release(struct engine *engine, struct resource *resource, int64_t receivers, int64_t now);
void queue_reenter_others(struct engine *engine, struct wait_queue *queue, struct hold *hold, int64_t now);
void queue_next(struct engine *engine, struct wait_queue *queue, int64_t now);
void queue_notified(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now);
void queue_recheck(struct engine *engine, struct wait_queue *queue, int64_t now);
void hand_over_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

/* fair.c: waiters that queue on the server */
void fair_begin(struct engine *engine, struct operation *operation, int64_t now);
void fair_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void fair_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void fair_notified(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now);
void fair_next(struct engine *engine, struct wait_queue *queue, int64_t now);
void fair_not_handed(struct engine *engine, struct operation *operation, bool for_another, int64_t now);
void fair_take_position(struct engine *engine, struct operation *operation, int64_t now);
void fair_positions_lost(struct engine *engine, struct wait_queue *queue, int64_t now);

/* wake_channels.c: the channels on which the foremost waiters of a fair lock are called */
void wake_channels_listen(struct engine *engine, struct wait_queue *queue, int near);
void wake_channels_drop(struct engine *engine, struct operation *operation);
bool wake_channels_close_unused(struct engine *engine, struct wait_queue *queue);
void wake_channels_notified(struct engine *engine, struct subscription *channel, int64_t now);
void wake_channels_forced_release(struct engine *engine, struct wait_queue *queue, int64_t now);
void wake_channels_recheck(struct engine *engine, struct subscription *channel, int64_t now);
void wake_channels_free(struct engine *engine, struct subscription *channel, int64_t now);

/* refresh.c: those behind the foremost keep their places */
void refresh_plan(struct engine *engine, struct wait_queue *queue, int64_t at);
void refresh_waiters(struct engine *engine, struct wait_queue *queue, int64_t now);
const struct operation *refresh_next(const struct command *command, const struct operation *before);
void refresh_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

/* subscription.c: channels */
void subscription_want(struct engine *engine, struct subscription *subscription);
void subscription_leave(struct engine *engine, struct subscription *subscription);
void wait_queue_timer(struct engine *engine, struct wait_queue *queue, int64_t now);

/* hold.c: levels, extension, release */
void hold_wait_for(struct engine *engine, struct hold *hold, struct operation *operation);
void hold_raise(struct engine *engine, struct hold *hold, const struct operation *operation, int64_t sent_at,
                int64_t lease_ms);
void hold_acquire(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now);
void hold_release(struct engine *engine, struct operation *operation, int64_t now);
void hold_extend(struct engine *engine, struct operation *operation, int64_t now);
void hold_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void hold_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void hold_command_done(struct engine *engine, struct hold *hold, int64_t now);
/* Levels that are no longer there; the last one of a lost hold ends it. Returns whether the hold is still there. */
bool hold_lower_count(struct engine *engine, struct hold *hold, uint32_t hold_count, int64_t now);
void hold_release_deferred(struct engine *engine, struct hold *hold, int64_t now);
void hold_release_sent(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now);
void turn_into_release(struct command *command, const struct hold *hold);
void hold_lose(struct engine *engine, struct hold *hold, int reason, int64_t now);
/* Why a hold is gone of which the server knows nothing: its time was over, or it was taken away. */
int hold_reason(const struct hold *hold, int64_t now);
void hold_check_deadline(struct engine *engine, struct hold *hold, int64_t now);
void hold_end(struct engine *engine, struct hold *hold, int64_t now);
void hold_timer(struct engine *engine, struct hold *hold, int64_t now);
void hold_arm(struct engine *engine, struct hold *hold);

/* renewal.c: the watchdog's batches */
void renewal_gather(struct engine *engine, struct hold *first, int64_t now);
void renewal_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void renewal_forget(struct hold *hold);
void renewal_expire(struct engine *engine, struct hold *hold);
void renewal_again(struct engine *engine, struct command *command, int64_t at, int64_t now);
void renewal_verify_all(struct engine *engine, int64_t at);
void renewal_verify_soon(struct engine *engine, int64_t now);

/* in_doubt.c: what becomes of commands whose connection broke */
void in_doubt_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void in_doubt_resolve_unsent(struct engine *engine, struct command *command, enum resolution how, int64_t now);

#endif
