/* Losses of holds of multi locks: who is notified of one, and what is left of the hold afterwards. Against a real
 * server, with the clients' own threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "composite_holds.h"
#include "real_server.h"
#include "redlatch.h"
#include "system.h"
#include "unit.h"

enum { LEASE_MS = 600, TIMEOUT_MS = 20000 };

static redlatch_client *new_client(const char *url) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.watchdog_lease_ms = LEASE_MS;
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &client), REDLATCH_OK);
    return client;
}

static redlatch_lock *new_lock(redlatch_client *client, const char *name) {
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), NULL, &lock), REDLATCH_OK);
    return lock;
}

/* A multi lock with a member on each of two clients, or with both on the first one. A third client, the thief,
 * force-releases the second member. */
struct scene {
    redlatch_client *clients[3];
    redlatch_lock *members[2];
    redlatch_lock *thief;
    redlatch_lock *lock;
};

static const char *url;

static void set_up_on(struct scene *scene, int clients) {
    for (int i = 0; i < 3; i++) {
        scene->clients[i] = new_client(url);
    }
    scene->members[0] = new_lock(scene->clients[0], "first");
    scene->members[1] = new_lock(scene->clients[clients - 1], "second");
    scene->thief = new_lock(scene->clients[2], "second");
    CHECK_EQ_INT(redlatch_multi_lock_new(scene->members, 2, NULL, &scene->lock), REDLATCH_OK);
}

static void set_up(struct scene *scene) {
    set_up_on(scene, 2);
}

static void take_away(struct scene *scene) {
    int released = 0;
    CHECK_EQ_INT(redlatch_lock_try_acquire(scene->lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_force_release(scene->thief, &released), REDLATCH_OK);
    CHECK_EQ_INT(released, 1);
}

static void release_lost(struct scene *scene) {
    CHECK_EQ_INT(redlatch_lock_release(scene->lock), REDLATCH_LOST);
}

static void tear_down(struct scene *scene) {
    redlatch_lock_free(scene->lock);
    redlatch_lock_free(scene->thief);
    for (int i = 0; i < 2; i++) {
        redlatch_lock_free(scene->members[i]);
    }
    for (int i = 0; i < 3; i++) {
        redlatch_client_free(scene->clients[i]);
    }
}

static void the_event_descriptor_of_the_first_client_tells_it(void) {
    struct scene scene;
    set_up(&scene);
    int fd = -1;
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_event_fd(scene.clients[0], &fd), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_next_event(scene.clients[0], &event), REDLATCH_AGAIN);
    take_away(&scene);
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    CHECK_EQ_INT(poll(&polled, 1, TIMEOUT_MS), 1);
    CHECK_EQ_INT(redlatch_client_next_event(scene.clients[0], &event), REDLATCH_OK);
    CHECK_EQ_INT(event.kind, REDLATCH_EVENT_LOST);
    CHECK(event.name_size == 5 && memcmp(event.name, "first", 5) == 0);
    release_lost(&scene);
    tear_down(&scene);
}

static void the_thread_that_waits_for_losses_is_woken(void) {
    struct scene scene;
    set_up(&scene);
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[0], 0, &event), REDLATCH_AGAIN);
    take_away(&scene);
    int64_t start = system_now();
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[0], TIMEOUT_MS, &event), REDLATCH_OK);
    CHECK(system_now() - start < (int64_t)TIMEOUT_MS * 1000); /* woken before the deadline */
    CHECK_EQ_INT(event.kind, REDLATCH_EVENT_LOST);
    release_lost(&scene);
    tear_down(&scene);
}

/* Waits until the owner's hold of a lock is lost. */
static void until_lost(redlatch_lock *lock, uint64_t owner) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    for (int64_t until = system_now() + (int64_t)TIMEOUT_MS * 1000;
         hold.state != REDLATCH_GONE && system_now() < until;) {
        poll(NULL, 0, 1);
        CHECK_EQ_INT(redlatch_lock_hold_status(lock, owner, &hold), REDLATCH_OK);
    }
    CHECK_EQ_INT(hold.state, REDLATCH_GONE);
}

/* The handle of a lost multi lock is freed. Its owner still holds another lock. */
static void other_locks_of_the_owner_stay(void) {
    struct scene scene;
    set_up(&scene);
    redlatch_lock_options options;
    redlatch_lock *other = NULL;
    CHECK_EQ_INT(redlatch_lock_options_init(&options, sizeof options), REDLATCH_OK);
    options.owner_mode = REDLATCH_OWNER_HANDLE;
    CHECK_EQ_INT(redlatch_owner_new(&options.owner), REDLATCH_OK);
    redlatch_lock_free(scene.lock);
    CHECK_EQ_INT(redlatch_multi_lock_new(scene.members, 2, &options, &scene.lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(scene.clients[1], REDLATCH_MUTEX, "other", 5, &options, &other), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_try_acquire(other), REDLATCH_OK);
    take_away(&scene);
    until_lost(scene.lock, 0);
    redlatch_lock_free(scene.lock);
    scene.lock = NULL;
    redlatch_hold hold = {.struct_size = sizeof hold};
    CHECK_EQ_INT(redlatch_lock_hold_status(scene.members[1], options.owner, &hold), REDLATCH_OK);
    CHECK_EQ_INT(hold.state, REDLATCH_NOT_HELD);
    CHECK_EQ_INT(redlatch_lock_release(other), REDLATCH_OK);
    redlatch_lock_free(other);
    tear_down(&scene);
}

/* The loss was found by the handle that is to acquire, and was released by another handle of the same members. */
static void a_loss_that_another_handle_released(void) {
    struct scene scene;
    redlatch_lock *another = NULL;
    set_up(&scene);
    CHECK_EQ_INT(redlatch_multi_lock_new(scene.members, 2, NULL, &another), REDLATCH_OK);
    take_away(&scene);
    until_lost(scene.lock, 0);
    CHECK_EQ_INT(redlatch_lock_try_acquire(scene.lock), REDLATCH_LOST);
    CHECK_EQ_INT(redlatch_lock_release(another), REDLATCH_LOST);
    CHECK_EQ_INT(redlatch_lock_acquire(scene.lock, TIMEOUT_MS), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release(scene.lock), REDLATCH_OK);
    redlatch_lock_free(another);
    tear_down(&scene);
}

/* The lost member alone was released. The next loss is reported as well. */
static void a_loss_that_a_member_released(int clients) {
    struct scene scene;
    redlatch_event event = {.struct_size = sizeof event};
    set_up_on(&scene, clients);
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[0], 0, &event), REDLATCH_AGAIN);
    for (int i = 0; i < 2; i++) {
        take_away(&scene);
        CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[0], TIMEOUT_MS, &event), REDLATCH_OK);
        CHECK_EQ_INT(redlatch_lock_release(scene.members[1]), REDLATCH_LOST);
    }
    tear_down(&scene);
}

static void a_loss_that_a_member_of_one_client_released(void) {
    a_loss_that_a_member_released(1);
}

static void a_loss_that_a_member_of_two_clients_released(void) {
    a_loss_that_a_member_released(2);
}

static void nothing_is_left_of_an_owner_that_ended(void) {
    struct scene scene;
    uint64_t owner;
    set_up(&scene);
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_acquire_as(scene.lock, owner, REDLATCH_RENEWED, 0, NULL), REDLATCH_OK);
    CHECK(scene.lock->composite->holds != NULL);
    CHECK_EQ_INT(redlatch_owner_end(owner), REDLATCH_OK);
    CHECK(scene.lock->composite->holds == NULL);
    tear_down(&scene);
}

/* Permits scripts to all clients, or forbids them. */
static void permit_scripts(redlatch_client *client, const char *how) {
    const char *const command[] = {"ACL", "SETUSER", "default", how};
    char reply[8];
    CHECK_EQ_INT(redlatch_client_command(client, NULL, command, 4, reply, sizeof reply, NULL), REDLATCH_OK);
}

/* A release fails: the hold count stays. After the next one the hold has an acquire left, and its loss is reported. */
static void a_loss_after_a_failed_release(int clients) {
    struct scene scene;
    redlatch_event event = {.struct_size = sizeof event};
    set_up_on(&scene, clients);
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[0], 0, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_lock_try_acquire(scene.lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_try_acquire(scene.lock), REDLATCH_OK);
    permit_scripts(scene.clients[2], "-@scripting");
    CHECK_EQ_INT(redlatch_lock_release(scene.lock), REDLATCH_NO_PERMISSION);
    permit_scripts(scene.clients[2], "+@scripting");
    CHECK_EQ_INT(redlatch_lock_release(scene.lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_force_release(scene.thief, NULL), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[0], 2000, &event), REDLATCH_OK);
    tear_down(&scene);
}

static void a_loss_after_a_failed_release_by_one_client(void) {
    a_loss_after_a_failed_release(1);
}

static void a_loss_after_a_failed_release_by_two_clients(void) {
    a_loss_after_a_failed_release(2);
}

struct grant {
    struct composite *composite;
    uint64_t owner;
};

static void *note_grant(void *argument) {
    const struct grant *grant = argument;
    composite_note_granted(grant->composite, grant->owner);
    return NULL;
}

static uint64_t last_id(struct client *client) {
    client_lock(client);
    uint64_t id = client->engine.last_id;
    client_unlock(client);
    return id;
}

/* The first client loses its member while the thread that notes the grant waits for the other client's mutex. */
static void a_loss_before_the_grant_was_noted(void) {
    struct scene scene;
    set_up(&scene);
    int first = scene.lock->composite->groups[0].client == scene.clients[0]->client ? 0 : 1;
    struct client *clients[2] = {scene.clients[first]->client, scene.clients[1 - first]->client};
    redlatch_lock *members[2] = {scene.members[first], scene.members[1 - first]};
    redlatch_lock *thief = new_lock(scene.clients[2], first == 0 ? "first" : "second");
    redlatch_lock_free(scene.lock);
    CHECK_EQ_INT(redlatch_multi_lock_new(members, 2, NULL, &scene.lock), REDLATCH_OK);
    struct grant grant = {.composite = scene.lock->composite};
    CHECK_EQ_INT(redlatch_owner_new(&grant.owner), REDLATCH_OK);
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[first], 0, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_lock_acquire_as(scene.lock, grant.owner, REDLATCH_RENEWED, TIMEOUT_MS, NULL), REDLATCH_OK);
    composite_note_released(grant.composite, grant.owner, REDLATCH_NOT_OWNED); /* the grant is to be noted now */
    pthread_t thread;
    client_lock(clients[1]);
    uint64_t before = last_id(clients[0]);
    CHECK(pthread_create(&thread, NULL, note_grant, &grant) == 0);
    for (int64_t until = system_now() + (int64_t)TIMEOUT_MS * 1000;
         last_id(clients[0]) == before && system_now() < until;) {
        poll(NULL, 0, 1); /* until it has read the first client's holds */
    }
    CHECK_EQ_INT(redlatch_lock_force_release(thief, NULL), REDLATCH_OK);
    until_lost(members[0], grant.owner);
    client_unlock(clients[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ_INT(redlatch_client_wait_lost(scene.clients[first], 1000, &event), REDLATCH_OK);
    CHECK_EQ_INT(event.reason, REDLATCH_REASON_MISSING);
    redlatch_lock_free(thief);
    tear_down(&scene);
}

int main(void) {
    url = real_server_start();
    RUN(the_event_descriptor_of_the_first_client_tells_it);
    RUN(the_thread_that_waits_for_losses_is_woken);
    RUN(other_locks_of_the_owner_stay);
    RUN(a_loss_that_another_handle_released);
    RUN(a_loss_that_a_member_of_one_client_released);
    RUN(a_loss_that_a_member_of_two_clients_released);
    RUN(a_loss_after_a_failed_release_by_one_client);
    RUN(a_loss_after_a_failed_release_by_two_clients);
    RUN(a_loss_before_the_grant_was_noted);
    RUN(nothing_is_left_of_an_owner_that_ended); /* last: its locks stay locked for their lease */
    real_server_end();
    return unit_done();
}
