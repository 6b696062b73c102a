/* The topology of a cluster: replies to CLUSTER SLOTS of every shape, and redirections.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <hiredis.h>
#include <stdarg.h>

#include "failing_allocation.h"
#include "redlatch.h"
#include "unit.h"

static const struct endpoint source = {"seed.example", 7000};
static const struct address_map no_map;
static struct topology topology;

/* ------------------------------------------------------------------------------------------------------ replies -- */

static char bytes[1 << 21];
static size_t used;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)vsnprintf(bytes + used, sizeof bytes - used, format, arguments);
    va_end(arguments);
    CHECK(used < sizeof bytes);
}

/* Begins a reply of `count` ranges. */
static void say_ranges(int count) {
    used = 0;
    say("*%d\r\n", count);
}

/* Writes a text, or nil for NULL. */
static void say_text(const char *text) {
    if (text) {
        say("$%zu\r\n%s\r\n", strlen(text), text);
    } else {
        say("$-1\r\n");
    }
}

/* Writes a node as Redis before 7.0 does. */
static void say_node(const char *host, int port) {
    say("*3\r\n");
    say_text(host);
    say(":%d\r\n$3\r\nids\r\n", port);
}

static void say_range(int first, int last, const char *host, int port) {
    say("*3\r\n:%d\r\n:%d\r\n", first, last);
    say_node(host, port);
}

/* Reads the reply that was written. Returns the status. */
static int read_with(const struct address_map *map) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    CHECK_EQ_INT(redisReaderFeed(reader, bytes, used), REDIS_OK);
    CHECK_EQ_INT(redisReaderGetReply(reader, &reply), REDIS_OK);
    CHECK(reply != NULL && reader->pos == reader->len);
    int status = reply ? topology_read(&topology, reply, &source, map) : REDLATCH_INTERNAL;
    freeReplyObject(reply);
    redisReaderFree(reader);
    return status;
}

static int read_all(void) {
    return read_with(&no_map);
}

static void check_master(int slot, const char *host, int port) {
    CHECK(topology.master_of[slot] < topology.count);
    CHECK_STR(topology.masters[topology.master_of[slot]].host, host);
    CHECK_EQ_INT(topology.masters[topology.master_of[slot]].port, port);
}

/* Reads a topology that a bad reply must not change. */
static void begin(void) {
    say_ranges(1);
    say_range(0, SLOT_COUNT - 1, "before", 1);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
}

static void check_unchanged(void) {
    CHECK_EQ_INT(topology.count, 1);
    check_master(0, "before", 1);
    check_master(SLOT_COUNT - 1, "before", 1);
}

static void end(void) {
    topology_free(&topology);
    CHECK(topology.masters == NULL && topology.count == 0 && topology.room == 0);
}

/* ------------------------------------------------------------------------------------------------- good replies -- */

static void ranges_have_masters_and_replicas(void) {
    begin();
    say_ranges(3);
    say_range(0, 5460, "10.0.0.1", 7001);
    say("*5\r\n:5461\r\n:10922\r\n");
    say_node("10.0.0.2", 7002);
    say_node("10.0.0.5", 7005);
    say_node("10.0.0.6", 7006);
    say_range(10923, SLOT_COUNT - 1, "::1", 7003);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, 3); /* replicas serve nothing */
    check_master(0, "10.0.0.1", 7001);
    check_master(5460, "10.0.0.1", 7001);
    check_master(5461, "10.0.0.2", 7002);
    check_master(10922, "10.0.0.2", 7002);
    check_master(10923, "::1", 7003);
    check_master(SLOT_COUNT - 1, "::1", 7003);
    end();
}

/* Two servers on one host, and two hosts with one port, are different. */
static void a_master_is_a_host_with_a_port(void) {
    say_ranges(4);
    say_range(0, 0, "one", 1);
    say_range(1, 1, "one", 2);
    say_range(2, 2, "two", 1);
    say_range(3, 3, "one", 1);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, 3);
    check_master(3, "one", 1);
    CHECK_EQ_INT(topology.master_of[0], topology.master_of[3]);
    end();
}

static void each_slot_may_be_a_range(void) {
    say_ranges(SLOT_COUNT);
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        say_range(slot, slot, slot % 2 ? "odd" : "even", 6379);
    }
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, 2);
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        check_master(slot, slot % 2 ? "odd" : "even", 6379);
    }
    end();
}

static void slots_may_be_nobodys(void) {
    begin();
    say_ranges(2);
    say_range(100, 199, "a", 1);
    say_range(201, 201, "b", 2);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    const int nobodys[] = {0, 99, 200, 202, SLOT_COUNT - 1};
    for (size_t i = 0; i < sizeof nobodys / sizeof nobodys[0]; i++) {
        CHECK_EQ_INT(topology.master_of[nobodys[i]], NO_MASTER);
    }
    check_master(100, "a", 1);
    check_master(199, "a", 1);
    check_master(201, "b", 2);
    end();
}

static void a_reply_without_masters_is_refused(void) {
    begin();
    say_ranges(0); /* of a node that has joined no cluster */
    CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
    check_unchanged();
    say_ranges(2);
    say_range(0, 0, "?", 1);
    say_range(1, 1, "?", 2);
    CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
    check_unchanged();
    end();
}

static void the_last_range_of_a_slot_counts(void) {
    say_ranges(2);
    say_range(0, 10, "a", 1);
    say_range(5, 15, "b", 1);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    check_master(4, "a", 1);
    check_master(5, "b", 1);
    check_master(15, "b", 1);
    end();
}

/* The host is that of the source, the port that of the node. */
static void a_node_without_a_host_is_where_the_source_is(void) {
    say_ranges(3);
    say_range(0, 0, NULL, 7001);
    say_range(1, 1, "", 7002);
    say_range(2, 2, NULL, 7001);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, 2);
    check_master(0, "seed.example", 7001);
    check_master(1, "seed.example", 7002);
    end();
}

/* Writes a node with metadata, as Redis 7.0 and later do. */
static void say_node_with(const char *host, const char *metadata) {
    say("*3\r\n:0\r\n:0\r\n*4\r\n");
    say_text(host);
    say(":7001\r\n$3\r\nids\r\n%s", metadata);
}

static void metadata_is_read_only_without_a_host_name(void) {
    static const struct {
        const char *host;
        const char *metadata;
        const char *expected; /* NULL: nothing says where the node is */
    } rows[] = {
        {"node.example", "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n", "node.example"},
        {"10.0.0.1", "*2\r\n$8\r\nhostname\r\n$4\r\nname\r\n", "10.0.0.1"},
        {"10.0.0.1", "*0\r\n", "10.0.0.1"},
        {"10.0.0.1", ":1\r\n", "10.0.0.1"},
        {NULL, "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n", "seed.example"},
        {"?", "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n", "10.0.0.9"},
        {"?", "*4\r\n$4\r\nzone\r\n$2\r\nip\r\n$2\r\nip\r\n$8\r\n10.0.0.8\r\n", "10.0.0.8"},
        {"?", "*2\r\n$2\r\nip\r\n$0\r\n\r\n", "seed.example"},
        {"?", "*2\r\n$2\r\nip\r\n$-1\r\n", NULL},
        {"?", "*2\r\n$2\r\nip\r\n:1\r\n", NULL},
        {"?", "*2\r\n:1\r\n$2\r\nip\r\n", NULL},
        {"?", "*1\r\n$2\r\nip\r\n", NULL},
        {"?", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nip\r\n", NULL},
        {"?", "*0\r\n", NULL},
        {"?", "$2\r\nip\r\n", NULL},
        {"?", "$-1\r\n", NULL},
        {"??", "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n", "??"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        say_ranges(1);
        say_node_with(rows[i].host, rows[i].metadata);
        CHECK_EQ_INT(read_all(), rows[i].expected ? REDLATCH_OK : REDLATCH_PROTOCOL);
        if (rows[i].expected) {
            CHECK_EQ_INT(topology.count, 1);
            check_master(0, rows[i].expected, 7001);
        }
    }
    say_ranges(2); /* the other ranges count all the same */
    say_range(0, 0, "?", 7001);
    say_range(1, 1, "a", 1);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    CHECK_EQ_INT(topology.master_of[0], NO_MASTER);
    check_master(1, "a", 1);
    end();
}

/* The host of the source is translated, too. Two addresses may be translated to the same one. */
static void addresses_are_translated(void) {
    struct address_map map = {0};
    bool no_memory;
    CHECK(address_map_parse(&map, "10.0.0.1:7001=public:1,10.0.0.2=public:1,seed.example:9=other", &no_memory));
    say_ranges(4);
    say_range(0, 0, "10.0.0.1", 7001);
    say_range(1, 1, "10.0.0.1", 7002);
    say_range(2, 2, "10.0.0.2", 7003);
    say_range(3, 3, NULL, 9);
    CHECK_EQ_INT(read_with(&map), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, 3);
    check_master(0, "public", 1);
    check_master(1, "10.0.0.1", 7002);
    check_master(2, "public", 1);
    check_master(3, "other", 9);
    address_map_free(&map);
    end();
}

/* --------------------------------------------------------------------------------------------------- bad replies -- */

/* The parts of a reply of one range. */
enum part { PART_ALL, PART_RANGE, PART_FIRST, PART_LAST, PART_NODE, PART_HOST, PART_PORT, PARTS };

/* Writes a reply in which one part is replaced by `other`. */
static void say_with(enum part part, const char *other) {
    used = 0;
    const char *const leaves[PARTS] = {
        [PART_FIRST] = ":0\r\n", [PART_LAST] = ":9\r\n", [PART_HOST] = "$1\r\nh\r\n", [PART_PORT] = ":7001\r\n"};
    const char *text[PARTS];
    for (int i = 0; i < PARTS; i++) {
        text[i] = i == (int)part ? other : leaves[i];
    }
    if (part == PART_ALL) {
        say("%s", other);
    } else if (part == PART_RANGE) {
        say("*1\r\n%s", other);
    } else if (part == PART_NODE) {
        say("*1\r\n*3\r\n%s%s%s", text[PART_FIRST], text[PART_LAST], other);
    } else {
        say("*1\r\n*3\r\n%s%s*3\r\n%s%s$2\r\nid\r\n", text[PART_FIRST], text[PART_LAST], text[PART_HOST],
            text[PART_PORT]);
    }
}

static void a_part_of_another_type_is_refused(void) {
    static const char *const others[] = {":1\r\n", "$1\r\n1\r\n", "$-1\r\n",     "*-1\r\n",
                                         "*0\r\n", "+x\r\n",      "-ERR no\r\n", "*1\r\n:1\r\n"};
    int refused = 0;
    begin();
    for (int part = 0; part < PARTS; part++) {
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            bool number = others[i][0] == ':';
            bool nil = others[i][1] == '-';
            bool text = others[i][0] == '$';
            bool right = part == PART_HOST ? nil || text : part >= PART_FIRST && part != PART_NODE && number;
            if (right) {
                continue;
            }
            say_with((enum part)part, others[i]);
            CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
            check_unchanged();
            refused++;
        }
    }
    CHECK_EQ_INT(refused, PARTS * 8 - 3 - 3);
    end();
}

static void what_is_too_short_is_refused(void) {
    static const char *const replies[] = {
        "*1\r\n*2\r\n:0\r\n:9\r\n",                              /* no master */
        "*1\r\n*3\r\n:0\r\n:9\r\n*1\r\n$1\r\nh\r\n",             /* no port */
        "*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n:7001\r\n$1\r\nh\r\n",    /* in another order */
        "*2\r\n*3\r\n:0\r\n:9\r\n*2\r\n$1\r\nh\r\n:1\r\n*0\r\n", /* the second range is empty */
    };
    begin();
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        used = 0;
        say("%s", replies[i]);
        CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
        check_unchanged();
    }
    used = 0;
    say("*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n$1\r\nh\r\n:1\r\n"); /* Redis before 4.0: no id */
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    check_master(9, "h", 1);
    end();
}

static void numbers_out_of_range_are_refused(void) {
    static const struct {
        const char *first, *last, *port;
        int status;
    } rows[] = {
        {"0", "16383", "1", REDLATCH_OK},
        {"16383", "16383", "65535", REDLATCH_OK},
        {"-1", "0", "1", REDLATCH_PROTOCOL},
        {"0", "16384", "1", REDLATCH_PROTOCOL},
        {"16384", "16384", "1", REDLATCH_PROTOCOL},
        {"2", "1", "1", REDLATCH_PROTOCOL},
        {"4294967296", "4294967297", "1", REDLATCH_PROTOCOL},
        {"0", "9223372036854775807", "1", REDLATCH_PROTOCOL},
        {"-9223372036854775808", "0", "1", REDLATCH_PROTOCOL},
        {"0", "0", "0", REDLATCH_PROTOCOL},
        {"0", "0", "-1", REDLATCH_PROTOCOL},
        {"0", "0", "65536", REDLATCH_PROTOCOL},
        {"0", "0", "4294967297", REDLATCH_PROTOCOL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin();
        used = 0;
        say("*1\r\n*3\r\n:%s\r\n:%s\r\n*3\r\n$1\r\nh\r\n:%s\r\n$2\r\nid\r\n", rows[i].first, rows[i].last,
            rows[i].port);
        CHECK_EQ_INT(read_all(), rows[i].status);
        if (rows[i].status != REDLATCH_OK) {
            check_unchanged();
        }
    }
    end();
}

static void hosts_are_checked(void) {
    char host[ENDPOINT_HOST_SIZE + 1];
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    begin();
    say_ranges(1);
    say_range(0, 0, host, 1);
    CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
    say_ranges(1);
    say_range(0, 0, "a b", 1);
    CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
    say_ranges(1);
    say_node_with("?", "*2\r\n$2\r\nip\r\n$3\r\na\tb\r\n");
    CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
    check_unchanged();
    host[ENDPOINT_HOST_SIZE - 1] = '\0';
    say_ranges(1);
    say_range(0, 0, host, 1);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    check_master(0, host, 1);
    end();
}

static void say_masters(int count) {
    say_ranges(count);
    for (int i = 0; i < count; i++) {
        say_range(i, i, "h", i + 1);
    }
}

static void masters_are_bounded(void) {
    say_masters(TOPOLOGY_MASTERS_MAX);
    CHECK_EQ_INT(read_all(), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, TOPOLOGY_MASTERS_MAX);
    check_master(TOPOLOGY_MASTERS_MAX - 1, "h", TOPOLOGY_MASTERS_MAX);
    CHECK_EQ_INT(topology.master_of[TOPOLOGY_MASTERS_MAX], NO_MASTER);
    begin();
    say_masters(TOPOLOGY_MASTERS_MAX + 1);
    CHECK_EQ_INT(read_all(), REDLATCH_PROTOCOL);
    check_unchanged();
    end();
}

/* The topology stays as it is, whichever allocation fails. */
static void without_memory_nothing_changes(void) {
    int failures = 0;
    begin();
    say_masters(20);
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    CHECK_EQ_INT(redisReaderFeed(reader, bytes, used), REDIS_OK);
    CHECK_EQ_INT(redisReaderGetReply(reader, &reply), REDIS_OK);
    for (;; failures++) {
        failing_arm(failures + 1);
        int status = topology_read(&topology, reply, &source, &no_map);
        if (!failing_disarm()) {
            CHECK_EQ_INT(status, REDLATCH_OK);
            break;
        }
        CHECK_EQ_INT(status, REDLATCH_NO_MEMORY);
        check_unchanged();
    }
    CHECK_EQ_INT(failures, 4); /* the topology, and room for 8, 16 and 32 masters */
    CHECK_EQ_INT(topology.count, 20);
    freeReplyObject(reply);
    redisReaderFree(reader);
    end();
}

/* -------------------------------------------------------------------------------------------------- redirections -- */

static bool redirected(const char *text, const struct address_map *map, uint16_t *slot, struct endpoint *endpoint) {
    return redirect_read(text, strlen(text), &source, map, slot, endpoint);
}

static void redirections_are_read(void) {
    static const struct {
        const char *text;
        const char *host;
        int slot;
        int port;
    } rows[] = {
        {"MOVED 3999 127.0.0.1:6381", "127.0.0.1", 3999, 6381},
        {"ASK 0 node.example:1", "node.example", 0, 1},
        {"MOVED 16383 ::1:65535", "::1", 16383, 65535},
        {"ASK 12 2001:db8::7:6379", "2001:db8::7", 12, 6379},
        {"MOVED 3999 :6381", "seed.example", 3999, 6381}, /* the sender does not know the host */
        {"MOVED 007 h:0080", "h", 7, 80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint16_t slot = 0;
        struct endpoint endpoint = {"", 0};
        CHECK(redirected(rows[i].text, &no_map, &slot, &endpoint));
        CHECK_EQ_INT(slot, rows[i].slot);
        CHECK_STR(endpoint.host, rows[i].host);
        CHECK_EQ_INT(endpoint.port, rows[i].port);
    }
}

static void what_is_no_redirection(void) {
    static const char *const texts[] = {
        "",
        "MOVED",
        "MOVED ",
        "ASK ",
        "MOVED 1",
        "MOVED 1 ",
        "MOVED 1 :",
        "MOVED 1 h",
        "MOVED 1 h:",
        "MOVED 1 6381",
        "MOVED h:1",
        "MOVED  1 h:1",
        "MOVED 1  h:1",
        "MOVED 1 h:1 ",
        "MOVED 1 h:1 more",
        "MOVED 1 h:1x",
        "MOVED x h:1",
        "MOVED 1x h:1",
        "MOVED -1 h:1",
        "MOVED 16384 h:1",
        "MOVED 65536 h:1",
        "MOVED 18446744073709551616 h:1",
        "MOVED 1 h:0",
        "MOVED 1 h:-1",
        "MOVED 1 h:65536",
        "MOVED 1 h:4294967297",
        "MOVED 1 ?:6381", /* the node has no host name, and no address is given */
        "MOVED 1 a\tb:1",
        "moved 1 h:1",
        "MOVEDX 1 h:1",
        "ASKING 1 h:1",
        "TRYAGAIN 1 h:1",
        "ERR MOVED 1 h:1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint16_t slot = 77;
        struct endpoint endpoint;
        CHECK(!redirected(texts[i], &no_map, &slot, &endpoint));
        CHECK_EQ_INT(slot, 77);
    }
}

/* The text of a reply ends where its size says. */
static void a_redirection_ends_with_its_size(void) {
    static const char text[] = "MOVED 1 h:63819";
    uint16_t slot;
    struct endpoint endpoint;
    CHECK(redirect_read(text, sizeof text - 2, &source, &no_map, &slot, &endpoint));
    CHECK_EQ_INT(endpoint.port, 6381);
    for (size_t size = 0; size < sizeof "MOVED 1 h:" - 1; size++) {
        CHECK(!redirect_read(text, size, &source, &no_map, &slot, &endpoint));
    }
    CHECK(!redirect_read("MOVED 1 h\0:1", 12, &source, &no_map, &slot, &endpoint));
}

static void a_long_host_is_no_redirection(void) {
    char text[ENDPOINT_HOST_SIZE + 20];
    uint16_t slot;
    struct endpoint endpoint;
    for (int size = ENDPOINT_HOST_SIZE - 1; size <= ENDPOINT_HOST_SIZE; size++) {
        snprintf(text, sizeof text, "MOVED 1 %0*d:1", size, 0);
        CHECK_EQ_INT(redirected(text, &no_map, &slot, &endpoint), size < ENDPOINT_HOST_SIZE);
    }
}

static void redirections_are_translated(void) {
    struct address_map map = {0};
    bool no_memory;
    uint16_t slot;
    struct endpoint endpoint;
    CHECK(address_map_parse(&map, "10.0.0.1=public,seed.example:9=other:10", &no_memory));
    CHECK(redirected("MOVED 1 10.0.0.1:7001", &map, &slot, &endpoint));
    CHECK_STR(endpoint.host, "public");
    CHECK_EQ_INT(endpoint.port, 7001);
    CHECK(redirected("ASK 1 :9", &map, &slot, &endpoint));
    CHECK_STR(endpoint.host, "other");
    CHECK_EQ_INT(endpoint.port, 10);
    address_map_free(&map);
}

/* A redirection is newer than the reply to a request for the topology that was sent before it. */
static void a_redirection_outdates_the_reply_under_way(void) {
    topology_requested(&topology);
    CHECK(!topology_is_outdated(&topology, 0));
    static const uint16_t slots[] = {0, 9, 16383};
    for (int i = 0; i < 3; i++) {
        topology_redirected(&topology, slots[i]);
    }
    say_ranges(1);
    say_range(0, 16383, "a", 1);
    CHECK_EQ_INT(read_with(&no_map), REDLATCH_OK);
    int outdated = 0;
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        outdated += topology_is_outdated(&topology, (uint16_t)slot);
    }
    CHECK_EQ_INT(outdated, 3);
    CHECK(topology_is_outdated(&topology, 9) && topology_is_outdated(&topology, 16383));
    topology_requested(&topology);
    CHECK(!topology_is_outdated(&topology, 0) && !topology_is_outdated(&topology, 16383));
}

int main(void) {
    RUN(ranges_have_masters_and_replicas);
    RUN(a_master_is_a_host_with_a_port);
    RUN(each_slot_may_be_a_range);
    RUN(slots_may_be_nobodys);
    RUN(a_reply_without_masters_is_refused);
    RUN(the_last_range_of_a_slot_counts);
    RUN(a_node_without_a_host_is_where_the_source_is);
    RUN(metadata_is_read_only_without_a_host_name);
    RUN(addresses_are_translated);
    RUN(a_part_of_another_type_is_refused);
    RUN(what_is_too_short_is_refused);
    RUN(numbers_out_of_range_are_refused);
    RUN(hosts_are_checked);
    RUN(masters_are_bounded);
    RUN(without_memory_nothing_changes);
    RUN(redirections_are_read);
    RUN(what_is_no_redirection);
    RUN(a_redirection_ends_with_its_size);
    RUN(a_long_host_is_no_redirection);
    RUN(redirections_are_translated);
    RUN(a_redirection_outdates_the_reply_under_way);
    return unit_done();
}
