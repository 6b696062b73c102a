/* Sharded messages: on which channels, by which texts of scripts; and subscriptions that a server ends by itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "channels.h"
#include "engine_fixture.h"
#include "kinds.h"
#include "known_scripts.h"
#include "reroute.h"
#include "routes.h"
#include "wire.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct resource *make_resource(const char *name, uint8_t kind) {
    size_t size = strlen(name);
    struct resource *resource = calloc(1, sizeof *resource + size + 1);
    memcpy(resource->name, name, size + 1);
    resource->name_size = (uint32_t)size;
    resource->kind = kind_of_names(kind);
    resource->slot = key_slot(name, size);
    return resource;
}

/* Returns whether the slot of the channel's text is the slot of the name. */
static bool slots_agree(const struct resource *resource, uint64_t waiter) {
    static struct engine engine;
    static char channel[CHANNEL_SIZE_MAX];
    struct wait_queue queue = {.resource = (struct resource *)(uintptr_t)resource};
    struct subscription subscription = {.queue = &queue, .waiter = waiter};
    memcpy(engine.uuid, rig_uuid, 36);
    return key_slot(channel, channel_text(&engine, &subscription, channel)) == resource->slot;
}

static void a_channel_is_in_the_slot_of_its_name_or_not(void) {
    static const char *const names[] = {"a",        "orders:42", "{a}",  "{a}:b",  "x{y}z", "a{b",   "a}b", "a{}b",
                                        "{}",       "{}{a}",     "}{a}", "{{a}}",  "a}{b",  "{a}}",  "}",   "{",
                                        "a{b}c{d}", "{a",        "a}",   "{a}{b}", "}a{b}", "a{b{c}"};
    int in_slot = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (int kind = REDLATCH_MUTEX; kind < KIND_NUMBERS; kind++) {
            struct resource *resource = make_resource(names[i], (uint8_t)kind);
            bool agree = slots_agree(resource, 0);
            if (channel_is_in_slot(resource) != agree) {
                CHECK_STR(names[i], agree ? "a name whose channel is in its slot" : "one whose channel is not");
            }
            CHECK(!agree || slots_agree(resource, 7));
            in_slot += agree;
            free(resource);
        }
    }
    CHECK(in_slot > 100);
}

/* Returns the script of a command in scripts_embedded. `sharded` says whether the server has sharded messages. */
static const struct script_embedded *text_of(struct command *command, bool sharded) {
    static struct server *routes[SLOT_COUNT];
    static struct engine engine = {.routes = routes};
    static struct server server;
    server_set_sharding(&server, sharded);
    command->server = &server;
    return command_text(&engine, command);
}

static void a_script_has_the_text_that_its_server_wants(void) {
    struct resource *resource = make_resource("a", REDLATCH_MUTEX);
    struct command command = {.resource = resource, .kind = COMMAND_RELEASE};
    resource->channel_in_slot = true;
    const struct script_embedded *usual = &scripts_embedded[SCRIPT_RELEASE];
    CHECK(text_of(&command, false) == usual);
    CHECK(text_of(&command, true) == usual->sharded);
    CHECK(strstr(usual->sharded->text, "'spublish'") && !strstr(usual->sharded->text, "'publish'"));
    struct engine of_one_server = {.server = command.server};
    CHECK(command_text(&of_one_server, &command) == usual);
    resource->channel_in_slot = false;
    CHECK(text_of(&command, true) == usual);
    resource->channel_in_slot = true;
    command.kind = COMMAND_ACQUIRE;
    CHECK(text_of(&command, true) == &scripts_embedded[SCRIPT_ACQUIRE]);
    free(resource);
}

/* One text of a script serves all names of a set. */
static void a_set_is_sharded_if_all_its_channels_are(void) {
    struct resource *one = make_resource("a", REDLATCH_MUTEX);
    struct resource *other = make_resource("a", REDLATCH_MUTEX);
    struct entries entries = {.entry = {{.name = one}, {.name = other}}};
    struct command command = {.kind = COMMAND_RELEASE_MANY, .entries = &entries, .entry_count = 2, .entry_end = 2};
    const struct script_embedded *usual = &scripts_embedded[SCRIPT_RELEASE_MANY];
    one->channel_in_slot = other->channel_in_slot = true;
    CHECK(text_of(&command, true) == usual->sharded);
    CHECK(text_of(&command, false) == usual);
    other->channel_in_slot = false;
    CHECK(text_of(&command, true) == usual);
    free(one);
    free(other);
}

/* Returns how many times a text contains a word. */
static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        count++;
    }
    return count;
}

static void every_publishing_script_has_a_second_text(void) {
    int publishing = 0;
    for (int id = 0; id < SCRIPT_COUNT; id++) {
        const struct script_embedded *script = &scripts_embedded[id];
        size_t messages = count_of(script->text, "'publish'");
        CHECK((script->sharded != NULL) == (messages > 0));
        CHECK_EQ_INT(count_of(script->text, "publish"), messages); /* not in other quotes, or in capital letters */
        CHECK_EQ_INT(count_of(script->text, "PUBLISH"), 0);
        if (script->sharded) {
            publishing++;
            CHECK_EQ_INT(script->sharded->size, script->size + messages);
            CHECK_EQ_INT(strlen(script->sharded->text), script->sharded->size);
            CHECK_EQ_INT(count_of(script->sharded->text, "'spublish'"), messages);
            CHECK(strlen(script->sharded->sha1) == 40 && strcmp(script->sharded->sha1, script->sha1) != 0);
        }
    }
    CHECK(publishing > 20);
}

/* A server that replaces one of Redis 6 does not know the script for leaving a server queue, whose text is another one
 * now. */
static void another_text_is_not_known(void) {
    struct server server = {.leave_is_known = true};
    server_set_sharding(&server, false);
    CHECK(server.leave_is_known && !server.shards_messages);
    server_set_sharding(&server, true);
    CHECK(!server.leave_is_known && server.shards_messages);
}

/* A server that has the text of a script with PUBLISH may lack the one with SPUBLISH. EVALSHA would be refused then,
 * but the WAIT behind it would not. */
static void each_text_is_known_by_itself(void) {
    static struct server *routes_of_all[SLOT_COUNT];
    static struct server server;
    struct engine engine = {.routes = routes_of_all, .settings = {.min_replicas = 1}};
    struct resource *resource = make_resource("a", REDLATCH_FAIR);
    struct reply granted = {.kind = REPLY_NIL};
    struct command command = {
        .resource = resource, .kind = COMMAND_ACQUIRE, .lock_kind = REDLATCH_FAIR, .server = &server};
    server_init(&server);
    server_set_sharding(&server, true);
    for (int i = 0; i < 2; i++) {
        resource->channel_in_slot = i == 1;
        command.as_text = false;
        known_scripts_prepare(&engine, &command);
        CHECK(command.as_text);
        known_scripts_replied(&engine, &command, &granted);
        command.as_text = false;
        known_scripts_prepare(&engine, &command);
        CHECK(!command.as_text);
    }
    free(resource);
}

/* ------------------------------------------------------------------------------------------ subscriptions end -- */

static struct server *routes[SLOT_COUNT];
static const char channel[] = "redisson_lock__channel:{a}";

static void route_all_to(struct server *server) {
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        routes[slot] = server;
    }
}

static void tell(struct server *server, enum pubsub_reply what) {
    engine_pubsub_received(&rig.engine, server, what, channel, sizeof channel - 1, 0, rig.now);
    rig_turn();
}

static void answer_held(void) {
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
}

/* Returns a subscribed waiter of a cluster that is one server. */
static struct call *subscribed_waiter(void) {
    rig_open();
    struct resource *resource = rig_name("a");
    route_all_to(&rig.server);
    rig.engine.routes = routes;
    resource->slot = key_slot("a", 1);
    resource->server = &rig.server;
    struct call *call = rig_acquire("a", 1);
    answer_held();
    CHECK_EQ_INT(rig_subscriptions(), 1);
    answer_held();
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_ACTIVE);
    return call;
}

static void one_that_the_server_ends_is_wanted_again(void) {
    struct call *call = subscribed_waiter();
    const struct subscription *subscription = &rig_wait_queue("a")->subscription;
    tell(&rig.server, PUBSUB_UNSUBSCRIBED);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_WANTED);
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    CHECK_EQ_INT(rig.server.subscriptions, 0);
    tell(&rig.server, PUBSUB_UNSUBSCRIBED); /* the second one is about no subscription */
    CHECK_EQ_INT(rig_subscriptions(), 1);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_ACTIVE);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING); /* a message may have been missed meanwhile */
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void one_that_ends_while_it_is_left_is_over(void) {
    struct call *call = subscribed_waiter();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_LEAVING);
    tell(&rig.server, PUBSUB_UNSUBSCRIBED);
    CHECK(rig_wait_queue("a") == NULL);
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    RIG_CLOSE();
}

/* A confirmation of the server that had the channel before is late and does not count. */
static void only_the_server_of_the_name_confirms(void) {
    static struct server other;
    struct call *call = subscribed_waiter();
    const struct subscription *subscription = &rig_wait_queue("a")->subscription;
    server_init(&other);
    route_all_to(&other);
    engine_routes_changed(&rig.engine, rig.now);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_WANTED);
    CHECK(subscription->server == &other && !list_is_empty(&other.subscription_changes));
    tell(&rig.server, PUBSUB_SUBSCRIBED);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_WANTED);
    tell(&other, PUBSUB_SUBSCRIBED);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_ACTIVE);
    CHECK_EQ_INT(other.subscriptions, 1);
    tell(&rig.server, PUBSUB_UNSUBSCRIBED);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_ACTIVE);
    route_all_to(&rig.server);
    engine_routes_changed(&rig.engine, rig.now);
    engine_reroute(&rig.engine, &other, rig.now);
    CHECK_EQ_INT(rig_subscriptions(), 1);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_channel_is_in_the_slot_of_its_name_or_not);
    RUN(a_script_has_the_text_that_its_server_wants);
    RUN(a_set_is_sharded_if_all_its_channels_are);
    RUN(every_publishing_script_has_a_second_text);
    RUN(another_text_is_not_known);
    RUN(each_text_is_known_by_itself);
    RUN(one_that_the_server_ends_is_wanted_again);
    RUN(one_that_ends_while_it_is_left_is_over);
    RUN(only_the_server_of_the_name_confirms);
    return unit_done();
}
