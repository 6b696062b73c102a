/* The keys of a model server: other clients change them, and checks read them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model_servers.h"
#include "keyspace.h"
#include "schedule.h"

bool model_server_has(int server, const char *key, const char *field) {
    struct redis_text text;
    struct keyspace *keyspace = model_server_keyspace(server);
    return keyspace_hget(keyspace, redis_text(key), redis_text(field), &text);
}

void model_server_delete(int server, const char *key) {
    struct keyspace *keyspace = model_server_keyspace(server);
    bool was = keyspace_delete(keyspace, redis_text(key));
    int receivers = model_server_publish(server, key, 1);
    trace("somebody deletes %s: %d, and tells %d", key, was, receivers);
}

void model_server_replace(int server, const char *key, int shape) {
    static const char *const shapes[][5] = {
        {"set", "7c6ec0c3-7c1e-4a5a-9c1c-000000000001"}, /* as a plain lock of another library */
        {"hset", "field", "1"},
        {"hset", "7c6ec0c3-7c1e-4a5a-9c1c-000000000001:1", "1"}, /* held by a client of Redisson */
        {"hset", "mode", "read", "7c6ec0c3-7c1e-4a5a-9c1c-000000000001:1", "1"},
        {"rpush", "x"},
        {"zadd", "1", "x"},
        {"set", "3"},
    };
    struct redis_text words[6] = {redis_text(shapes[shape][0]), redis_text(key)};
    size_t count = 2;
    for (size_t i = 1; i < 5 && shapes[shape][i]; i++) {
        words[count++] = redis_text(shapes[shape][i]);
    }
    struct keyspace *keyspace = model_server_keyspace(server);
    keyspace_delete(keyspace, redis_text(key));
    struct redis_reply reply;
    keyspace_call(keyspace, words, count, &reply);
    redis_reply_free(&reply);
    trace("%s is now of shape %d", key, shape);
}

void model_server_show(int server) {
    uint32_t cursor = 0;
    struct redis_text key;
    struct keyspace *keyspace = model_server_keyspace(server);
    while (keyspace_next_key(keyspace, &cursor, &key)) {
        trace("server %d has %.*s for %lld ms", server, (int)key.size, key.bytes,
              (long long)keyspace_pttl(keyspace, key));
    }
}
