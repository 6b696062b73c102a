/* Reads a command line as it is typed: quotes, variables, and the options of the server.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "typed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the value of $NAME or ${NAME}. Returns false if the variable is not set, or for any other expansion. */
static bool put_variable(const char **at, FILE *out) {
    bool braced = (*at)[1] == '{';
    const char *begun = *at + (braced ? 2 : 1);
    size_t size = 0;
    while (isalnum((unsigned char)begun[size]) || begun[size] == '_') {
        size++;
    }
    char name[64];
    if (size == 0 || size >= sizeof name || (braced && begun[size] != '}')) {
        return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)size, begun);
    const char *value = getenv(name);
    if (!value) {
        return false;
    }
    fputs(value, out);
    *at = begun + size + (braced ? 1 : 0);
    return true;
}

/* Reads the next character of a word and writes what it stands for. Returns false if only the shell can expand it. */
static bool put_next(const char **at, char *quote, FILE *out) {
    char byte = **at;
    if (*quote != '\'' && byte == '$') {
        return put_variable(at, out);
    }
    if (*quote != '\'' && byte == '`') {
        return false;
    }
    if (byte == '\\' && *quote != '\'' && (*at)[1]) {
        if (*quote && !strchr("\\\"$`", (*at)[1])) {
            putc(byte, out);
        }
        putc((*at)[1], out);
        *at += 2;
        return true;
    }
    if (byte == *quote && *quote) {
        *quote = '\0';
    } else if (!*quote && (byte == '\'' || byte == '"')) {
        *quote = byte;
    } else if (byte != '\\' || *quote) {
        putc(byte, out);
    }
    ++*at;
    return true;
}

/* Returns a word as the program would get it; its last quote may be open still. In new memory. Returns NULL if only the
 * shell can expand it. */
static char *unquote(const char *word) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    char quote = '\0';
    bool good = out != NULL;
    const char *home = getenv("HOME");
    if (good && word[0] == '~') {
        good = word[1] == '/' && home;
        fputs(good ? home : "", out);
        word++;
    }
    while (good && *word) {
        good = put_next(&word, &quote, out);
    }
    if (out && fclose(out) != 0) {
        good = false;
    }
    if (!good) {
        free(text);
    }
    return good ? text : NULL;
}

/* Returns the letter of an option of the server, and its value if the word has it. Returns 0 for any other word. */
static int server_option(const char *word, const char **value_out) {
    static const struct option options[] = {SERVER_OPTIONS};
    *value_out = NULL;
    if (strncmp(word, "-u", 2) == 0) {
        *value_out = word[2] ? word + 2 : NULL;
        return 'u';
    }
    for (size_t i = 0; strncmp(word, "--", 2) == 0 && options[i].name; i++) {
        size_t size = strlen(options[i].name);
        if (options[i].has_arg && strncmp(word + 2, options[i].name, size) == 0 && strchr("=", word[2 + size])) {
            *value_out = word[2 + size] ? word + 3 + size : NULL;
            return options[i].val;
        }
    }
    return 0;
}

static void take_value(struct server_options *server, int letter, const char *value) {
    if (letter == 'u') {
        server->url = value;
    } else if (letter == OPTION_PREFIX) {
        server->prefix = value;
    } else if (letter == OPTION_PASSWORD_FILE) {
        server->password_file = value;
    } else {
        server->tls[letter - OPTION_TLS] = value;
    }
}

/* Keeps the text of a word until typed_free. Returns it, or NULL. */
static const char *keep(struct typed *typed, const char *word) {
    char *text = unquote(word);
    if (text) {
        typed->text[typed->text_count++] = text;
    }
    return text;
}

bool typed_read(struct typed *typed, int count, char **words) {
    *typed = (struct typed){.last = "", .text = calloc((size_t)count + 1, sizeof *typed->text)};
    for (int i = 1; typed->text && i < count; i++) {
        const char *word = keep(typed, words[i]);
        const char *value;
        if (!word) {
            return false;
        }
        typed->last = word;
        int letter = i < count - 1 ? server_option(word, &value) : 0;
        if (!letter) {
            continue;
        }
        if (!value) { /* it is the next word, which must not be the last */
            value = ++i < count - 1 ? keep(typed, words[i]) : NULL;
        }
        if (!value) {
            return false;
        }
        take_value(&typed->server, letter, value);
    }
    return typed->text != NULL;
}

void typed_free(struct typed *typed) {
    for (int i = 0; i < typed->text_count; i++) {
        free(typed->text[i]);
    }
    free(typed->text);
}
