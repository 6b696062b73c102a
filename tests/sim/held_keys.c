/* Who holds a name, as the keys of one server say.
 * SPDX-License-Identifier: Apache-2.0 */
#include "held_keys.h"

#include <stdio.h>

#include "sim_random.h"
#include "wire.h"

bool held_parse(struct redis_text text, uint32_t clients, struct server_hold *hold) {
    if (text.size < 38 || text.bytes[36] != ':') {
        return false;
    }
    hold->client = (uint32_t)(text.bytes[0] - '0');
    hold->id = 0;
    for (size_t i = 37; i < text.size && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++) {
        hold->id = hold->id * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    return hold->client < clients;
}

int64_t held_until(struct keyspace *keyspace, const char *key) {
    return (keyspace_time(keyspace) + keyspace_pttl(keyspace, redis_text(key)) + 1) * MILLISECOND;
}

static int64_t reader_end(struct keyspace *keyspace, const char *name, struct redis_text owner, int64_t count) {
    int64_t end = 0;
    for (int64_t nth = 1; nth <= count; nth++) {
        char key[128];
        snprintf(key, sizeof key, "{%s}:%.*s:rwlock_timeout:%d", name, (int)owner.size, owner.bytes, (int)nth);
        int64_t of_level = held_until(keyspace, key);
        end = of_level > end ? of_level : end;
    }
    return end;
}

void held_in_hash(struct keyspace *keyspace, const char *name, bool has_readers, uint32_t clients,
                  held_handler *handler, void *context) {
    struct redis_text words[2] = {redis_text("hgetall"), redis_text(name)};
    struct redis_reply reply = {0};
    keyspace_call(keyspace, words, 2, &reply);
    for (size_t i = 0; reply.kind == REDIS_ARRAY && i + 1 < reply.size; i += 2) {
        struct redis_text owner = redis_reply_view(&reply.elements[i]);
        struct server_hold hold = {.expires = held_until(keyspace, name)};
        int64_t count = 0;
        if (!held_parse(owner, clients, &hold)) {
            continue;
        }
        integer_parse(redis_reply_view(&reply.elements[i + 1]), &count);
        hold.count = (uint32_t)count;
        if (has_readers && owner.bytes[owner.size - 1] != 'e') { /* a writer's field ends with ":write" */
            int64_t end = reader_end(keyspace, name, owner, count);
            hold.expires = end < hold.expires ? end : hold.expires;
        }
        handler(context, &hold);
    }
    redis_reply_free(&reply);
}

void held_in_string(struct keyspace *keyspace, const char *name, uint32_t clients, held_handler *handler,
                    void *context) {
    struct redis_text text;
    struct server_hold hold = {.count = 1};
    if (keyspace_get(keyspace, redis_text(name), &text) && held_parse(text, clients, &hold)) {
        hold.expires = held_until(keyspace, name);
        handler(context, &hold);
    }
}
