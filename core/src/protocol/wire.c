/* Commands with their keys and arguments, as their templates say; names of channels and owners.
 * SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <string.h>

#include "command_templates.h"
#include "group.h"
#include "kinds.h"
#include "operation_record.h"
#include "routes.h"

/* How many acquires of a reader have timeout keys. */
enum { TIMEOUTS_MAX = 1000 };

enum script_id command_script(const struct command *command) {
    return template_of_command(command)->script;
}

/* Returns whether the messages of all names of a command stay within the shard of its server. */
static bool shards_messages(const struct command *command) {
    bool shards = command->entries || shards_messages_of(command->server, command->resource);
    for (uint32_t i = 0; command->entries && shards && i < command->entry_count; i++) {
        shards = shards_messages_of(command->server, command->entries->entry[i].name);
    }
    return shards;
}

const struct script_embedded *command_text(const struct engine *engine, const struct command *command) {
    const struct script_embedded *script = &scripts_embedded[command_script(command)];
    bool publishes = script->sharded && engine->routes;
    return publishes && shards_messages(command) ? script->sharded : script;
}

bool renewed_alike(uint8_t lock_kind, uint8_t other_kind) {
    return template_of(lock_kind, COMMAND_RENEW)->script == template_of(other_kind, COMMAND_RENEW)->script;
}

/* Returns how many values of groups a command names. */
static uint32_t count_values(const struct command *command) {
    uint32_t count = command->kind == COMMAND_RENEW || !command->resource ? 0 : command->resource->value_count;
    for (uint32_t i = 0; command->kind == COMMAND_RENEW && i < command->batch_count; i++) {
        count += command->batch[i].name->value_count;
    }
    return count;
}

/* Returns whether an entry raises a hold, or leaves a hold count above 0. Then its member type is a capital letter, and
 * the entry states the count. */
static bool states_count(const struct command *command, const struct entry *entry) {
    return entry->count > (command->kind == COMMAND_ACQUIRE_MANY ? 1 : 0);
}

/* Counts the keys and arguments of an acquire or a release of several names. */
static void count_set(const struct command *command, uint32_t *key_count_out, uint32_t *argument_count_out) {
    *key_count_out = 0;
    *argument_count_out = command->kind == COMMAND_ACQUIRE_MANY ? 2 : 1;
    for (uint32_t i = command->entry_first; i < command->entry_end; i++) {
        const struct entry *entry = &command->entries->entry[i];
        const struct command_template *template = template_of(entry->lock_kind, command->kind);
        *key_count_out += (uint32_t)strlen(template->keys);
        *argument_count_out += (uint32_t)strlen(template->arguments) - !states_count(command, entry);
        *argument_count_out += entry->name->value_count;
    }
}

/* Returns the next waiter of a refresh after `before`; the first one if `before` is NULL. Waiters that have left before
 * the refresh is written are skipped. */
static const struct operation *refresh_next(const struct command *command, const struct operation *before) {
    const struct wait_queue *queue = command->resource->queue;
    const struct list_link *link = NULL;
    if (queue) {
        link = before ? list_next(&queue->waiters, &before->link) : list_first(&queue->waiters);
    }
    for (; link; link = list_next(&queue->waiters, link)) {
        const struct operation *operation = container_of(link, struct operation, link);
        if (operation->batch == command->count && operation->has_position) {
            return operation;
        }
    }
    return NULL;
}

void command_counts(const struct command *command, uint32_t *key_count_out, uint32_t *argument_count_out) {
    if (command->kind == COMMAND_INSPECT) {
        *key_count_out = command->operation->question->key_count;
        *argument_count_out = command->operation->question->argument_count;
        return;
    }
    if (command->entries) {
        count_set(command, key_count_out, argument_count_out);
        return;
    }
    const struct command_template *template = template_of_command(command);
    uint32_t entries = command->kind == COMMAND_RENEW ? command->batch_count : 1;
    *key_count_out = entries * (uint32_t)strlen(template->keys);
    *argument_count_out = entries * (uint32_t)strlen(template->arguments) + count_values(command);
    if (command->kind == COMMAND_REFRESH) {
        for (const struct operation *waiter = NULL; (waiter = refresh_next(command, waiter)) != NULL;) {
            ++*argument_count_out;
        }
    }
    if (command->amount > 1 && strchr(template->arguments, 'i')) {
        *argument_count_out += (uint32_t)command->amount - 1;
    }
}

/* Writes the decimal digits of a number. Returns their count. */
static size_t decimal(uint64_t number, char text[20]) {
    char reversed[20];
    size_t size = 0;
    do {
        reversed[size++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < size; i++) {
        text[i] = reversed[size - 1 - i];
    }
    return size;
}

size_t owner_text(const struct engine *engine, uint64_t id, char text[REDLATCH_OWNER_SIZE]) {
    memcpy(text, engine->uuid, 36);
    text[36] = ':';
    size_t size = 37 + decimal(id, text + 37);
    text[size] = '\0';
    return size;
}

/* Sets the parts of a prefix and a name, which is in braces unless it contains one: the key is in the slot of the plain
 * name (wire format 1.2). With always_braced it is in braces all the same. */
static void derived_parts(const char *prefix, const struct resource *resource, bool always_braced,
                          struct argument_part parts[4]) {
    bool tagged = !always_braced && memchr(resource->name, '{', resource->name_size) != NULL;
    parts[0] = (struct argument_part){prefix, strlen(prefix)};
    parts[1] = (struct argument_part){"{", tagged ? 0 : 1};
    parts[2] = (struct argument_part){resource->name, resource->name_size};
    parts[3] = (struct argument_part){"}", tagged ? 0 : 1};
}

void channel_parts(const struct resource *resource, struct argument_part parts[4]) {
    const struct kind *kind = kind_of(resource);
    derived_parts(kind->channel_prefix, resource, kind->always_braced, parts);
}

size_t channel_text(const struct engine *engine, const struct subscription *subscription,
                    char channel[CHANNEL_SIZE_MAX]) {
    struct argument_part parts[4];
    channel_parts(subscription->queue->resource, parts);
    size_t size = 0;
    for (int i = 0; i < 4; i++) {
        memcpy(channel + size, parts[i].text, parts[i].size);
        size += parts[i].size;
    }
    if (subscription->waiter) {
        channel[size++] = ':';
        size += owner_text(engine, subscription->waiter, channel + size);
    }
    return size;
}

static void put(struct argument_sink *sink, const char *text, size_t size) {
    struct argument_part part = {text, size};
    sink->append(sink, &part, 1);
}

static void put_number(struct argument_sink *sink, uint64_t number) {
    char text[20];
    size_t size = decimal(number, text);
    put(sink, text, size);
}

static void put_owner(const struct engine *engine, struct argument_sink *sink, uint64_t id) {
    char text[REDLATCH_OWNER_SIZE];
    size_t size = owner_text(engine, id, text);
    put(sink, text, size);
}

static void put_writer(const struct engine *engine, struct argument_sink *sink, uint64_t id) {
    char text[REDLATCH_OWNER_SIZE];
    struct argument_part parts[] = {{text, owner_text(engine, id, text)}, {":write", 6}};
    sink->append(sink, parts, 2);
}

static void put_derived(struct argument_sink *sink, const char *prefix, const struct resource *resource) {
    struct argument_part parts[4];
    derived_parts(prefix, resource, false, parts);
    sink->append(sink, parts, 4);
}

/* Writes the key of the client's heartbeat for a fair lock. */
static void put_heartbeat(const struct engine *engine, struct argument_sink *sink, const struct resource *resource) {
    struct argument_part parts[6];
    derived_parts("redlatch_waiting:", resource, false, parts);
    parts[4] = (struct argument_part){":", 1};
    parts[5] = (struct argument_part){engine->uuid, 36};
    sink->append(sink, parts, 6);
}

/* Writes an argument for the letters that only fair locks have. */
static void write_fair_letter(const struct engine *engine, const struct command *command, char letter,
                              struct argument_sink *sink) {
    switch (letter) {
    case 'Q':
        put_derived(sink, "redisson_lock_queue:", command->resource);
        break;
    case 'Z':
        put_derived(sink, "redisson_lock_timeout:", command->resource);
        break;
    case 'A':
        put_heartbeat(engine, sink, command->resource);
        break;
    case 'p':
        put_number(sink, command->position);
        break;
    case 'v':
        put_number(sink, (uint64_t)command->wait_ms);
        break;
    case 't':
        put_number(sink, (uint64_t)engine->settings.fair_timeout_ms);
        break;
    case 'q':
        put_number(sink, command->leaves);
        break;
    default:
        (void)INVARIANT(NULL, false); /* a letter that command_templates.h does not explain */
    }
}

/* Returns the owner id of RELEASE_OWNER and EXTEND_OWNER. */
static const char *named_owner(const struct command *command) {
    return INVARIANT(NULL, command->operation) ? command->operation->owner_id : ""; /* it is not abandoned */
}

/* Writes the key in which the outcome of an operation is recorded. Only redlatch uses it, so its prefix is our own
 * (wire format 1.5). */
static void put_record(const struct engine *engine, struct argument_sink *sink, const struct command *command) {
    char text[REDLATCH_OWNER_SIZE];
    struct argument_part parts[6];
    derived_parts("redlatch_op:", command->resource, false, parts);
    parts[4] = (struct argument_part){":", 1};
    parts[5] = (struct argument_part){text, owner_text(engine, command->record_key, text)};
    sink->append(sink, parts, 6);
}

/* Writes the timeout key of the nth acquire of a reader, or of the last one that has a key (wire format 2.5). */
static void put_timeout(struct argument_sink *sink, const struct resource *resource, const char *owner, uint64_t nth) {
    char digits[20];
    nth = nth < TIMEOUTS_MAX ? nth : TIMEOUTS_MAX;
    struct argument_part parts[8];
    derived_parts("", resource, false, parts);
    parts[4] = (struct argument_part){":", 1};
    parts[5] = (struct argument_part){owner, strlen(owner)};
    parts[6] = (struct argument_part){":rwlock_timeout:", 16};
    parts[7] = (struct argument_part){digits, decimal(nth, digits)};
    sink->append(sink, parts, 8);
}

/* Writes a timeout key for its letter. Returns false for another letter. */
static bool write_timeout_letter(const struct engine *engine, const struct command *command, char letter,
                                 struct argument_sink *sink) {
    char own[REDLATCH_OWNER_SIZE];
    const char *owner = own;
    uint64_t nth = 1;
    switch (letter) {
    case 'R':
        owner_text(engine, command->id, own);
        break;
    case 'E':
        owner_text(engine, command->id, own);
        nth = command->count;
        break;
    case 'D':
        owner_text(engine, command->id, own);
        nth = (uint64_t)command->count + 1;
        break;
    case 'X':
        owner_text(engine, command->successor, own);
        break;
    case 'B':
        owner = named_owner(command);
        break;
    default:
        return false;
    }
    put_timeout(sink, command->resource, owner, nth);
    return true;
}

/* Writes the key of a permit semaphore's leases: the name, in braces unless it has some itself, and a suffix (wire
 * format 1.2). */
static void put_leases(struct argument_sink *sink, const struct resource *resource) {
    struct argument_part parts[5];
    derived_parts("", resource, false, parts);
    parts[4] = (struct argument_part){":timeout", 8};
    sink->append(sink, parts, 5);
}

static void put_ids(const struct engine *engine, struct argument_sink *sink, const struct command *command) {
    for (uint64_t i = 0; i < (command->amount > 1 ? (uint64_t)command->amount : 1); i++) {
        unsigned char bytes[PERMIT_SIZE];
        permit_bytes(engine, command->id + i, bytes);
        put(sink, (const char *)bytes, sizeof bytes);
    }
}

static void put_channel(struct argument_sink *sink, const struct resource *resource) {
    struct argument_part parts[4];
    channel_parts(resource, parts);
    sink->append(sink, parts, 4);
}

static void put_amount(struct argument_sink *sink, int64_t amount) {
    char text[21] = "-";
    size_t sign = amount < 0;
    size_t size = decimal(amount < 0 ? -(uint64_t)amount : (uint64_t)amount, text + sign);
    put(sink, text, size + sign);
}

/* Writes the owner id of RELEASE_OWNER and EXTEND_OWNER with a suffix. */
static void put_owner_id(struct argument_sink *sink, const struct command *command, const char *added) {
    const char *id = named_owner(command);
    struct argument_part parts[] = {{id, strlen(id)}, {added, strlen(added)}};
    sink->append(sink, parts, 2);
}

/* Writes an argument for the letters of owners. Returns false for another letter. */
static bool write_owner_letter(const struct engine *engine, const struct command *command, char letter,
                               struct argument_sink *sink) {
    switch (letter) {
    case 'o':
        put_owner(engine, sink, command->id);
        return true;
    case 's':
        put_owner(engine, sink, command->successor);
        return true;
    case 'W':
        put_writer(engine, sink, command->id);
        return true;
    case 'S':
        put_writer(engine, sink, command->successor);
        return true;
    case 'h':
        put_owner_id(sink, command, "");
        return true;
    case 'H':
        put_owner_id(sink, command, ":write");
        return true;
    case 'w':
        if (!command->successor) {
            put(sink, "", 0);
            return true;
        }
        put_writer(engine, sink, command->successor);
        return true;
    default:
        return false;
    }
}

/* Writes an argument for the letters of counts and permits. Returns false for another letter. */
static bool write_count_letter(const struct engine *engine, const struct command *command, char letter,
                               struct argument_sink *sink) {
    switch (letter) {
    case 'O':
        put_record(engine, sink, command);
        return true;
    case 'L':
        put_leases(sink, command->resource);
        return true;
    case 'i':
        put_ids(engine, sink, command);
        return true;
    case 'P':
        put(sink, (const char *)command->permit, sizeof command->permit);
        return true;
    case 'e':
        put_number(sink, (uint64_t)record_life_ms(engine, command));
        return true;
    case 'u':
        put_number(sink, command->id);
        return true;
    case 'a':
        put_amount(sink, command->amount);
        return true;
    case 'x':
        put_number(sink, (uint64_t)command->limit);
        return true;
    default:
        return false;
    }
}

/* Returns the kind that a name is watched as: of the kinds whose data are those of a mutex, MUTEX, because watch.lua
 * replies with the kind that it finds. */
static uint8_t watched_kind(const struct resource *resource) {
    return kind_of(resource)->detected_kind == REDLATCH_DETECTED_MUTEX ? REDLATCH_MUTEX : resource->kind;
}

static void write_letter(const struct engine *engine, const struct command *command, char letter,
                         struct argument_sink *sink) {
    switch (letter) {
    case 'N':
        put(sink, command->resource->name, command->resource->name_size);
        break;
    case 'T':
        put_derived(sink, "redisson_lock_token:", command->resource);
        break;
    case 'C':
        put_channel(sink, command->resource);
        break;
    case 'm':
        put(sink, redlatch_kind_name(command->lock_kind), strlen(redlatch_kind_name(command->lock_kind)));
        break;
    case 'b':
        put_derived(sink, "", command->resource);
        break;
    case 'k':
        put_number(sink, watched_kind(command->resource));
        break;
    case 'n':
        put_number(sink, command->count);
        break;
    case 'l':
        put_number(sink, (uint64_t)command->lease_ms);
        break;
    case 'g':
        put_number(sink, command->resource->value_count);
        for (uint32_t i = 0; i < command->resource->value_count; i++) {
            put(sink, command->resource->name + command->resource->name_size + i * GROUP_VALUE_SIZE, GROUP_VALUE_SIZE);
        }
        break;
    case 'f':
        put_number(sink, command->token_from_time);
        break;
    case 'K':
        put(sink, &kind_of_number(command->lock_kind)->member_type, 1);
        break;
    case '0':
    case '1':
    case '2':
        put(sink, &letter, 1);
        break;
    default:
        if (!write_owner_letter(engine, command, letter, sink) && !write_count_letter(engine, command, letter, sink) &&
            !write_timeout_letter(engine, command, letter, sink)) {
            write_fair_letter(engine, command, letter, sink);
        }
    }
}

/* Writes the arguments for all letters but `left_out`, which may be NUL for none. */
static void write_letters_but(const struct engine *engine, const struct command *command, const char *letters,
                              char left_out, struct argument_sink *sink) {
    for (; *letters; letters++) {
        if (*letters != left_out) {
            write_letter(engine, command, *letters, sink);
        }
    }
}

static void write_letters(const struct engine *engine, const struct command *command, const char *letters,
                          struct argument_sink *sink) {
    write_letters_but(engine, command, letters, '\0', sink);
}

/* Writes the entries of a renewal, each as a command of its own would be written. */
static void write_entries(const struct engine *engine, const struct command *command, bool keys,
                          struct argument_sink *sink) {
    for (uint32_t i = 0; i < command->batch_count; i++) {
        const struct renewal *entry = &command->batch[i];
        struct command single = {.resource = entry->name, .id = entry->id, .lease_ms = entry->lease_ms};
        const struct command_template *template = template_of(entry->lock_kind, COMMAND_RENEW);
        write_letters(engine, &single, keys ? template->keys : template->arguments, sink);
    }
}

/* Writes the member types of the entries of an acquire or a release of several names. */
static void put_member_types(const struct command *command, struct argument_sink *sink) {
    char letters[ENTRIES_MAX];
    for (uint32_t i = command->entry_first; i < command->entry_end; i++) {
        const struct entry *entry = &command->entries->entry[i];
        char letter = kind_of_number(entry->lock_kind)->member_type;
        letters[i - command->entry_first] = states_count(command, entry) ? (char)(letter - 'a' + 'A') : letter;
    }
    put(sink, letters, command->entry_end - command->entry_first);
}

/* Writes the entries themselves, each as a command of its own would be written. */
static void write_set(const struct engine *engine, const struct command *command, bool keys,
                      struct argument_sink *sink) {
    struct command single = {0};
    for (uint32_t i = command->entry_first; i < command->entry_end; i++) {
        const struct entry *entry = &command->entries->entry[i];
        single.resource = entry->name;
        single.id = entry->id;
        single.successor = entry->pass;
        single.count = entry->count;
        single.token_from_time = entry->token_from_time;
        const struct command_template *template = template_of(entry->lock_kind, command->kind);
        write_letters_but(engine, &single, keys ? template->keys : template->arguments,
                          states_count(command, entry) ? '\0' : 'n', sink);
    }
}

static void write_question(const struct question *question, struct argument_sink *sink) {
    for (uint32_t i = 0; i < question->key_count + question->argument_count; i++) {
        sink->append(sink, &question->arguments[i], 1);
    }
}

void command_write(const struct engine *engine, const struct command *command, struct argument_sink *sink) {
    if (command->kind == COMMAND_INSPECT) {
        write_question(command->operation->question, sink);
        return;
    }
    if (command->kind == COMMAND_RENEW) {
        write_entries(engine, command, true, sink);
        write_entries(engine, command, false, sink);
        return;
    }
    if (command->entries) {
        write_set(engine, command, true, sink);
        if (command->kind == COMMAND_ACQUIRE_MANY) {
            write_letter(engine, command, 'l', sink);
        }
        put_member_types(command, sink);
        write_set(engine, command, false, sink);
        return;
    }
    const struct command_template *template = template_of_command(command);
    write_letters(engine, command, template->keys, sink);
    write_letters(engine, command, template->arguments, sink);
    if (command->kind == COMMAND_REFRESH) {
        for (const struct operation *waiter = NULL; (waiter = refresh_next(command, waiter)) != NULL;) {
            put_number(sink, waiter->id);
        }
    }
}
