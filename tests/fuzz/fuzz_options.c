/* Fuzz target: the command line. Any words make the command end with an exit status of its own. It talks to no server:
 * opening a client always fails (--wrap). The limit of a completion's time would end the program (--wrap).
 * SPDX-License-Identifier: Apache-2.0
 *
 * NUL bytes separate the words. The first byte chooses the subcommand, or none. */
#define _GNU_SOURCE
#include <getopt.h>
#include <sys/time.h>

#include "fuzz.h"
#include "redlatch.h"

enum { WORDS_MAX = 64 };

int command_main(int argc, char **argv); /* of core/cli/main.c */
int __wrap_redlatch_client_open(const char *url, const redlatch_client_options *options, redlatch_client **client_out);

int __wrap_redlatch_client_open(const char *url, const redlatch_client_options *options, redlatch_client **client_out) {
    (void)url; /* NULL: from the environment */
    MUST(options && client_out);
    MUST(!options->name_prefix || strlen(options->name_prefix) == options->name_prefix_size);
    return REDLATCH_UNREACHABLE;
}

int __wrap_setitimer(int which, const struct itimerval *time, struct itimerval *before);

int __wrap_setitimer(int which, const struct itimerval *time, struct itimerval *before) {
    MUST(which == ITIMER_REAL && time && !before);
    return 0;
}

struct words {
    char **list; /* of exactly its size, with the final NULL */
    int count;
};

static void add(struct words *words, char *word) {
    words->list[words->count++] = word;
}

static char *copy_of(const char *text) {
    char *copy = strdup(text);
    MUST(copy);
    return copy;
}

/* Returns the word up to the next NUL byte. */
static char *next_word(struct input *input) {
    const uint8_t *end = memchr(input->bytes, 0, input->size);
    size_t size = end ? (size_t)(end - input->bytes) : input->size;
    struct input part = {input->bytes, size};
    input->bytes += size + (end != NULL);
    input->size -= size + (end != NULL);
    return input_rest_as_text(&part);
}

static void split(struct words *words, struct input *input) {
    static const char *const commands[] = {"run",     "list",   "show",   "wait",     "unlock", "help", "acquire",
                                           "release", "extend", "doctor", "complete", "top",    "elect"};
    uint8_t choice = input_byte(input);
    words->list = malloc((WORDS_MAX + 3) * sizeof *words->list);
    MUST(words->list);
    add(words, copy_of("redlatch"));
    if (choice < 0xf0) {
        add(words, copy_of(commands[choice % (sizeof commands / sizeof commands[0])]));
    }
    while (input->size > 0 && words->count < WORDS_MAX) {
        add(words, next_word(input));
    }
    words->list = realloc(words->list, ((size_t)words->count + 1) * sizeof *words->list);
    MUST(words->list);
    words->list[words->count] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    struct words words = {.count = 0};
    split(&words, &input);
    char **given = malloc(((size_t)words.count + 1) * sizeof *given); /* getopt reorders words.list */
    MUST(given);
    memcpy(given, words.list, ((size_t)words.count + 1) * sizeof *given);
    char *printed = NULL;
    size_t printed_size = 0;
    FILE *memory = open_memstream(&printed, &printed_size);
    MUST(memory);
    FILE *out = stdout;
    FILE *err = stderr;
    stdout = memory;
    stderr = memory;
    optind = 0; /* makes getopt start anew */
    int status = command_main(words.count, words.list);
    stdout = out;
    stderr = err;
    fclose(memory);
    MUST(status >= 0 && status <= 128);
    free(printed);
    for (int i = 0; i < words.count; i++) {
        free(given[i]);
    }
    free(given);
    free(words.list);
    return 0;
}
