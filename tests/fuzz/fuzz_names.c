/* Fuzz target: names as users write them and as the server has them: channels, keys of plain locks, values of groups,
 * ids of permits, numbers, error replies.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses the check. Some checks take further bytes as parameters. */
#include "errors.h"
#include "fuzz.h"
#include "group.h"
#include "key_template.h"
#include "kinds.h"
#include "numbers.h"
#include "error_reply.h"
#include "channels.h"
#include "wire.h"

static const struct engine_settings settings = {.watchdog_lease_ms = 30000,
                                                .unreachable_timeout_ms = 20000,
                                                .claim_timeout_ms = 5000,
                                                .linger_ms = 3000,
                                                .fair_timeout_ms = 30000};
static struct engine engine;
static struct server server;

/* Returns the rest in memory of exactly its size. */
static char *rest(struct input *input) {
    char *bytes = malloc(input->size ? input->size : 1);
    MUST(bytes);
    memcpy(bytes, input->bytes, input->size);
    return bytes;
}

/* The channel of a name must lead back to the name, and the channel of a waiter to the waiter. */
static void check_channel(struct input *input) {
    uint8_t how = input_byte(input);
    uint8_t kind = kind_of_names((uint8_t)(1 + how % (KIND_NUMBERS - 1)));
    uint64_t waiter = how >= 128 ? 1 + (uint64_t)input_byte(input) * INT64_C(1000000007) : 0;
    if (input->size == 0 || input->size > REDLATCH_NAME_SIZE_MAX) {
        return;
    }
    struct resource *resource = calloc(1, sizeof *resource + input->size);
    MUST(resource);
    resource->kind = kind;
    resource->name_size = (uint32_t)input->size;
    memcpy(resource->name, input->bytes, input->size);
    struct wait_queue queue = {.resource = resource};
    struct subscription subscription = {.queue = &queue, .waiter = waiter};
    static char channel[CHANNEL_SIZE_MAX];
    size_t size = channel_text(&engine, &subscription, channel);
    if (waiter) {
        MUST(channel_waiter(&engine, channel, &size) == waiter);
    }
    MUST(channel_is_of(resource, channel, size));
    MUST(size < 2 || !channel_is_of(resource, channel, size - 1));
    struct argument_part names[CHANNEL_NAMES_MAX];
    bool found = false;
    for (size_t i = 0, count = channel_names(channel, size, names); i < count; i++) {
        found = found || (names[i].size == input->size && memcmp(names[i].text, input->bytes, input->size) == 0);
    }
    MUST(found);
    free(resource);
}

/* Any bytes as a channel on which a message arrives. */
static void check_any_channel(struct input *input) {
    char *channel = rest(input);
    size_t size = input->size;
    struct argument_part names[CHANNEL_NAMES_MAX];
    size_t count = channel_names(channel, size, names);
    MUST(count <= CHANNEL_NAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        MUST(names[i].text >= channel && names[i].text + names[i].size <= channel + size);
    }
    uint64_t waiter = channel_waiter(&engine, channel, &size);
    MUST(waiter ? size < input->size : size <= input->size);
    free(channel);
}

/* A template and a name. The first byte is the size of the template. */
static void check_template(struct input *input) {
    size_t size = input_byte(input);
    size = size < input->size ? size : input->size;
    char *bytes = rest(input);
    redlatch_lock_options options = {.key_template = bytes, .key_template_size = size};
    struct key key;
    int status = key_of_name(&options, bytes + size, input->size - size, &key);
    MUST(status == REDLATCH_OK || status == REDLATCH_INVALID);
    if (status == REDLATCH_OK) {
        MUST(key.made && key.size == input->size - strlen("{name}"));
    } else {
        MUST(!key.made && redlatch_last_error()[0]);
    }
    free(key.made);
    free(bytes);
}

static void check_group(struct input *input) {
    uint8_t parts = (uint8_t)(1 + input_byte(input) % 16);
    char *values = malloc((size_t)parts * GROUP_VALUE_SIZE);
    MUST(values);
    size_t each = input->size / parts;
    for (size_t i = 0; i < parts; i++) {
        group_value(input->bytes + i * each, each, values + i * GROUP_VALUE_SIZE);
    }
    size_t count = group_sort(values, parts);
    MUST(count >= 1 && count <= parts);
    for (size_t i = 1; i < count; i++) {
        MUST(memcmp(values + (i - 1) * GROUP_VALUE_SIZE, values + i * GROUP_VALUE_SIZE, GROUP_VALUE_SIZE) < 0);
    }
    free(values);
}

static void check_permit(struct input *input) {
    unsigned char bytes[PERMIT_SIZE] = {0};
    uint64_t id = (uint64_t)input_number(input);
    engine.last_id = (uint64_t)input_number(input);
    permit_bytes(&engine, id, bytes);
    MUST(permit_number(&engine, bytes) == (id <= engine.last_id ? id : 0));
    memcpy(bytes, input->bytes, input->size < PERMIT_SIZE ? input->size : PERMIT_SIZE);
    MUST(permit_number(&engine, bytes) <= engine.last_id);
}

static void check_number(struct input *input) {
    char *text = rest(input);
    int64_t number = 0;
    if (server_number(text, input->size, &number)) {
        MUST(number >= -INT64_C(999999999999999999) && number <= INT64_C(999999999999999999));
    }
    int64_t ms = server_ms(input_number(input));
    MUST(ms >= -SERVER_MS_MAX && ms <= SERVER_MS_MAX);
    free(text);
}

static void check_error_reply(struct input *input) {
    char *text = rest(input);
    struct error_reply error_reply = error_reply_of(text, input->size);
    MUST(redlatch_strerror(error_reply.status));
    MUST(error_reply.status <= REDLATCH_SERVER || error_reply.status == REDLATCH_UNSUPPORTED); /* no WAITAOF there */
    MUST(!error_reply.no_script || error_reply.transient);
    free(text);
}

static void check_shown(struct input *input) {
    char *name = rest(input);
    char text[64];
    const char *shown = shown_name(name, input->size, text);
    for (size_t i = 0; shown[i]; i++) {
        MUST(i < sizeof text && shown[i] >= ' ' && shown[i] <= '~');
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static void (*const checks[])(struct input *) = {check_channel, check_any_channel, check_template,    check_group,
                                                     check_permit,  check_number,      check_error_reply, check_shown};
    struct input input = {bytes, size};
    engine_init(&engine, &server, &settings, "01234567-89ab-8def-8123-456789abcdef", 1);
    checks[input_below(&input, sizeof checks / sizeof checks[0])](&input);
    return 0;
}
