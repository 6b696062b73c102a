/* Random contents of the keys that a script uses.
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "random_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define OURS "11111111-1111-8111-8111-111111111111"
#define PEERS "22222222-2222-8222-8222-222222222222"
#define REDISSONS "33333333-3333-4333-8333-333333333333"

const char *const state_owners[STATE_OWNERS] = {OURS ":1", OURS ":2", PEERS ":1", REDISSONS ":42",
                                                REDISSONS ":42:0f3a"};
const char *const state_values[STATE_VALUES] = {"qwvAS12pR0CgRitaypEjUw", "uxmtuxwbA6v+mqalmQLIOA",
                                                "DqvoYruF5eyLDrILcprmBw"};
const char *const state_permits[STATE_PERMITS] = {"permit-000000001", "permit-000000002", "permit-000000003",
                                                  "0123456789abcdef0123456789abcdef"};

/* splitmix64 */
uint32_t draw_below(struct random_draw *draw, uint32_t bound) {
    draw->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = draw->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((mixed ^ (mixed >> 31)) >> 32) % bound;
}

bool draw_percent(struct random_draw *draw, uint32_t chance) {
    return draw_below(draw, 100) < chance;
}

const char *draw_one(struct random_draw *draw, const char *const *texts, size_t count) {
    return texts[draw_below(draw, (uint32_t)count)];
}

/* Runs a command whose words are separated by blanks. */
__attribute__((format(printf, 2, 3))) static void put(struct keyspace *keyspace, const char *format, ...) {
    char line[512];
    struct redis_text words[16];
    size_t count = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *rest = line, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        words[count++] = redis_text(word);
    }
    struct redis_reply reply = {.kind = REDIS_NIL};
    keyspace_call(keyspace, words, count, &reply);
    redis_reply_free(&reply);
}

static const char *an_owner(struct random_draw *draw) {
    return draw_percent(draw, 40) ? state_owners[0] : state_owners[draw_below(draw, STATE_OWNERS)];
}

static const char *a_count(struct random_draw *draw) {
    return draw_percent(draw, 90) ? DRAW_ONE(draw, "1", "2", "3") : DRAW_ONE(draw, "0", "-1", "99999999999999999999");
}

/* Returns a time around now: past, within a millisecond, or far ahead. */
static int64_t a_time(struct random_draw *draw) {
    static const int64_t distances[] = {-5000, -1, 0, 1, 900, 1000, 5000, 30000, 299999, 300000, 300001, 330000};
    return STATE_NOW + distances[draw_below(draw, sizeof distances / sizeof distances[0])];
}

/* Gives a key a TTL, with this chance in percent. Rarely the key expires right now. */
static void expire(struct random_draw *draw, struct keyspace *keyspace, const char *key, uint32_t chance) {
    if (!draw_percent(draw, chance)) {
        return;
    }
    if (draw_percent(draw, 5)) {
        keyspace_pexpireat(keyspace, redis_text(key), STATE_NOW);
        return;
    }
    put(keyspace, "pexpire %s %s", key, DRAW_ONE(draw, "1", "999", "1000", "1001", "5000", "30000", "60000"));
}

/* Fills a key with data of another type or shape. */
static void fill_otherwise(struct random_draw *draw, struct keyspace *keyspace, const char *key) {
    put(keyspace, DRAW_ONE(draw, "set %s text", "set %s 7", "hset %s field 1", "rpush %s item", "zadd %s 1 member"),
        key);
    expire(draw, keyspace, key, 50);
}

static void fill_hash(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    uint32_t choice = draw_below(draw, 100);
    if (choice < 30) {
        return;
    }
    if (choice < 36) {
        fill_otherwise(draw, keyspace, name);
        return;
    }
    if (choice < 44) {
        put(keyspace, DRAW_ONE(draw, "hset %s field 1", "hset %s field 1 other 2", "hset %s mode read", "hset %s %s x"),
            name, state_owners[0]);
    } else {
        put(keyspace, "hset %s %s %s", name, an_owner(draw), a_count(draw));
        if (draw_percent(draw, 6)) {
            put(keyspace, "hset %s %s 1", name, an_owner(draw));
        }
    }
    expire(draw, keyspace, name, 92);
}

static void fill_tokens(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    char key[128];
    snprintf(key, sizeof key, "redisson_lock_token:{%s}", name);
    if (draw_percent(draw, 55)) {
        put(keyspace, "set %s %s", key,
            DRAW_ONE(draw, "0", "1", "41", "1700000000000000", "1700000000000001", "999999999999999998",
                     "9223372036854775807", "-3", "007", "12x"));
    } else if (draw_percent(draw, 10)) {
        fill_otherwise(draw, keyspace, key);
    }
}

static void fill_signs(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    for (int i = 0; i < 2; i++) {
        char key[128];
        snprintf(key, sizeof key, "redlatch_waiting:{%s}:%s", name, i == 0 ? OURS : PEERS);
        if (draw_percent(draw, 70)) {
            put(keyspace, "set %s 1 px %s", key, DRAW_ONE(draw, "1", "900", "1000"));
        } else if (draw_percent(draw, 8)) {
            fill_otherwise(draw, keyspace, key);
        }
    }
}

static void fill_queue(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    char queue[128];
    char timeouts[128];
    snprintf(queue, sizeof queue, "redisson_lock_queue:{%s}", name);
    snprintf(timeouts, sizeof timeouts, "redisson_lock_timeout:{%s}", name);
    fill_signs(draw, keyspace, name);
    if (draw_percent(draw, 4)) {
        fill_otherwise(draw, keyspace, queue);
    } else {
        uint32_t first = draw_below(draw, STATE_OWNERS);
        for (uint32_t i = 0, count = draw_below(draw, 5); i < count; i++) {
            bool half = draw_percent(draw, 5);
            const char *owner = draw_percent(draw, 3) ? "nobody" : state_owners[(first + i) % STATE_OWNERS];
            if (!half || draw_percent(draw, 50)) {
                put(keyspace, "rpush %s %s", queue, owner);
            }
            if (!half || draw_percent(draw, 50)) {
                put(keyspace, "zadd %s %" PRId64 " %s", timeouts, a_time(draw), owner);
            }
        }
    }
    if (draw_percent(draw, 4)) {
        put(keyspace, "del %s", timeouts);
        fill_otherwise(draw, keyspace, timeouts);
    }
    expire(draw, keyspace, queue, 10);
    expire(draw, keyspace, timeouts, 10);
}

static void fill_plain(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    uint32_t choice = draw_below(draw, 100);
    if (choice >= 94) {
        fill_otherwise(draw, keyspace, name);
    } else if (choice >= 30) {
        put(keyspace, "set %s %s", name, draw_percent(draw, 85) ? an_owner(draw) : DRAW_ONE(draw, "7", "text", "1:2"));
        expire(draw, keyspace, name, 88);
    }
}

/* Fills a reader and the timeout key of each of its acquires. Some keys are missing, or expire right now. */
static void fill_reader(struct random_draw *draw, struct keyspace *keyspace, const char *name, const char *owner) {
    int levels = 1 + (int)draw_below(draw, 3);
    put(keyspace, "hset %s %s %d", name, owner, levels);
    bool endless = draw_percent(draw, 12); /* only the last acquire has a timeout key, which has no TTL */
    if (endless) {
        put(keyspace, "set {%s}:%s:rwlock_timeout:%d 1", name, owner, levels);
    }
    for (int level = 1; level <= levels && !endless; level++) {
        char key[192];
        snprintf(key, sizeof key, "{%s}:%s:rwlock_timeout:%d", name, owner, level);
        if (draw_percent(draw, 80)) {
            put(keyspace, "set %s 1", key);
            expire(draw, keyspace, key, 95);
        } else if (draw_percent(draw, 5)) {
            fill_otherwise(draw, keyspace, key);
        }
    }
}

static void fill_read_write(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    uint32_t choice = draw_below(draw, 100);
    if (choice < 20) {
        return;
    }
    if (choice < 26) {
        fill_otherwise(draw, keyspace, name);
        return;
    }
    if (choice < 32) {
        put(keyspace,
            DRAW_ONE(draw, "hset %s mode read field 1", "hset %s mode 7", "hset %s mode write", "hset %s %s 1"), name,
            state_owners[0]);
    } else if (choice < 66) {
        put(keyspace, "hset %s mode read", name);
        for (uint32_t count = 1 + draw_below(draw, 3); count > 0; count--) {
            fill_reader(draw, keyspace, name, an_owner(draw));
        }
    } else {
        const char *writer = an_owner(draw);
        put(keyspace, "hset %s mode write %s:write %s", name, writer, a_count(draw));
        if (draw_percent(draw, 30)) {
            fill_reader(draw, keyspace, name, draw_percent(draw, 70) ? writer : an_owner(draw));
        }
    }
    expire(draw, keyspace, name, 93);
}

/* A hash that is no lock, with about as many fields as a script reads. */
static void fill_many_fields(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    for (uint32_t i = 0, count = 99 + draw_below(draw, 3); i < count; i++) {
        put(keyspace, "hset %s field%u 1", name, i);
    }
}

static void fill_group(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    if (draw_percent(draw, 8)) {
        fill_otherwise(draw, keyspace, name);
        return;
    }
    if (draw_percent(draw, 2)) {
        fill_many_fields(draw, keyspace, name);
        return;
    }
    for (int i = 0; i < STATE_VALUES; i++) {
        const char *value = state_values[i];
        const char *owner = an_owner(draw);
        if (draw_percent(draw, 60)) {
            bool part = draw_percent(draw, 8);
            if (!part || draw_percent(draw, 50)) {
                put(keyspace, "hset %s %s %s", name, value, owner);
            }
            if (!part || draw_percent(draw, 50)) {
                put(keyspace, "hset %s %s:%s:expire_time %" PRId64, name, value, owner, a_time(draw));
            }
            if (!part || draw_percent(draw, 50)) {
                put(keyspace, "hset %s %s:%s:lock_count %s", name, value, owner, a_count(draw));
            }
        }
        if (draw_percent(draw, 10)) { /* of an owner that is gone */
            owner = an_owner(draw);
            put(keyspace, "hset %s %s:%s:expire_time %" PRId64, name, value, owner, a_time(draw));
            put(keyspace, "hset %s %s:%s:lock_count 2", name, value, owner);
        }
    }
    expire(draw, keyspace, name, 90);
}

static void fill_count(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    uint32_t choice = draw_below(draw, 100);
    if (choice >= 93) {
        fill_otherwise(draw, keyspace, name);
    } else if (choice >= 22) {
        put(keyspace, "set %s %s", name,
            choice >= 35 ? DRAW_ONE(draw, "0", "1", "2", "3", "4", "5", "-1", "-2", "2147483647", "2147483646",
                                    "2147483645", "2147483648")
                         : DRAW_ONE(draw, "007", "12x", "1.5", "99999999999999999999", "9007199254740993"));
        expire(draw, keyspace, name, 15);
    }
}

static void fill_leases(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    char key[128];
    snprintf(key, sizeof key, "{%s}:timeout", name);
    if (draw_percent(draw, 5)) {
        fill_otherwise(draw, keyspace, key);
        return;
    }
    for (int i = 0; i < STATE_PERMITS; i++) {
        if (draw_percent(draw, 45)) {
            int64_t until = draw_percent(draw, 25) ? INT64_C(922337203685477) * 1000 : a_time(draw);
            put(keyspace, "zadd %s %" PRId64 " %s", key, draw_percent(draw, 10) ? INT64_C(922337203685477) : until,
                state_permits[i]);
        }
    }
    if (draw_percent(draw, 4)) {
        put(keyspace, "zadd %s 5 odd", key);
    }
    expire(draw, keyspace, key, 20);
}

static void fill_record(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    char key[128];
    snprintf(key, sizeof key, "redlatch_op:{%s}:" OURS ":1", name);
    if (draw_percent(draw, 4)) {
        fill_otherwise(draw, keyspace, key);
    } else if (draw_percent(draw, 50)) {
        put(keyspace, "set %s %s%s", key, DRAW_ONE(draw, "1:", "2:", "3:", "", "x:"),
            DRAW_ONE(draw, "0", "1", "2", "-1", "undone", "no", ""));
        expire(draw, keyspace, key, 95);
    }
}

/* Fills data that differ from a lock, or from data that are none, by a size or a byte. */
static void fill_nearly(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    static const char digits[] = "1234567890123456789";
    static const int sizes[] = {15, 16, 17, 128, 129};
    char word[192];
    int size = sizes[draw_below(draw, 5)];
    memset(word, 'b', sizeof word);
    word[3] = DRAW_ONE(draw, "b", "+", "/", "=", "_", ":", ".", "-", "!", "~")[0];
    int digit_count = draw_percent(draw, 50) ? 18 : 19;
    switch (draw_below(draw, 7)) {
    case 0:
        put(keyspace, "set %s %.*s", name, size, word);
        break;
    case 1:
        put(keyspace, "set %s %s%.*s", name, draw_percent(draw, 30) ? "-" : "", digit_count - (int)draw_below(draw, 2),
            digits);
        break;
    case 2:
        put(keyspace, "hset %s %s %.*s", name, an_owner(draw), digit_count, digits);
        break;
    case 3:
        put(keyspace, "hset %s mode %s %s%s %s", name, DRAW_ONE(draw, "read", "write", "writes", "reads"),
            an_owner(draw), draw_percent(draw, 50) ? ":write" : "", a_count(draw));
        break;
    case 4:
        put(keyspace, "hset %s mode read %s 1 %s 2 field 1", name, state_owners[0], state_owners[2]);
        break;
    case 5:
        put(keyspace, "set %s %s", name, DRAW_ONE(draw, "0", "2"));
        for (int i = 0; i < STATE_PERMITS; i++) {
            put(keyspace, "zadd {%s}:timeout %" PRId64 " %s", name,
                STATE_NOW + INT64_C(1000000000000) - 1 + draw_below(draw, 3), state_permits[i]);
        }
        break;
    default:
        put(keyspace, "set %s %s", name, DRAW_ONE(draw, OURS ":1", OURS ":1x", REDISSONS ":42", "1234567890123456"));
        break;
    }
    expire(draw, keyspace, name, 75);
}

/* Fills as many owners or values as one reply has, and more. Some hashes have long values. */
static void fill_large(struct random_draw *draw, struct keyspace *keyspace, const char *name) {
    static const int counts[] = {16, 17, 99, 100, 101, 120, 300};
    int count = counts[draw_below(draw, 7)];
    uint32_t choice = draw_below(draw, 100);
    if (choice < 20) {
        static char text[4200];
        memset(text, 'x', sizeof text);
        count = 1 + (int)draw_below(draw, 18);
        for (int i = 0; i < count; i++) {
            char field[64];
            snprintf(field, sizeof field, PEERS ":%d", i);
            keyspace_hset(keyspace, redis_text(name), redis_text(i == 1 ? "mode" : field),
                          i == 1 ? redis_text("read") : (struct redis_text){text, 4000 + 200 * draw_below(draw, 2)});
        }
    } else if (choice < 60) {
        put(keyspace, "hset %s mode read", name);
        for (int i = 0; i < count; i++) {
            put(keyspace, "hset %s %s:%d 1", name, i % 2 ? OURS : PEERS, i);
        }
        put(keyspace, "hset %s %s:write 1", name, state_owners[0]);
    } else {
        for (int i = 0; i < count; i++) {
            const char *owner = draw_percent(draw, 2) ? state_owners[0] : state_owners[2];
            put(keyspace, "hset %s %022d %s %022d:%s:lock_count 1 %022d:%s:expire_time %" PRId64, name, i, owner, i,
                owner, i, owner, STATE_NOW + 1000);
        }
    }
    expire(draw, keyspace, name, 90);
}

void state_fill(struct random_draw *draw, struct keyspace *keyspace, char form, const char *name) {
    switch (form) {
    case 'h':
        fill_hash(draw, keyspace, name);
        break;
    case 't':
        fill_hash(draw, keyspace, name);
        fill_tokens(draw, keyspace, name);
        break;
    case 'f':
        fill_hash(draw, keyspace, name);
        fill_queue(draw, keyspace, name);
        break;
    case 's':
        fill_plain(draw, keyspace, name);
        break;
    case 'w':
        fill_read_write(draw, keyspace, name);
        break;
    case 'g':
        fill_group(draw, keyspace, name);
        break;
    case 'c':
        fill_count(draw, keyspace, name);
        break;
    case 'p':
        fill_count(draw, keyspace, name);
        fill_leases(draw, keyspace, name);
        break;
    case 'i':
        fill_nearly(draw, keyspace, name);
        break;
    case 'l':
        fill_large(draw, keyspace, name);
        break;
    default:
        fill_record(draw, keyspace, name);
        break;
    }
}
