/* Loads the server with cycles of given commands, many cycles in flight, so that the server's own cost shows.
 * SPDX-License-Identifier: Apache-2.0
 *
 * --command-1 to --command-4 are the commands of the cycle, arguments parted by blanks. In an argument %o becomes an
 * owner id and %r a request id of 32 hexadecimal digits; both are new in each cycle. The first command, the acquire,
 * must answer nil and the others a positive integer: a cycle that did not do its work ends the program.
 */
#include "arguments.h"
#include "bare.h"

#include <inttypes.h>

enum { COMMANDS_MAX = 4, ARGUMENTS_MAX = 16, EXPANDED_MAX = 192 };

typedef struct template_command {
    char *text; /* cut into the parts */
    int count;
    const char *parts[ARGUMENTS_MAX];
} template_command;

static void split_command(const char *text, template_command *command) {
    command->text = strdup(text);
    if (command->text == NULL) {
        give_up("no memory for a command");
    }
    for (char *part = strtok(command->text, " "); part != NULL; part = strtok(NULL, " ")) {
        if (command->count == ARGUMENTS_MAX) {
            give_up("a command of a cycle has at most %d arguments", ARGUMENTS_MAX);
        }
        command->parts[command->count++] = part;
    }
    if (command->count == 0) {
        give_up("a command of a cycle is empty");
    }
}

static void expand(const char *part, uint64_t cycle, char expanded[EXPANDED_MAX]) {
    const char *mark = strchr(part, '%');
    if (mark == NULL) {
        snprintf(expanded, EXPANDED_MAX, "%s", part);
    } else if (mark[1] == 'o') {
        snprintf(expanded, EXPANDED_MAX, "%.*s" BARE_UUID ":%" PRIu64, (int)(mark - part), part, cycle);
    } else {
        snprintf(expanded, EXPANDED_MAX, "%.*s%032" PRIx64, (int)(mark - part), part, cycle);
    }
}

static void append_cycle(redisContext *context, const template_command *commands, int count, uint64_t cycle) {
    for (int i = 0; i < count; i++) {
        char expanded[ARGUMENTS_MAX][EXPANDED_MAX];
        const char *arguments[ARGUMENTS_MAX];
        for (int part = 0; part < commands[i].count; part++) {
            expand(commands[i].parts[part], cycle, expanded[part]);
            arguments[part] = expanded[part];
        }
        redisAppendCommandArgv(context, commands[i].count, arguments, NULL);
    }
}

static void collect_cycle(redisContext *context, int count) {
    for (int i = 0; i < count; i++) {
        void *result = NULL;
        redisGetReply(context, &result);
        redisReply *reply = bare_checked(context, result);
        const int acquired = reply->type == REDIS_REPLY_NIL;
        const int done = reply->type == REDIS_REPLY_INTEGER && reply->integer > 0;
        if (i == 0 ? !acquired : !done) {
            give_up("command %d of the cycle did not do its work (reply type %d, integer %lld)", i + 1, reply->type,
                    reply->integer);
        }
        freeReplyObject(reply);
    }
}

int main(int argc, char **argv) {
    int port = 6379;
    int cycles = 10000;
    int depth = 32;
    const char *texts[COMMANDS_MAX] = {NULL};
    const struct argument table[] = {
        {.name = "--port", .integer = &port},       {.name = "--cycles", .integer = &cycles},
        {.name = "--depth", .integer = &depth},     {.name = "--command-1", .text = &texts[0]},
        {.name = "--command-2", .text = &texts[1]}, {.name = "--command-3", .text = &texts[2]},
        {.name = "--command-4", .text = &texts[3]},
    };
    ARGUMENTS_READ(argc, argv, table);
    if (depth < 1) {
        give_up("--depth: at least one cycle must be in flight, not %d", depth);
    }
    template_command commands[COMMANDS_MAX] = {{.count = 0}};
    int count = 0;
    while (count < COMMANDS_MAX && texts[count] != NULL) {
        split_command(texts[count], &commands[count]);
        count++;
    }

    redisContext *context = bare_connect(port);
    const int64_t start_ns = now_ns();
    for (int done = 0; done < cycles; done += depth) {
        for (int i = 0; i < depth; i++) {
            append_cycle(context, commands, count, (uint64_t)done + (uint64_t)i + 1);
        }
        for (int i = 0; i < depth; i++) {
            collect_cycle(context, count);
        }
    }
    const int done = (cycles + depth - 1) / depth * depth;
    printf("{\"pairs\": %d, \"seconds\": %.6f}\n", done, (double)(now_ns() - start_ns) / 1e9);
    redisFree(context);
    for (int i = 0; i < count; i++) {
        free(commands[i].text);
    }
    return 0;
}
