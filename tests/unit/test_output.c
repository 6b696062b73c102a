/* The output buffer: every kind of command has exactly the size reserved for it; growth; sending in parts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "kinds.h"
#include "unit.h"

static const char uuid[] = "01234567-89ab-8def-8123-456789abcdef";

static struct engine *test_engine(void) {
    static struct engine engine;
    static struct server server;
    engine.server = &server;
    memcpy(engine.uuid, uuid, 36);
    return &engine;
}

static struct resource *make_resource(size_t size) {
    struct resource *resource = calloc(1, sizeof *resource + size);
    resource->kind = REDLATCH_MUTEX;
    resource->name_size = (uint32_t)size;
    memset(resource->name, 'n', size);
    return resource;
}

/* Returns the decimal number between a marker and CRLF; -1 for anything else. */
static long take_number(const char **at, const char *end, char marker) {
    if (*at >= end || **at != marker) {
        return -1;
    }
    char *digits_end;
    long number = strtol(*at + 1, &digits_end, 10);
    *at = digits_end + 2;
    return digits_end > end - 2 || memcmp(digits_end, "\r\n", 2) != 0 ? -1 : number;
}

/* Returns how many words the command in the output has; -1 if it is malformed or does not begin with `first`. */
static long words_in(const struct output *output, const char *first, size_t first_size) {
    const char *at = output->bytes + output->begin;
    const char *end = output->bytes + output->end;
    long count = take_number(&at, end, '*');
    for (long i = 0; i < count; i++) {
        long size = take_number(&at, end, '$');
        if (size < 0 || end - at < size + 2 || memcmp(at + size, "\r\n", 2) != 0) {
            return -1;
        }
        if (i == 0 && ((size_t)size != first_size || memcmp(at, first, first_size) != 0)) {
            return -1;
        }
        at += size + 2;
    }
    return at == end ? count : -1;
}

static void check_command(struct command *command, bool as_text) {
    struct output output = {0};
    command->as_text = as_text;
    size_t size = output_command_size(test_engine(), command);
    output.bytes = malloc(size); /* not a byte more: a sanitizer sees a write beyond */
    output.capacity = size;
    output_command(&output, test_engine(), command);
    uint32_t keys;
    uint32_t arguments;
    command_counts(command, &keys, &arguments);
    CHECK_EQ_INT(output.end, size);
    CHECK_EQ_INT(words_in(&output, as_text ? "EVAL" : "EVALSHA", as_text ? 4 : 7), 3 + keys + arguments);
    output_free(&output);
    CHECK(output.bytes == NULL && output.capacity == 0);
}

static void check_kinds_of_commands(struct resource *resource, uint8_t lock_kind, struct operation *operation,
                                    struct renewal *lines) {
    for (int kind = COMMAND_ACQUIRE; kind <= COMMAND_RENEW; kind++) {
        if (kind == COMMAND_CHANGE) {
            continue; /* has no lock */
        }
        struct command command = {.server = test_engine()->server,
                                  .resource = kind == COMMAND_RENEW ? NULL : resource,
                                  .kind = (uint8_t)kind,
                                  .lock_kind = lock_kind,
                                  .id = UINT64_MAX,
                                  .successor = UINT64_MAX,
                                  .lease_ms = INT64_MAX,
                                  .count = UINT32_MAX,
                                  .batch = lines,
                                  .batch_count = RENEWAL_BATCH_SIZE,
                                  .operation = operation};
        check_command(&command, false);
        check_command(&command, true);
        command.batch_count = 1;
        check_command(&command, false);
    }
}

static void every_kind_has_its_exact_size(void) {
    static const size_t sizes[] = {1, 60, REDLATCH_NAME_SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct resource *resource = make_resource(sizes[i]);
        struct renewal lines[RENEWAL_BATCH_SIZE];
        for (int k = 0; k < RENEWAL_BATCH_SIZE; k++) {
            lines[k] = (struct renewal){.name = resource, .id = UINT64_MAX, .lease_ms = UINT32_MAX};
        }
        struct argument_part words[] = {{"184467440737095516", 18}, {resource->name, sizes[i]}, {"100", 3}};
        struct question question = {.arguments = words, .argument_count = 3};
        struct operation operation = {.question = &question, .owner_id = "another:1"};
        for (int number = REDLATCH_MUTEX; number < KIND_NUMBERS; number++) {
            uint8_t lock_kind = (uint8_t)number;
            resource->kind = kind_of_names(lock_kind);
            for (int k = 0; k < RENEWAL_BATCH_SIZE; k++) {
                lines[k].lock_kind = lock_kind;
            }
            check_kinds_of_commands(resource, lock_kind, &operation, lines);
        }
        resource->kind = REDLATCH_LATCH; /* whose channel has the longest name */
        for (int change = 1; change < CHANGES; change++) {
            struct command command = {.server = test_engine()->server,
                                      .resource = resource,
                                      .kind = COMMAND_CHANGE,
                                      .change = (uint8_t)change,
                                      .id = UINT64_MAX,
                                      .amount = INT64_MIN,
                                      .lease_ms = INT64_MAX};
            check_command(&command, false);
            check_command(&command, true);
        }
        free(resource);
    }
}

/* WAIT and WAITAOF follow a command that needs acknowledgements. Its size includes them. */
static void acknowledgements_byte_for_byte(void) {
    static const char both[] = "*3\r\n$4\r\nWAIT\r\n$2\r\n10\r\n$4\r\n1000\r\n"
                               "*4\r\n$7\r\nWAITAOF\r\n$1\r\n1\r\n$1\r\n0\r\n$4\r\n1000\r\n";
    struct engine *engine = test_engine();
    struct resource *resource = make_resource(3);
    struct command command = {
        .server = test_engine()->server, .resource = resource, .kind = COMMAND_ACQUIRE, .id = 12, .lease_ms = 30000};
    size_t size = output_command_size(engine, &command);
    engine->settings.min_replicas = 10;
    engine->settings.durable = true;
    engine->settings.replica_timeout_ms = 1000;
    struct output output = {0};
    CHECK_EQ_INT(output_command_size(engine, &command), size + sizeof both - 1);
    CHECK(output_reserve(&output, size + sizeof both - 1));
    output_command(&output, engine, &command);
    CHECK_EQ_INT(output.end, size + sizeof both - 1);
    CHECK(memcmp(output.bytes + size, both, sizeof both - 1) == 0);
    command.kind = COMMAND_RELEASE;
    output_clear(&output);
    size = output_command_size(engine, &command);
    output_command(&output, engine, &command);
    CHECK_EQ_INT(output.end, size);
    output_free(&output);
    free(resource);
    engine->settings = (struct engine_settings){0};
}

static void an_acquire_byte_for_byte(void) {
    struct resource *resource = make_resource(3);
    struct command command = {
        .server = test_engine()->server, .resource = resource, .kind = COMMAND_ACQUIRE, .id = 12, .lease_ms = 30000};
    struct output output = {0};
    CHECK(output_reserve(&output, output_command_size(test_engine(), &command)));
    output_command(&output, test_engine(), &command);
    char expected[300];
    snprintf(expected, sizeof expected,
             "*6\r\n$7\r\nEVALSHA\r\n$40\r\n%.40s\r\n$1\r\n1\r\n$3\r\nnnn\r\n$39\r\n%s:12\r\n$5\r\n30000\r\n",
             scripts_embedded[SCRIPT_ACQUIRE].sha1, uuid);
    CHECK_EQ_INT(output_pending(&output), strlen(expected));
    CHECK(memcmp(output.bytes, expected, strlen(expected)) == 0);
    output_free(&output);
    free(resource);
}

/* A question that needs no script is sent as it is. */
static void a_plain_question_byte_for_byte(void) {
    static const char expected[] = "*3\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n$0\r\n\r\n";
    struct argument_part arguments[] = {{"CLIENT", 6}, {"LIST", 4}, {"", 0}};
    struct question question = {.arguments = arguments, .argument_count = 3, .plain = true};
    struct operation operation = {.question = &question, .owner_id = "another:1"};
    struct command command = {.server = test_engine()->server, .kind = COMMAND_INSPECT, .operation = &operation};
    struct output output = {0};
    CHECK_EQ_INT(output_command_size(test_engine(), &command), sizeof expected - 1);
    CHECK(output_reserve(&output, sizeof expected - 1));
    output_command(&output, test_engine(), &command);
    CHECK_EQ_INT(output_pending(&output), sizeof expected - 1);
    CHECK(memcmp(output.bytes, expected, sizeof expected - 1) == 0);
    output_free(&output);
}

static void words(void) {
    struct output output = {0};
    static const char *const some[] = {"PING", "", "a\r\nb"};
    static const size_t sizes[] = {4, 0, 4};
    CHECK(output_arguments(&output, 3, some, sizes));
    CHECK(output_arguments(&output, 1, some, sizes));
    static const char expected[] = "*3\r\n$4\r\nPING\r\n$0\r\n\r\n$4\r\na\r\nb\r\n*1\r\n$4\r\nPING\r\n";
    CHECK_EQ_INT(output_pending(&output), sizeof expected - 1);
    CHECK(memcmp(output.bytes, expected, sizeof expected - 1) == 0);
    output_clear(&output);
    CHECK_EQ_INT(output_pending(&output), 0);
    CHECK(output.bytes != NULL); /* a small buffer is kept */
    output_free(&output);
}

static void growing_keeps_what_is_pending(void) {
    struct output output = {0};
    CHECK(output_reserve(&output, 10));
    size_t first = output.capacity;
    CHECK(first >= 10);
    memcpy(output.bytes, "0123456789", 10);
    output.begin = 4; /* as if sent that far */
    output.end = 10;
    CHECK(output_reserve(&output, first * 3));
    CHECK(output.capacity >= first * 3 + 6);
    CHECK_EQ_INT(output_pending(&output), 6);
    CHECK(memcmp(output.bytes + output.begin, "456789", 6) == 0);
    output.begin = output.end = 10; /* all is sent: the whole buffer is free again */
    size_t capacity = output.capacity;
    CHECK(output_reserve(&output, capacity));
    CHECK_EQ_INT(output.capacity, capacity);
    CHECK_EQ_INT(output.end, 0);
    CHECK(output_reserve(&output, (size_t)1 << 21));
    output_clear(&output); /* a buffer of megabytes is freed */
    CHECK_EQ_INT(output.capacity, 0);
    CHECK(output.bytes == NULL);
}

static void parts_go_as_the_socket_takes_them(void) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    struct connection connection;
    connection_init(&connection, NULL, false);
    connection.fd = pair[0];
    enum { SIZE = 3 << 20 };
    CHECK(output_reserve(&connection.output, SIZE));
    for (int i = 0; i < SIZE; i++) {
        connection.output.bytes[i] = (char)(i * 7 + i / 251);
    }
    connection.output.end = SIZE;
    static char bytes[70000];
    int received = 0;
    int turns = 0;
    bool same = true;
    while (received < SIZE && turns < SIZE) {
        turns++;
        CHECK_EQ_INT(connection_flush(&connection), REDLATCH_OK);
        ssize_t got = recv(pair[1], bytes, sizeof bytes, 0);
        for (ssize_t i = 0; i < got; i++) {
            same = same && bytes[i] == (char)(received * 7 + received / 251);
            received++;
        }
    }
    CHECK_EQ_INT(received, SIZE);
    CHECK(same && turns > 2);
    CHECK_EQ_INT(output_pending(&connection.output), 0);
    close(pair[1]);
    CHECK(output_reserve(&connection.output, 1));
    connection.output.end++;
    CHECK_EQ_INT(connection_flush(&connection), REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(connection.fd, pair[0]); /* flushing does not close */
    connection_close(&connection);
    connection_free(&connection);
}

int main(void) {
    RUN(every_kind_has_its_exact_size);
    RUN(an_acquire_byte_for_byte);
    RUN(a_plain_question_byte_for_byte);
    RUN(acknowledgements_byte_for_byte);
    RUN(words);
    RUN(growing_keeps_what_is_pending);
    RUN(parts_go_as_the_socket_takes_them);
    return unit_done();
}
