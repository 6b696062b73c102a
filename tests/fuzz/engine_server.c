/* The steps of the server and of connections: commands are written, answered with a usual reply or any other, lost with
 * their connection, and resolved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_play.h"
#include "acknowledgement.h"
#include "wire.h"

enum { ELEMENTS_MAX = 8 };

/* ----------------------------------------------------------------------------------------------------- writing -- */

struct counting_sink {
    struct argument_sink sink;
    uint32_t count;
    size_t bytes;
};

static void count_argument(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    struct counting_sink *counting = container_of(sink, struct counting_sink, sink);
    counting->count++;
    for (size_t i = 0; i < part_count; i++) {
        for (size_t j = 0; j < parts[i].size; j++) { /* reads each byte */
            counting->bytes += (unsigned char)parts[i].text[j] != 0;
        }
    }
}

/* The command, as it would be written, has as many arguments as command_counts says. */
static void write_command(const struct command *command) {
    struct counting_sink counting = {.sink = {count_argument}};
    uint32_t keys;
    uint32_t arguments;
    command_counts(command, &keys, &arguments);
    command_write(&rig.engine, command, &counting.sink);
    MUST(counting.count == keys + arguments);
}

static enum pipeline_role a_pipeline(uint8_t how) {
    return (enum pipeline_role)(how % PIPELINE_COUNT);
}

static void send_next(enum pipeline_role pipeline) {
    const struct command *command = engine_first_to_send(&rig.engine, &rig.at->pipelines[pipeline], rig.now);
    write_command(command);
    MUST(rig_send(pipeline) == command);
    play_tell("pipeline %d: command %d of id %llu is sent", (int)pipeline, command->kind,
              (unsigned long long)command->id);
}

void play_send(void) {
    uint8_t how = input_byte(play.input);
    enum pipeline_role pipeline = a_pipeline(how);
    unsigned count = 1 + how / PIPELINE_COUNT % 4;
    while (count-- > 0 && engine_first_to_send(&rig.engine, &rig.at->pipelines[pipeline], rig.now)) {
        send_next(pipeline);
    }
}

/* ----------------------------------------------------------------------------------------------------- answers -- */

static const char *const errors[] = {
    "NOSCRIPT No matching script. Please use EVAL.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "NOPERM this user has no permissions to run the 'evalsha' command",
    "ERR Error running script (call to f_0): @user_script:3: @user_script: 3: -NOREPLICAS Not enough good replicas",
    "ERR Error running script (call to f_0): @user_script:7: user_script:7: something",
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script",
    "ERR unknown command 'EVALSHA'",
    "NOREPLICAS Not enough good replicas to write.",
    "ERR max number of clients reached",
    "",
};
enum { ERRORS = sizeof errors / sizeof errors[0] };

/* A reply in memory of exactly its size, so that a sanitizer sees a read beyond its end. */
struct answer {
    struct reply reply;
    struct reply *elements;
    char *texts[ELEMENTS_MAX + RENEWAL_BATCH_SIZE + 1];
    size_t text_count;
};

static void put_text(struct answer *answer, struct reply *reply, enum reply_kind kind, const char *text) {
    size_t size = strlen(text);
    char *copy = malloc(size ? size : 1);
    MUST(copy);
    for (size_t i = 0; i < size; i++) { /* without its final NUL */
        copy[i] = text[i];
    }
    answer->texts[answer->text_count++] = copy;
    *reply = (struct reply){.kind = kind, .text = copy, .size = size};
}

static void put_number_text(struct answer *answer, struct reply *reply, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put_text(answer, reply, REPLY_STRING, text);
}

/* Returns the number of a recent owner or waiter, or another number. */
static int64_t an_id(void) {
    uint8_t number = input_byte(play.input);
    uint64_t last = rig.engine.last_id;
    return (int64_t)(number < 0xf0 && last > 0 ? last - number % (last < 12 ? last : 12) : number);
}

static void put_plain(struct answer *answer, struct reply *reply) {
    switch (input_below(play.input, 8)) {
    case 0:
        *reply = (struct reply){.kind = REPLY_NIL, .text = ""};
        break;
    case 1:
        *reply = (struct reply){.kind = REPLY_INTEGER, .text = "", .integer = input_number(play.input)};
        break;
    case 2:
        put_text(answer, reply, REPLY_ERROR, errors[input_below(play.input, ERRORS)]);
        break;
    case 3:
        put_text(answer, reply, REPLY_STRING, input_byte(play.input) < 128 ? "" : "!99999999999999999999");
        break;
    case 4:
        put_number_text(answer, reply, an_id());
        break;
    case 5:
        *reply = (struct reply){.kind = REPLY_INTEGER, .text = "", .integer = 1};
        break;
    case 6:
        *reply = (struct reply){.kind = REPLY_INTEGER, .text = "", .integer = 0};
        break;
    default:
        put_number_text(answer, reply, input_number(play.input));
        break;
    }
}

static struct reply *put_array(struct answer *answer, size_t count) {
    answer->elements = calloc(count ? count : 1, sizeof *answer->elements);
    MUST(answer->elements);
    answer->reply = (struct reply){.kind = REPLY_ARRAY, .text = "", .elements = answer->elements, .count = count};
    for (size_t i = 0; i < count; i++) {
        answer->elements[i] = (struct reply){.kind = REPLY_INTEGER, .text = "", .integer = 1};
    }
    return answer->elements;
}

static void put_integer(struct answer *answer, int64_t number) {
    answer->reply = (struct reply){.kind = REPLY_INTEGER, .text = "", .integer = number};
}

static int64_t a_ttl(void) {
    static const int64_t times[] = {1, 50, 1000, 30000, -1, 0, 300, 86400000};
    return times[input_below(play.input, 8)];
}

/* A reply to an acquire: granted, or held by others. */
static void put_acquired(struct answer *answer, const struct command *command, bool granted) {
    if (command->kind == COMMAND_ACQUIRE_MANY) {
        struct reply *elements = put_array(answer, granted ? 1 : 2);
        elements[0].integer = granted ? 0 : 1 + input_below(play.input, command->entry_count);
        if (!granted) {
            elements[1].integer = a_ttl();
        }
    } else if (command->lock_kind == REDLATCH_SEMAPHORE) {
        put_integer(answer, granted ? command->amount : 0);
    } else if (granted && command->lock_kind == REDLATCH_FENCED) {
        put_number_text(answer, &answer->reply, 1000 + (int64_t)command->id);
    } else if (granted) {
        answer->reply = (struct reply){.kind = REPLY_NIL, .text = ""};
    } else if (command->lock_kind == REDLATCH_FAIR) {
        struct reply *elements = put_array(answer, 2);
        elements[0].integer = a_ttl();
        put_number_text(answer, &elements[1], an_id());
    } else {
        put_integer(answer, a_ttl());
    }
}

/* A usual reply of a command's script: the good case, or another. */
static void put_usual(struct answer *answer, const struct command *command, bool good) {
    struct reply *elements;
    switch (command->kind) {
    case COMMAND_ACQUIRE:
    case COMMAND_ACQUIRE_MANY:
        put_acquired(answer, command, good);
        break;
    case COMMAND_RENEW:
    case COMMAND_RELEASE_MANY: {
        size_t count = command->kind == COMMAND_RENEW ? command->batch_count
                                                      : command->entry_end - command->entry_first;
        elements = put_array(answer, count);
        for (size_t i = 0; i < count; i++) {
            int64_t bad = command->kind == COMMAND_RENEW ? -2 : 0;
            elements[i].integer = good || input_byte(play.input) < 128 ? 1 : bad;
        }
        break;
    }
    case COMMAND_HAND_OVER:
        if (good && command->lock_kind == REDLATCH_FENCED) {
            put_number_text(answer, &answer->reply, 1000 + (int64_t)command->successor);
        } else {
            put_integer(answer, good ? 1 : 2 * (int)input_below(play.input, 2));
        }
        break;
    case COMMAND_WATCH:
        put_integer(answer, good                           ? -2
                            : input_byte(play.input) < 128 ? a_ttl()
                                                           : -10 - (int)input_below(play.input, 12));
        break;
    case COMMAND_REFRESH:
        elements = put_array(answer, good ? 0 : 1);
        if (!good) {
            put_number_text(answer, &elements[0], an_id());
        }
        break;
    case COMMAND_QUERY:
        elements = put_array(answer, good ? 0 : 3 + input_below(play.input, 3));
        for (size_t i = 0; i < answer->reply.count; i++) {
            put_plain(answer, &elements[i]);
        }
        break;
    case COMMAND_INSPECT:
        put_text(answer, &answer->reply, REPLY_STRING, good ? "" : "!");
        break;
    default:
        put_integer(answer, good ? 1 : 0);
        break;
    }
}

static void put_anything(struct answer *answer) {
    if (input_byte(play.input) < 128) {
        put_plain(answer, &answer->reply);
        return;
    }
    size_t count = input_below(play.input, ELEMENTS_MAX);
    struct reply *elements = put_array(answer, count);
    for (size_t i = 0; i < count; i++) {
        put_plain(answer, &elements[i]);
    }
}

static struct command *oldest_sent(enum pipeline_role pipeline) {
    struct list_link *link = list_first(&rig.at->pipelines[pipeline].sent);
    return link ? container_of(link, struct command, link) : NULL;
}

/* Returns an acknowledgement by replicas, derived from the command, so that an input has the same meaning with and
 * without replicas. */
static struct acknowledgement acknowledgement_of(const struct command *command) {
    uint64_t draw = (command->id * 7 + (uint64_t)command->sent_at / MILLISECOND) % 8;
    struct acknowledgement acknowledgement = {.status = draw == 7 ? REDLATCH_NO_PERMISSION : REDLATCH_OK};
    acknowledgement.replicas = draw < 4 ? 1 : 0;
    return acknowledgement;
}

static void give_answer(struct answer *answer, enum pipeline_role pipeline) {
    struct acknowledgement acknowledgement;
    if (engine_keeps_reply(&rig.at->pipelines[pipeline], &answer->reply)) {
        acknowledgement = acknowledgement_of(oldest_sent(pipeline));
        answer->reply.acknowledgement = &acknowledgement;
        play_tell("acknowledged by %d replicas, with status %d", (int)acknowledgement.replicas, acknowledgement.status);
    }
    rig_reply(pipeline, &answer->reply);
    answer->reply.acknowledgement = NULL;
    free(answer->elements);
    for (size_t i = 0; i < answer->text_count; i++) {
        free(answer->texts[i]);
    }
}

enum answer_choice { USUAL_GOOD, USUAL_BAD, AN_ERROR, ANYTHING };

static void answer(enum pipeline_role pipeline, enum answer_choice choice) {
    const struct command *command = oldest_sent(pipeline);
    if (!command) {
        return;
    }
    play_import_replied(pipeline);
    struct answer answer = {.text_count = 0};
    if (choice == AN_ERROR) {
        put_text(&answer, &answer.reply, REPLY_ERROR, errors[input_below(play.input, ERRORS)]);
    } else if (choice == ANYTHING) {
        put_anything(&answer);
    } else {
        put_usual(&answer, command, choice == USUAL_GOOD);
    }
    play_tell("pipeline %d: the reply to command %d is of kind %d: %lld \"%.*s\" of %d elements", (int)pipeline,
              command->kind, (int)answer.reply.kind, (long long)answer.reply.integer, (int)answer.reply.size,
              answer.reply.text ? answer.reply.text : "", (int)answer.reply.count);
    give_answer(&answer, pipeline);
}

void play_answer(void) {
    uint8_t how = input_byte(play.input);
    uint8_t choice = how / PIPELINE_COUNT;
    answer(a_pipeline(how), choice < 14 ? USUAL_GOOD : choice < 28 ? USUAL_BAD : choice < 35 ? AN_ERROR : ANYTHING);
}

/* Sends all commands and answers them with usual replies. The bits of a byte choose the replies other than good. */
void play_round(void) {
    uint8_t how = input_byte(play.input);
    for (int pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        for (int i = 0; i < 8 && engine_first_to_send(&rig.engine, &rig.at->pipelines[pipeline], rig.now); i++) {
            send_next((enum pipeline_role)pipeline);
            answer((enum pipeline_role)pipeline, how >> i & 1 ? USUAL_BAD : USUAL_GOOD);
            check_engine();
        }
    }
}

void play_answer_plainly(enum pipeline_role pipeline) {
    const struct command *command = oldest_sent(pipeline);
    struct answer answer = {.text_count = 0};
    play_tell("pipeline %d: command %d of id %llu is answered plainly", (int)pipeline, command->kind,
              (unsigned long long)command->id);
    play_import_replied(pipeline);
    if (command->kind == COMMAND_RENEW) {
        put_array(&answer, command->batch_count);
    } else {
        put_integer(&answer, 0);
    }
    give_answer(&answer, pipeline);
}

/* ------------------------------------------------------------------------------------------------- connections -- */

void play_connection(void) {
    static const int statuses[] = {REDLATCH_UNREACHABLE,      REDLATCH_LOADING,  REDLATCH_AUTHENTICATION,
                                   REDLATCH_SYSTEM,           REDLATCH_NO_REPLY, REDLATCH_PROTOCOL,
                                   REDLATCH_TOO_MANY_CLIENTS, REDLATCH_NO_MEMORY};
    uint8_t how = input_byte(play.input);
    enum pipeline_role pipeline = a_pipeline(how);
    unsigned choice = how / PIPELINE_COUNT % 7;
    if (choice < 2) {
        play_tell("pipeline %d breaks", (int)pipeline);
        rig_lost(pipeline);
    } else if (choice < 6) {
        enum resolution resolution = choice == 5 ? RESOLVED_BY_KILL : (enum resolution)(choice - 2);
        play_tell("pipeline %d breaks and is there again, settlement %d", (int)pipeline, (int)resolution);
        rig_lost(pipeline); /* if it was not lost before */
        check_engine();
        rig_ready(pipeline, resolution);
    } else {
        int status = statuses[input_below(play.input, 8)];
        play_tell("pipeline %d breaks and can not be made again: %d", (int)pipeline, status);
        rig_lost(pipeline);
        rig_failed(pipeline, status);
    }
}

static struct subscription *next_change(void) {
    struct list_link *link = list_first(&rig.at->subscription_changes);
    return link ? container_of(link, struct subscription, link) : NULL;
}

/* Sends a change of a subscription as the client does. The server confirms it now, later or never. */
static void send_change(struct subscription *subscription, unsigned choice) {
    char channel[CHANNEL_SIZE_MAX];
    size_t size = channel_text(&rig.engine, subscription, channel);
    bool leaves = subscription->state == SUBSCRIPTION_LEAVING;
    MUST(leaves || subscription->state == SUBSCRIPTION_WANTED);
    list_remove(&subscription->link);
    MUST(!list_is_linked(&subscription->sent));
    if (leaves && engine_needs_channel(&rig.engine, subscription, channel, size)) {
        engine_unsubscribed(&rig.engine, subscription, rig.now);
    } else {
        list_append(&play.unanswered, &subscription->sent);
        play_tell("%.*s is %s%s", (int)size, channel, choice < 6 ? "" : "to be ", leaves ? "left" : "subscribed to");
    }
    if (choice < 6 && list_is_linked(&subscription->sent)) {
        engine_pubsub_received(&rig.engine, rig.at, leaves ? PUBSUB_UNSUBSCRIBED : PUBSUB_SUBSCRIBED, channel, size, 0,
                               rig.now);
    }
    rig_turn();
}

/* The server answers in order, so an error is about the oldest unanswered subscription. */
static void deny_oldest(void) {
    struct list_link *link = list_pop(&play.unanswered);
    if (link) {
        play_tell("the oldest subscription is denied");
        engine_subscription_denied(&rig.engine, container_of(link, struct subscription, sent), rig.now);
    }
}

void play_subscriptions(void) {
    uint8_t how = input_byte(play.input);
    struct subscription *subscription;
    switch (how / 8) {
    case 31:
        play_tell("the connection for messages breaks");
        engine_subscriptions_lost(&rig.engine, rig.at, rig.now);
        break;
    case 30:
        deny_oldest();
        break;
    default:
        for (int i = 0; i < 3 && (subscription = next_change()) != NULL; i++) {
            send_change(subscription, how % 8);
            check_engine();
        }
        break;
    }
    rig_turn();
}

/* Delivers a message, or the confirmation of an earlier subscription, on the channel of a name or of a waiter. */
void play_message(void) {
    const struct resource *resource = rig_name(play_name(input_below(play.input, NAMES)));
    uint8_t how = input_byte(play.input);
    struct wait_queue *queue = resource->queue;
    if (!queue) {
        return;
    }
    struct subscription *subscription = how % 4 ? &queue->subscription : &queue->wake_channels[how / 4 % WAKE_CHANNELS];
    if (how % 4 == 0 && subscription->waiter == 0) {
        return;
    }
    char channel[CHANNEL_SIZE_MAX];
    size_t size = channel_text(&rig.engine, subscription, channel);
    char *exact = malloc(size);
    MUST(exact);
    memcpy(exact, channel, size);
    enum pubsub_reply what = how < 0xc0 ? PUBSUB_MESSAGE : how < 0xe0 ? PUBSUB_SUBSCRIBED : PUBSUB_UNSUBSCRIBED;
    int64_t number = input_number(play.input);
    play_tell("on %.*s is heard %d, %lld", (int)size, channel, (int)what, (long long)number);
    engine_pubsub_received(&rig.engine, rig.at, what, exact, size, number, rig.now);
    free(exact);
    rig_turn();
}
