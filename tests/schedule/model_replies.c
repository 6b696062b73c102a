/* The replies of the model servers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model_replies.h"

#include "schedule.h"

void model_reply_write(FILE *out, const struct redis_reply *reply) {
    switch (reply->kind) {
    case REDIS_INTEGER:
        fprintf(out, ":%lld\r\n", (long long)reply->integer);
        break;
    case REDIS_STATUS:
    case REDIS_ERROR:
        fprintf(out, "%c%s\r\n", reply->kind == REDIS_ERROR ? '-' : '+', reply->text);
        break;
    case REDIS_BULK:
        fprintf(out, "$%zu\r\n", reply->size);
        fwrite(reply->text, 1, reply->size, out);
        fprintf(out, "\r\n");
        break;
    case REDIS_ARRAY:
        fprintf(out, "*%zu\r\n", reply->size);
        for (size_t i = 0; i < reply->size; i++) {
            model_reply_write(out, &reply->elements[i]);
        }
        break;
    default:
        fprintf(out, "$-1\r\n");
    }
}

struct redis_reply model_reply_pushed(const char *kind, struct redis_text channel, const struct redis_reply *last) {
    struct redis_reply reply;
    struct redis_reply *elements = redis_reply_array(&reply, 3);
    redis_reply_bulk(&elements[0], redis_text(kind));
    redis_reply_bulk(&elements[1], channel);
    elements[2] = *last;
    return reply;
}

void model_reply_garble(struct redis_reply *reply) {
    uint32_t shape = schedule_draw(6);
    redis_reply_free(reply);
    if (shape == 1) {
        redis_reply_integer(reply, (int64_t)schedule_draw(5) - 3);
    } else if (shape == 2) {
        redis_reply_bulk(reply, redis_text("what"));
    } else if (shape > 2) {
        redis_reply_array(reply, shape - 3);
        for (uint32_t i = 0; i + 3 < shape; i++) {
            redis_reply_integer(&reply->elements[i], (int64_t)schedule_draw(4) - 2);
        }
    }
}
