/* Numbers from a server, within bounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "numbers.h"

#define LARGEST INT64_C(999999999999999999)

int64_t server_ms(int64_t ms) {
    return ms > SERVER_MS_MAX ? SERVER_MS_MAX : ms < -SERVER_MS_MAX ? -SERVER_MS_MAX : ms;
}

bool server_number(const char *text, size_t size, int64_t *number_out) {
    size_t sign = size > 0 && text[0] == '-';
    int64_t number = 0;
    if (size == sign) {
        return false;
    }
    for (size_t i = sign; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        number = number > LARGEST / 10 ? LARGEST : number * 10 + (text[i] - '0');
    }
    *number_out = sign ? -number : number;
    return true;
}

bool read_token(const struct reply *reply, uint64_t *token_out) {
    *token_out = 0;
    bool number = reply->kind == REPLY_STRING && reply->size > 0 && reply->size < 20;
    for (size_t i = 0; number && i < reply->size; i++) {
        number = reply->text[i] >= '0' && reply->text[i] <= '9';
        *token_out = *token_out * 10 + (uint64_t)(reply->text[i] - '0');
    }
    return number;
}
