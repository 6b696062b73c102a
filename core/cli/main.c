/* redlatch: distributed locks on Redis for the shell. Finds the command and runs it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char usage[] =
    "usage: redlatch COMMAND [OPTION...] [ARGUMENT...]\n"
    "\n"
    "  run NAME -- CMD...   holds a lock while CMD runs\n"
    "  list [PATTERN]       the locks on the server\n"
    "  show NAME            everything known of a lock; status 0 if it is held, 3 if it is free\n"
    "  wait NAME            waits until a lock is free\n"
    "  unlock --force NAME  takes a lock from whoever holds it\n"
    "\n"
    "The server comes from --url or REDIS_URL, else redis://127.0.0.1:6379/0.\n"
    "`redlatch COMMAND --help` tells of a command's options, `man redlatch` of everything.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", command_run}, {"list", command_list}, {"show", command_show}, {"wait", command_wait},
    {"unlock", command_unlock},
};

/* Standard streams that the caller has closed would be the next descriptors to be opened, and what is printed would go
 * to the server. /dev/null takes their places, opened the wrong way round so that using it is an error still, and not
 * for CMD, which finds them closed. */
static void fill_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int filled = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
            (void)filled; /* without a /dev/null there is nothing better to be had */
        }
    }
}

int main(int argc, char **argv) {
    fill_standard_streams();
    if (argc < 2) {
        fputs(usage, stderr);
        return STATUS_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        fputs(usage, stdout);
        return finish_output(STATUS_GOOD);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("redlatch %s\n", redlatch_version());
        return finish_output(STATUS_GOOD);
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            char title[32]; /* which getopt_long puts before what it has to complain of */
            snprintf(title, sizeof title, "redlatch: %s", commands[i].name);
            argv[1] = title;
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return complain(STATUS_USAGE, "the command is '%s': expected run, list, show, wait or unlock", word);
}
