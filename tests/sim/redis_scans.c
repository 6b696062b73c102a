/* Commands of the in-memory Redis that return a part of many: SCAN, HSCAN, HRANDFIELD. And MEMORY USAGE.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Redis guarantees little about these. Here pages follow the order in which keys and fields were created. HRANDFIELD
 * starts at a field that depends on the key's expiry. The size of a hash is the size of its texts and a fixed overhead
 * for each field. */
#include "redis_commands.h"

/* Redis stores a hash of up to ONE_PIECE short fields in one block, and HSCAN returns all of them. */
enum { ONE_PIECE = 128, DEFAULT_PAGE = 10, FIELD_OVERHEAD = 16 };

/* Matches a pattern of `*`, `\` and literal bytes. The scripts use nothing else. */
static bool matches(struct redis_text pattern, struct redis_text text) {
    if (pattern.size == 0) {
        return text.size == 0;
    }
    struct redis_text rest = {pattern.bytes + 1, pattern.size - 1};
    if (pattern.bytes[0] == '*') {
        for (size_t skipped = 0; skipped <= text.size; skipped++) {
            if (matches(rest, (struct redis_text){text.bytes + skipped, text.size - skipped})) {
                return true;
            }
        }
        return false;
    }
    if (pattern.bytes[0] == '\\' && pattern.size > 1) {
        return text.size > 0 && pattern.bytes[1] == text.bytes[0] &&
               matches((struct redis_text){pattern.bytes + 2, pattern.size - 2},
                       (struct redis_text){text.bytes + 1, text.size - 1});
    }
    return text.size > 0 && pattern.bytes[0] == text.bytes[0] &&
           matches(rest, (struct redis_text){text.bytes + 1, text.size - 1});
}

struct page {
    int64_t cursor, count;
    struct redis_text pattern;
};

/* Returns false, with the error reply set, if Redis would refuse the options. */
static bool read_page(struct redis_call *call, size_t index, struct page *page) {
    *page = (struct page){0, DEFAULT_PAGE, redis_text("*")};
    if (!integer_argument(call, index, &page->cursor)) {
        return false;
    }
    for (size_t i = index + 1; i < call->count; i += 2) {
        if (i + 1 < call->count && text_is_word(call->arguments[i], "match")) {
            page->pattern = call->arguments[i + 1];
        } else if (i + 1 < call->count && text_is_word(call->arguments[i], "count")) {
            if (!integer_argument(call, i + 1, &page->count)) {
                return false;
            }
        } else {
            redis_reply_error(call->reply, SYNTAX_ERROR);
            return false;
        }
    }
    return true;
}

/* Replies with the names of a page, and with their texts if `texts` is not NULL. */
static void answer_page(struct redis_call *call, const struct page *page, const struct redis_text *names,
                        const struct redis_text *texts, size_t count) {
    size_t first = page->cursor < 0 || (uint64_t)page->cursor > count ? count : (size_t)page->cursor;
    size_t end = page->count > 0 && (uint64_t)page->count < count - first ? first + (size_t)page->count : count;
    size_t found = 0;
    for (size_t i = first; i < end; i++) {
        found += matches(page->pattern, names[i]);
    }
    struct redis_reply *parts = redis_reply_array(call->reply, 2);
    char text[NUMBER_TEXT_SIZE];
    size_t size = integer_format(end < count ? (int64_t)end : 0, text);
    redis_reply_bulk(&parts[0], (struct redis_text){text, size});
    struct redis_reply *element = redis_reply_array(&parts[1], texts ? 2 * found : found);
    for (size_t i = first; i < end; i++) {
        if (matches(page->pattern, names[i])) {
            redis_reply_bulk(element++, names[i]);
            if (texts) {
                redis_reply_bulk(element++, texts[i]);
            }
        }
    }
}

void run_scan(struct redis_call *call) {
    enum { KEYS_MAX = 256 };
    struct redis_text names[KEYS_MAX];
    struct page page;
    size_t count = 0;
    uint32_t cursor = 0;
    if (!read_page(call, 1, &page)) {
        return;
    }
    while (count < KEYS_MAX && keyspace_next_key(call->keyspace, &cursor, &names[count])) {
        count++;
    }
    answer_page(call, &page, names, NULL, count);
}

void run_hscan(struct redis_call *call) {
    enum { FIELDS_MAX = 1024 };
    struct redis_text names[FIELDS_MAX];
    struct redis_text texts[FIELDS_MAX];
    struct page page;
    struct stored_value *value = NULL;
    size_t count = 0;
    uint32_t cursor = 0;
    if (!read_page(call, 2, &page) || !find_key(call, VALUE_HASH, &value)) {
        return;
    }
    for (struct map_entry *entry; value && count < FIELDS_MAX && (entry = map_next(&value->hash, &cursor)); count++) {
        names[count] = text_view(entry->name);
        texts[count] = text_view(entry->payload);
    }
    page.count = count <= ONE_PIECE ? ONE_PIECE : page.count;
    answer_page(call, &page, names, texts, count);
}

/* Replies with one field, or with an array of as many different fields as requested. They are consecutive. The key's
 * expiry determines the first one. */
void run_hrandfield(struct redis_call *call) {
    struct stored_value *value = NULL;
    int64_t wanted = 1;
    if ((call->count > 2 && !integer_argument(call, 2, &wanted)) || !find_key(call, VALUE_HASH, &value)) {
        return;
    }
    if (call->count > 3 || wanted < 0) {
        redis_reply_error(call->reply, SYNTAX_ERROR); /* Redis accepts more here than scripts use */
        return;
    }
    size_t live = value ? value->hash.live : 0;
    size_t count = (uint64_t)wanted < live ? (size_t)wanted : live;
    struct redis_reply *element = call->count > 2 ? redis_reply_array(call->reply, count) : call->reply;
    uint32_t cursor = 0;
    for (uint64_t i = live > 0 ? (uint64_t)value->expires_at % live : 0; count > 0 && i > 0; i--) {
        map_next(&value->hash, &cursor);
    }
    for (size_t i = 0; i < count; i++) {
        struct map_entry *entry = map_next(&value->hash, &cursor);
        if (!entry) {
            cursor = 0;
            entry = map_next(&value->hash, &cursor);
        }
        redis_reply_bulk(&element[i], text_view(entry->name));
    }
}

void run_memory(struct redis_call *call) {
    struct redis_text key = call->count > 2 ? call->arguments[2] : redis_text("");
    const struct stored_value *value = keyspace_find(call->keyspace, key);
    if (!text_is_word(call->arguments[1], "usage")) {
        redis_reply_error(call->reply, SYNTAX_ERROR);
        return;
    }
    if (!value) {
        return;
    }
    int64_t bytes = (int64_t)key.size;
    uint32_t cursor = 0;
    for (struct map_entry *entry; value->kind == VALUE_HASH && (entry = map_next(&value->hash, &cursor)) != NULL;) {
        const struct stored_text *text = entry->payload;
        bytes += (int64_t)(entry->name->size + text->size) + FIELD_OVERHEAD;
    }
    redis_reply_integer(call->reply, bytes);
}
