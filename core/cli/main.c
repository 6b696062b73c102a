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
    "usage: redlatch [--url URL] [--password-file FILE] [--prefix TEXT] COMMAND [OPTION...] [ARGUMENT...]\n"
    "\n"
    "  run NAME -- CMD...   runs CMD while holding a lock\n"
    "  elect NAME -- CMD... runs CMD while this process is the leader of all candidates\n"
    "  list [PATTERN]       lists the locks on the server\n"
    "  top [PATTERN]        shows the locks as they change, on a terminal\n"
    "  show NAME            shows a lock; status 0 if it is held, 3 if it is free\n"
    "  wait NAME            waits until a lock is free\n"
    "  unlock NAME          takes a lock from its holder, with --owner ID, or from any, with --force\n"
    "  acquire NAME         acquires a lock for a time and prints its owner id, for jobs of several steps\n"
    "  release, extend NAME  releases or prolongs it, by --owner ID\n"
    "  doctor               says what of the server will hurt locks\n"
    "\n"
    "The server is that of --url or REDIS_URL, or else redis://127.0.0.1:6379/0; its password is the first line of\n"
    "FILE, or that of the URL, or REDISCLI_AUTH.\n"
    "`redlatch help COMMAND` describes a command, `man redlatch` all of them.\n";

static const struct option long_options[] = {{"version", no_argument, NULL, 'V'}, SERVER_OPTIONS};

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", command_run},           {"list", command_list},     {"show", command_show},
    {"wait", command_wait},         {"unlock", command_unlock}, {"acquire", command_acquire},
    {"release", command_release},   {"extend", command_extend}, {"doctor", command_doctor},
    {"complete", command_complete}, {"top", command_top},       {"elect", command_elect},
};

/* Opens /dev/null for each standard stream that the caller has closed. Otherwise the next descriptor opened, such as
 * the server's socket, would be that stream. The access mode is the wrong one, so that use of the stream still fails.
 * O_CLOEXEC: CMD finds it closed. */
static void fill_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int filled = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
            (void)filled; /* if there is no /dev/null, the stream stays closed */
        }
    }
}

static const char *command_at(const void *unused, size_t index) {
    (void)unused;
    return index < sizeof commands / sizeof commands[0] ? commands[index].name : NULL;
}

/* Returns the command that other tools call by this name, or else one with a similar name. Returns NULL if there is
 * none. */
static const char *command_meant(const char *name) {
    static const char *const others[][2] = {
        {"lock", "run"},        {"exec", "run"},          {"with", "run"},      {"ls", "list"},
        {"keys", "list"},       {"get", "show"},          {"info", "show"},     {"status", "show"},
        {"inspect", "show"},    {"rm", "unlock"},         {"delete", "unlock"}, {"free", "unlock"},
        {"renew", "extend"},    {"refresh", "extend"},    {"check", "doctor"},  {"ping", "doctor"},
        {"diagnose", "doctor"}, {"version", "--version"}, {"leader", "elect"},  {"campaign", "elect"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(name, others[i][0]) == 0) {
            return others[i][1];
        }
    }
    return nearest_word(name, command_at, NULL);
}

static int run_command(const char *name, int argc, char **argv) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            optind = 0; /* restarts getopt_long for the command */
            set_command(name);
            return commands[i].run(argc, argv);
        }
    }
    const char *meant = command_meant(name);
    complain(
        STATUS_USAGE,
        "the command is '%s': expected run, elect, list, show, wait, unlock, acquire, release, extend, doctor, top or "
        "help",
        name);
    if (meant) {
        notice("did you mean redlatch %s?", meant);
    }
    return STATUS_USAGE;
}

static int help(char *command) {
    if (command) {
        return run_command(command, 2, (char *[]){command, (char[]){"--help"}, NULL});
    }
    fputs(usage, stdout);
    return finish_output(STATUS_GOOD);
}

/* Passes over the options before the command. Returns false if the program is to exit with *status_out. */
static bool pass_options(int argc, char **argv, int *status_out) {
    int letter;
    while ((letter = next_option(argc, argv, "+:u:hV", long_options, "")) != -1) {
        switch (letter) {
        case 'h':
            *status_out = help(NULL);
            return false;
        case 'V':
            printf("redlatch %s\n", redlatch_version());
            *status_out = finish_output(STATUS_GOOD);
            return false;
        case '?': /* next_option has said what is wrong */
            *status_out = STATUS_USAGE;
            return false;
        default: /* the command takes it */
            break;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    fill_standard_streams();
    int exit_status;
    if (!pass_options(argc, argv, &exit_status)) {
        return exit_status;
    }
    if (optind >= argc) {
        fputs(usage, stderr);
        return STATUS_USAGE;
    }
    char *name = argv[optind];
    if (strcmp(name, "help") == 0) {
        return help(argv[optind + 1]);
    }
    memmove(argv + 2, argv + 1, (size_t)(optind - 1) * sizeof *argv); /* options before the command go behind it */
    argv[1] = name;
    return run_command(name, argc - 1, argv + 1);
}
