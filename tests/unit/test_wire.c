/* Commands as they are written: scripts, keys, arguments, channels, owners.
 * SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdlib.h>

#include "group.h"
#include "kinds.h"
#include "channels.h"
#include "unit.h"

static const char uuid[] = "01234567-89ab-8def-8123-456789abcdef";

/* Writes each argument as <...>, a NUL byte as a dot. */
struct text_sink {
    struct argument_sink sink;
    char text[600];
    size_t size;
    uint32_t arguments;
};

static void append(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    struct text_sink *text = (struct text_sink *)(void *)sink;
    text->arguments++;
    text->text[text->size++] = '<';
    for (size_t i = 0; i < part_count; i++) {
        for (size_t j = 0; j < parts[i].size; j++) {
            text->text[text->size++] = parts[i].text[j] ? parts[i].text[j] : '.';
        }
    }
    text->text[text->size++] = '>';
    text->text[text->size] = '\0';
}

static struct resource *make_resource(const char *name, size_t size) {
    struct resource *resource = calloc(1, sizeof *resource + size);
    resource->kind = REDLATCH_MUTEX;
    resource->name_size = (uint32_t)size;
    memcpy(resource->name, name, size);
    return resource;
}

static struct engine *test_engine(void) {
    static struct engine engine;
    static struct server server;
    engine.server = &server;
    memcpy(engine.uuid, uuid, 36);
    engine.settings.fair_timeout_ms = 9000;
    return &engine;
}

/* Checks how a command is written, and that it announces as many keys and arguments as it writes. */
static void check_written(const struct command *command, enum script_id script, const char *expected) {
    struct text_sink text = {.sink = {append}};
    uint32_t keys;
    uint32_t arguments;
    command_write(test_engine(), command, &text.sink);
    command_counts(command, &keys, &arguments);
    CHECK_STR(text.text, expected);
    CHECK_EQ_INT(text.arguments, keys + arguments);
    CHECK_EQ_INT(command_script(command), script);
}

static void each_kind_is_written_as_announced(void) {
    struct resource *resource = make_resource("orders", 6);
    struct command command = {.resource = resource, .id = 7, .successor = 8, .lease_ms = 30000, .count = 2};
    command.kind = COMMAND_ACQUIRE;
    check_written(&command, SCRIPT_ACQUIRE, "<orders><01234567-89ab-8def-8123-456789abcdef:7><30000>");
    command.kind = COMMAND_EXTEND;
    check_written(&command, SCRIPT_EXTEND, "<orders><01234567-89ab-8def-8123-456789abcdef:7><30000>");
    command.kind = COMMAND_REENTER;
    check_written(&command, SCRIPT_REENTER, "<orders><01234567-89ab-8def-8123-456789abcdef:7><2><30000>");
    command.kind = COMMAND_RELEASE;
    check_written(&command, SCRIPT_RELEASE,
                  "<orders><01234567-89ab-8def-8123-456789abcdef:7><2><redisson_lock__channel:{orders}>");
    static const char replaced[] = "<orders><01234567-89ab-8def-8123-456789abcdef:7>"
                                   "<01234567-89ab-8def-8123-456789abcdef:8><2><30000>";
    command.kind = COMMAND_HAND_OVER;
    check_written(&command, SCRIPT_HAND_OVER, replaced);
    command.kind = COMMAND_MOVE;
    check_written(&command, SCRIPT_HAND_OVER, replaced);
    command.kind = COMMAND_FORCE;
    check_written(&command, SCRIPT_FORCE_RELEASE, "<orders><redisson_lock__channel:{orders}>");
    command.kind = COMMAND_QUERY;
    check_written(&command, SCRIPT_QUERY, "<orders>");
    command.kind = COMMAND_WATCH;
    static const uint8_t like_mutexes[] = {REDLATCH_MUTEX, REDLATCH_FENCED, REDLATCH_FAIR, REDLATCH_SPIN};
    for (size_t i = 0; i < sizeof like_mutexes; i++) { /* which watch.lua cannot tell apart */
        resource->kind = like_mutexes[i];
        check_written(&command, SCRIPT_WATCH, "<orders><1>");
    }
    free(resource);
}

/* Commands by owner id are those that the owner's own client writes, with the id of that owner. */
static void an_owner_of_any_process_is_named(void) {
#define KEYS_OF_FAIR \
    "<orders><redisson_lock_queue:{orders}><redisson_lock_timeout:{orders}>" \
    "<redlatch_waiting:{orders}:01234567-89ab-8def-8123-456789abcdef>"
    static const struct {
        uint8_t kind;
        enum script_id release;
        const char *released;
        enum script_id extend;
        const char *extended;
    } rows[] = {
        {REDLATCH_MUTEX, SCRIPT_RELEASE, "<orders><u:1><0><redisson_lock__channel:{orders}>", SCRIPT_EXTEND,
         "<orders><u:1><5000>"},
        {REDLATCH_FENCED, SCRIPT_RELEASE, "<orders><u:1><0><redisson_lock__channel:{orders}>", SCRIPT_EXTEND,
         "<orders><u:1><5000>"},
        {REDLATCH_FAIR, SCRIPT_RELEASE_FAIR, KEYS_OF_FAIR "<u:1><0><0><9000><redisson_lock__channel:{orders}>",
         SCRIPT_EXTEND, "<orders><u:1><5000>"},
        {REDLATCH_PLAIN, SCRIPT_RELEASE_PLAIN, "<orders><u:1><redlatch_lock__channel:{orders}>", SCRIPT_EXTEND_PLAIN,
         "<orders><u:1><5000>"},
        {REDLATCH_READ, SCRIPT_RELEASE_READ,
         "<orders><{orders}:u:1:rwlock_timeout:1><u:1><0><redisson_rwlock:{orders}><{orders}>", SCRIPT_EXTEND_READ,
         "<orders><{orders}:u:1:rwlock_timeout:1><u:1><u:1><1><5000><{orders}>"},
        {REDLATCH_WRITE, SCRIPT_RELEASE_WRITE, "<orders><u:1:write><0><redisson_rwlock:{orders}><{orders}>",
         SCRIPT_EXTEND_WRITE, "<orders><u:1:write><u:1:write><1><5000><{orders}>"},
    };
    struct resource *resource = make_resource("orders", 6);
    struct operation operation = {.owner_id = "u:1"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        resource->kind = rows[i].kind;
        struct command command = {
            .resource = resource, .operation = &operation, .lock_kind = rows[i].kind, .lease_ms = 5000};
        command.kind = COMMAND_RELEASE_OWNER;
        check_written(&command, rows[i].release, rows[i].released);
        command.kind = COMMAND_EXTEND_OWNER;
        check_written(&command, rows[i].extend, rows[i].extended);
    }
    free(resource);
}

/* A reader's command declares a timeout key. A node of a cluster that does not have that key then refuses the command
 * before its script runs. */
static void a_reader_declares_its_timeout_keys(void) {
#define OWN(number) "01234567-89ab-8def-8123-456789abcdef:" #number
#define LEVEL(number, level) "<{orders}:" OWN(number) ":rwlock_timeout:" #level ">"
    static const struct {
        uint8_t kind;
        enum script_id script;
        uint32_t count;
        const char *written;
    } rows[] = {
        {COMMAND_ACQUIRE, SCRIPT_ACQUIRE_READ, 1, "<orders>" LEVEL(7, 1) "<" OWN(7) "><5000><>"},
        {COMMAND_REENTER, SCRIPT_REENTER_READ, 3, "<orders>" LEVEL(7, 3) "<" OWN(7) "><3><5000><{orders}>"},
        {COMMAND_REENTER, SCRIPT_REENTER_READ, 2000, "<orders>" LEVEL(7, 1000) "<" OWN(7) "><2000><5000><{orders}>"},
        {COMMAND_RELEASE, SCRIPT_RELEASE_READ, 2,
         "<orders>" LEVEL(7, 3) "<" OWN(7) "><2><redisson_rwlock:{orders}><{orders}>"},
        {COMMAND_EXTEND, SCRIPT_EXTEND_READ, 2, "<orders>" LEVEL(7, 1) "<" OWN(7) "><" OWN(7) "><2><5000><{orders}>"},
    };
    struct resource *resource = make_resource("orders", 6);
    resource->kind = REDLATCH_READ;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command command = {.resource = resource,
                                  .lock_kind = REDLATCH_READ,
                                  .kind = rows[i].kind,
                                  .id = 7,
                                  .count = rows[i].count,
                                  .lease_ms = 5000};
        check_written(&command, rows[i].script, rows[i].written);
    }
    struct command move = {.resource = resource,
                           .lock_kind = REDLATCH_READ,
                           .kind = COMMAND_MOVE,
                           .id = 7,
                           .successor = 8,
                           .count = 2,
                           .lease_ms = 5000};
    check_written(&move, SCRIPT_EXTEND_READ,
                  "<orders>" LEVEL(7, 1) LEVEL(8, 1) "<" OWN(7) "><" OWN(8) "><2><5000><{orders}>");
    free(resource);
}

static void a_fenced_lock_draws_tokens(void) {
    struct resource *resource = make_resource("orders", 6);
    struct command command = {
        .resource = resource, .lock_kind = REDLATCH_FENCED, .id = 7, .successor = 8, .lease_ms = 30000, .count = 1};
    command.kind = COMMAND_ACQUIRE;
    check_written(&command, SCRIPT_ACQUIRE_FENCED,
                  "<orders><redisson_lock_token:{orders}><01234567-89ab-8def-8123-456789abcdef:7><30000><0>");
    command.kind = COMMAND_HAND_OVER;
    command.token_from_time = true;
    check_written(&command, SCRIPT_HAND_OVER_FENCED,
                  "<orders><redisson_lock_token:{orders}><01234567-89ab-8def-8123-456789abcdef:7>"
                  "<01234567-89ab-8def-8123-456789abcdef:8><1><30000><1>");
    command.kind = COMMAND_MOVE;
    check_written(&command, SCRIPT_HAND_OVER,
                  "<orders><01234567-89ab-8def-8123-456789abcdef:7><01234567-89ab-8def-8123-456789abcdef:8><1><30000>");
    free(resource);
}

static void a_fair_lock_has_a_queue_beside_it(void) {
    static const char keys[] = "<orders><redisson_lock_queue:{orders}><redisson_lock_timeout:{orders}>"
                               "<redlatch_waiting:{orders}:01234567-89ab-8def-8123-456789abcdef>";
    static const char owner[] = "<01234567-89ab-8def-8123-456789abcdef:7>";
    static const struct {
        uint8_t kind;
        enum script_id script;
        const char *arguments; /* after the owner */
    } rows[] = {
        {COMMAND_ACQUIRE, SCRIPT_ACQUIRE_FAIR, "<30000><1><500><9000><redisson_lock__channel:{orders}>"},
        {COMMAND_RELEASE, SCRIPT_RELEASE_FAIR, "<1><1><9000><redisson_lock__channel:{orders}>"},
        {COMMAND_HAND_OVER, SCRIPT_HAND_OVER_FAIR,
         "<01234567-89ab-8def-8123-456789abcdef:8><1><30000><9000><redisson_lock__channel:{orders}>"},
        {COMMAND_FORCE, SCRIPT_FORCE_RELEASE_FAIR, "<9000><redisson_lock__channel:{orders}>"},
        {COMMAND_REFRESH, SCRIPT_REFRESH_FAIR, "<9000>"},
    };
    struct resource *resource = make_resource("orders", 6);
    resource->kind = REDLATCH_FAIR;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command command = {.resource = resource,
                                  .lock_kind = REDLATCH_FAIR,
                                  .kind = rows[i].kind,
                                  .id = 7,
                                  .successor = 8,
                                  .lease_ms = 30000,
                                  .count = 1,
                                  .position = POSITION_WANTED,
                                  .wait_ms = 500,
                                  .leaves = true};
        char expected[600];
        bool owned = rows[i].kind != COMMAND_FORCE && rows[i].kind != COMMAND_REFRESH;
        snprintf(expected, sizeof expected, "%s%s%s", keys, owned ? owner : "", rows[i].arguments);
        check_written(&command, rows[i].script, expected);
    }
    free(resource);
}

static void a_waiters_own_channel_is_distinguished_from_its_names(void) {
    static const struct {
        const char *channel;
        uint64_t waiter;
        size_t size;
    } rows[] = {
        {"redisson_lock__channel:{k}:01234567-89ab-8def-8123-456789abcdef:12", 12, 26},
        {"redisson_lock__channel:{k}:11234567-89ab-8def-8123-456789abcdef:12", 0, 66}, /* another client's */
        {"redisson_lock__channel:{k}:01234567-89ab-8def-8123-456789abcdef:", 0, 64},
        {"redisson_lock__channel:{k}:01234567-89ab-8def-8123-456789abcdef:00000000000000000012", 0, 84}, /* 20 digits */
        {"redisson_lock__channel:{k}", 0, 26},
        {"12", 0, 2},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = strlen(rows[i].channel);
        CHECK_EQ_INT(channel_waiter(test_engine(), rows[i].channel, &size), rows[i].waiter);
        CHECK_EQ_INT(size, rows[i].size);
    }
}

static void permits_have_ids_of_sixteen_bytes(void) {
    unsigned char bytes[PERMIT_SIZE];
    struct engine *engine = test_engine();
    engine->last_id = UINT64_C(0x0102030405060708);
    permit_bytes(engine, engine->last_id, bytes);
    static const unsigned char expected[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x8d, 0xef,
                                             0x80, 0x21, 0x46, 0x63, 0x8c, 0xad, 0xca, 0xe7};
    CHECK(memcmp(bytes, expected, sizeof expected) == 0);
    CHECK(permit_number(engine, bytes) == engine->last_id);
    bytes[0] ^= 1;
    CHECK(permit_number(engine, bytes) == 0); /* another client's */
    bytes[0] ^= 1;
    bytes[8] ^= 0x40;
    CHECK(permit_number(engine, bytes) == 0); /* not issued yet */
    engine->last_id = 0;
}

static void what_is_counted_names_its_record(void) {
    struct resource *resource = make_resource("{a}b", 4);
    struct command command = {.server = test_engine()->server,
                              .resource = resource,
                              .id = 9,
                              .record_key = 7,
                              .amount = -2,
                              .kind = COMMAND_CHANGE};
    resource->kind = REDLATCH_SEMAPHORE;
    command.change = SEMAPHORE_ADD;
    check_written(&command, SCRIPT_ADD_SEMAPHORE,
                  "<{a}b><redlatch_op:{a}b:01234567-89ab-8def-8123-456789abcdef:7><30000><9><-2><redisson_sc:{a}b>");
    resource->kind = REDLATCH_LATCH;
    command.change = LATCH_COUNT_DOWN;
    check_written(&command, SCRIPT_COUNT_DOWN,
                  "<{a}b><redlatch_op:{a}b:01234567-89ab-8def-8123-456789abcdef:7><30000><9>"
                  "<redisson_countdownlatch__channel__{{a}b}>");
    struct argument_part names[2];
    static const char channel[] = "redisson_countdownlatch__channel__{x:{a}b}";
    CHECK_EQ_INT(channel_names(channel, sizeof channel - 1, names), 1);
    CHECK(names[0].size == 6 && memcmp(names[0].text, "x:{a}b", 6) == 0);
    free(resource);
}

static void several_permits_are_written_one_after_the_other(void) {
    struct resource *resource = make_resource("n", 1);
    resource->kind = REDLATCH_PERMIT_SEMAPHORE;
    struct command command = {.resource = resource,
                              .lock_kind = REDLATCH_PERMIT_SEMAPHORE,
                              .id = 7,
                              .amount = 3,
                              .limit = 9,
                              .lease_ms = 500,
                              .kind = COMMAND_ACQUIRE};
    uint32_t keys;
    uint32_t arguments;
    struct text_sink text = {.sink = {append}};
    command_counts(&command, &keys, &arguments);
    command_write(test_engine(), &command, &text.sink);
    CHECK_EQ_INT(keys, 2);
    CHECK_EQ_INT(arguments, 6);
    CHECK_EQ_INT(text.arguments, 8);
    CHECK(memcmp(text.text, "<n><{n}:timeout><500><redisson_sc:{n}><9><", 42) == 0);
    free(resource);
}

static void a_plain_lock_has_scripts_of_its_own(void) {
    struct resource *resource = make_resource("orders", 6);
    struct command command = {
        .resource = resource, .lock_kind = REDLATCH_PLAIN, .id = 7, .successor = 8, .lease_ms = 30000, .count = 1};
    resource->kind = REDLATCH_PLAIN;
    command.kind = COMMAND_ACQUIRE;
    check_written(&command, SCRIPT_ACQUIRE_PLAIN, "<orders><01234567-89ab-8def-8123-456789abcdef:7><30000>");
    command.kind = COMMAND_RELEASE;
    check_written(&command, SCRIPT_RELEASE_PLAIN,
                  "<orders><01234567-89ab-8def-8123-456789abcdef:7><redlatch_lock__channel:{orders}>");
    static const char replaced[] = "<orders><01234567-89ab-8def-8123-456789abcdef:7>"
                                   "<01234567-89ab-8def-8123-456789abcdef:8><30000>";
    command.kind = COMMAND_HAND_OVER;
    check_written(&command, SCRIPT_HAND_OVER_PLAIN, replaced);
    command.kind = COMMAND_MOVE;
    check_written(&command, SCRIPT_HAND_OVER_PLAIN, replaced);
    CHECK(!renewed_alike(REDLATCH_PLAIN, REDLATCH_MUTEX) && renewed_alike(REDLATCH_SPIN, REDLATCH_MUTEX));
    free(resource);
}

/* Makes a group lock. The first character of the text is its name, the rest its values. */
static struct resource *make_group(const char *text) {
    struct resource *resource = make_resource(text, strlen(text));
    resource->kind = REDLATCH_GROUP;
    resource->name_size = 1;
    resource->value_count = (uint32_t)(strlen(text + 1) / GROUP_VALUE_SIZE);
    return resource;
}

static void a_group_names_its_values(void) {
    struct resource *group = make_group("gaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbb");
    struct command command = {
        .kind = COMMAND_ACQUIRE, .resource = group, .lock_kind = REDLATCH_GROUP, .id = 7, .lease_ms = 30000};
    check_written(&command, SCRIPT_ACQUIRE_GROUP,
                  "<g><01234567-89ab-8def-8123-456789abcdef:7><30000><2>"
                  "<aaaaaaaaaaaaaaaaaaaaaa><bbbbbbbbbbbbbbbbbbbbbb>");
    struct resource *other = make_group("hcccccccccccccccccccccc");
    struct renewal lines[] = {{.name = group, .id = 1, .lease_ms = 30000, .lock_kind = REDLATCH_GROUP},
                              {.name = other, .id = 2, .lease_ms = 0, .lock_kind = REDLATCH_GROUP}};
    struct command renewal = {.kind = COMMAND_RENEW, .lock_kind = REDLATCH_GROUP, .batch = lines, .batch_count = 2};
    check_written(&renewal, SCRIPT_RENEW_GROUP,
                  "<g><h><01234567-89ab-8def-8123-456789abcdef:1><30000><2>"
                  "<aaaaaaaaaaaaaaaaaaaaaa><bbbbbbbbbbbbbbbbbbbbbb>"
                  "<01234567-89ab-8def-8123-456789abcdef:2><0><1><cccccccccccccccccccccc>");
    free(group);
    free(other);
}

static void a_renewal_names_keys_first_then_owner_and_lease_of_each(void) {
    struct resource *one = make_resource("one", 3);
    struct resource *two = make_resource("{t}wo", 5);
    struct renewal lines[] = {{.name = one, .id = 1, .lease_ms = 30000}, {.name = two, .id = 2, .lease_ms = 0}};
    struct command command = {.kind = COMMAND_RENEW, .batch = lines, .batch_count = 2};
    check_written(&command, SCRIPT_RENEW,
                  "<one><{t}wo><01234567-89ab-8def-8123-456789abcdef:1><30000>"
                  "<01234567-89ab-8def-8123-456789abcdef:2><0>");
    free(one);
    free(two);
}

#define OWNER "01234567-89ab-8def-8123-456789abcdef"

/* Each entry has a member type. A capital letter says that the entry states a hold count. A fenced entry has one more
 * key. */
static void lines_of_several_names_are_written_by_their_forms(void) {
    static const uint8_t kinds[] = {REDLATCH_MUTEX, REDLATCH_FENCED, REDLATCH_PLAIN, REDLATCH_READ, REDLATCH_WRITE};
    enum { COUNT = sizeof kinds };
    struct entries lines = {.entry = {{0}}};
    char name[] = "a";
    for (int i = 0; i < COUNT; i++, name[0]++) {
        uint32_t count = kinds[i] == REDLATCH_PLAIN ? 1 : 2;
        lines.entry[i] = (struct entry){.name = make_resource(name, 1),
                                        .id = 7,
                                        .count = count,
                                        .lock_kind = kinds[i],
                                        .pass = kinds[i] == REDLATCH_READ ? 9 : 0};
        lines.entry[i].name->kind = kind_of_names(kinds[i]);
    }
    struct command command = {
        .kind = COMMAND_ACQUIRE_MANY, .entries = &lines, .entry_count = COUNT, .entry_end = COUNT, .lease_ms = 30000};
    check_written(&command, SCRIPT_ACQUIRE_MANY,
                  "<a><b><redisson_lock_token:{b}><c><d><{d}:" OWNER ":7:rwlock_timeout:2><e><30000><MFpRW><" OWNER
                  ":7><2><" OWNER ":7><2><0>"
                  "<" OWNER ":7><" OWNER ":7><2><{d}><" OWNER ":9:write><" OWNER ":7:write><2><{e}>");
    for (int i = 0; i < COUNT; i++) {
        lines.entry[i].count = 0;
    }
    command.kind = COMMAND_RELEASE_MANY;
    check_written(&command, SCRIPT_RELEASE_MANY,
                  "<a><b><c><d><{d}:" OWNER ":7:rwlock_timeout:1><e><mfprw><" OWNER ":7><redisson_lock__channel:{a}>"
                  "<" OWNER ":7><redisson_lock__channel:{b}><" OWNER ":7><redlatch_lock__channel:{c}>"
                  "<" OWNER ":7><redisson_rwlock:{d}><{d}><" OWNER ":7:write><redisson_rwlock:{e}><{e}>");
    for (int i = 0; i < COUNT; i++) {
        free(lines.entry[i].name);
    }
}

/* The script checks whether the lock could be granted to an owner that never exists. */
static void kinds_without_a_watch_of_their_own_check_one_entry(void) {
    struct resource *resource = make_resource("orders", 6);
    struct command command = {.kind = COMMAND_WATCH, .lock_kind = REDLATCH_PLAIN, .resource = resource};
    resource->kind = REDLATCH_PLAIN;
    check_written(&command, SCRIPT_ACQUIRE_MANY, "<orders><0><p><" OWNER ":0>");
    resource->kind = command.lock_kind = REDLATCH_READ;
    check_written(&command, SCRIPT_ACQUIRE_MANY,
                  "<orders><{orders}:" OWNER ":0:rwlock_timeout:1><0><r><" OWNER ":0><{orders}><>");
    free(resource);
}

static void names_are_sent_byte_for_byte(void) {
    struct resource *resource = make_resource("a\0\r\n\xff", 5);
    struct command command = {.kind = COMMAND_FORCE, .resource = resource};
    check_written(&command, SCRIPT_FORCE_RELEASE, "<a.\r\n\xff><redisson_lock__channel:{a.\r\n\xff}>");
    free(resource);
}

static void owners_are_uuid_and_number(void) {
    char text[REDLATCH_OWNER_SIZE];
    CHECK_EQ_INT(owner_text(test_engine(), 0, text), 38);
    CHECK_STR(text, "01234567-89ab-8def-8123-456789abcdef:0");
    CHECK_EQ_INT(owner_text(test_engine(), UINT64_MAX, text), 57);
    CHECK_STR(text, "01234567-89ab-8def-8123-456789abcdef:18446744073709551615");
}

/* Joins the parts of a name's channel. Returns the length. */
static size_t join_channel(const char *name, size_t size, char *channel) {
    struct argument_part parts[4];
    size_t length = 0;
    struct resource *resource = make_resource(name, size);
    channel_parts(resource, parts);
    for (int i = 0; i < 4; i++) {
        memcpy(channel + length, parts[i].text, parts[i].size);
        length += parts[i].size;
    }
    channel[length] = '\0';
    CHECK(channel_is_of(resource, channel, length));
    CHECK(!channel_is_of(resource, channel, length - 1));
    CHECK(!channel_is_of(resource, channel, length + 1));
    free(resource);
    return length;
}

static bool serves(const char *channel, size_t channel_size, const char *name, size_t size) {
    struct argument_part names[2];
    size_t count = channel_names(channel, channel_size, names);
    for (size_t i = 0; i < count; i++) {
        if (names[i].size == size && memcmp(names[i].text, name, size) == 0) {
            return true;
        }
    }
    return false;
}

static void channels_follow_the_format(void) {
    static const struct {
        const char *name;
        const char *channel;
    } rows[] = {
        {"k", "redisson_lock__channel:{k}"},         {"{a}:b", "redisson_lock__channel:{a}:b"},
        {"x{y}z", "redisson_lock__channel:x{y}z"},   {"a{b", "redisson_lock__channel:a{b"},
        {"a{}b", "redisson_lock__channel:a{}b"},     {"a}", "redisson_lock__channel:{a}}"},
        {"{a}{b}", "redisson_lock__channel:{a}{b}"},
    };
    char channel[128];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = join_channel(rows[i].name, strlen(rows[i].name), channel);
        CHECK_STR(channel, rows[i].channel);
        CHECK(serves(channel, size, rows[i].name, strlen(rows[i].name)));
    }
}

static void binary_names_come_back_from_their_channel(void) {
    static const char name[] = {'a', '\0', '}', '\n', '\xff'};
    char channel[128];
    size_t size = join_channel(name, sizeof name, channel);
    CHECK(serves(channel, size, name, sizeof name));
}

static void a_name_and_its_hash_tag_share_a_channel(void) {
    char channel[128];
    struct argument_part names[2];
    size_t size = join_channel("{a}", 3, channel);
    CHECK(serves(channel, size, "a", 1) && serves(channel, size, "{a}", 3));
    CHECK_EQ_INT(channel_names(channel, size, names), 2);
    size = join_channel("{a}b", 4, channel);
    CHECK_EQ_INT(channel_names(channel, size, names), 1);
}

static void what_names_nothing_serves_nobody(void) {
    struct argument_part names[2];
    CHECK_EQ_INT(channel_names("no colon", 8, names), 0);
    CHECK_EQ_INT(channel_names("redisson_lock__channel:", 23, names), 0);
    CHECK_EQ_INT(channel_names("", 0, names), 0);
    CHECK_EQ_INT(channel_names("redisson_lock__channel:{}", 25, names), 1); /* the name {}: an empty name is none */
    CHECK_EQ_INT(names[0].size, 2);
}

int main(void) {
    RUN(each_kind_is_written_as_announced);
    RUN(an_owner_of_any_process_is_named);
    RUN(a_reader_declares_its_timeout_keys);
    RUN(a_fenced_lock_draws_tokens);
    RUN(a_fair_lock_has_a_queue_beside_it);
    RUN(a_waiters_own_channel_is_distinguished_from_its_names);
    RUN(permits_have_ids_of_sixteen_bytes);
    RUN(what_is_counted_names_its_record);
    RUN(several_permits_are_written_one_after_the_other);
    RUN(a_plain_lock_has_scripts_of_its_own);
    RUN(a_group_names_its_values);
    RUN(a_renewal_names_keys_first_then_owner_and_lease_of_each);
    RUN(lines_of_several_names_are_written_by_their_forms);
    RUN(kinds_without_a_watch_of_their_own_check_one_entry);
    RUN(names_are_sent_byte_for_byte);
    RUN(owners_are_uuid_and_number);
    RUN(channels_follow_the_format);
    RUN(binary_names_come_back_from_their_channel);
    RUN(a_name_and_its_hash_tag_share_a_channel);
    RUN(what_names_nothing_serves_nobody);
    return unit_done();
}
