/* The server that a command works with, and its password: from options, the environment and a password file.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { PASSWORD_MAX = 4096 };

/* Returns where the password of a URL begins, and stores the position of the @ behind it. Returns NULL if there is
 * none. A / or ? in a password has to be escaped. One that is not makes the URL invalid, but the password still is a
 * secret and is found. */
static char *find_password(const char *url, char **at_out) {
    char *mark = strstr(url, "://");
    if (!mark) {
        return NULL;
    }
    char *login = mark + 3;
    char *at = find_last(login, '@', strcspn(login, "/?"));
    if (!at && strncmp(url, "unix:", 5) != 0) {
        at = strrchr(login, '@');
    }
    *at_out = at;
    char *colon = at ? memchr(login, ':', (size_t)(at - login)) : NULL;
    return colon ? colon + 1 : NULL;
}

static const char SENTINEL_PASSWORD[] = "sentinel_password=";

/* Returns the next sentinel_password=. `option` is the ? or & before the first option to compare. Returns NULL if there
 * is none. */
static char *next_sentinel_password(char *option) {
    while (option && strncmp(option + 1, SENTINEL_PASSWORD, sizeof SENTINEL_PASSWORD - 1) != 0) {
        option = strchr(option + 1, '&');
    }
    return option ? option + 1 : NULL;
}

static char *find_sentinel_password(const char *url) {
    return next_sentinel_password(strchr(url, '?'));
}

/* Removes the option each time it occurs. */
static void remove_sentinel_password(char *url) {
    char *option;
    while ((option = find_sentinel_password(url)) != NULL) {
        const char *next = option + strcspn(option, "&");
        if (*next == '&') {
            memmove(option, next + 1, strlen(next + 1) + 1);
        } else {
            option[-1] = '\0';
        }
    }
}

static char *copy_without_login_password(const char *url) {
    char *at;
    const char *password = find_password(url, &at);
    if (!password) {
        return strdup(url);
    }
    size_t before = (size_t)(password - 1 - url);
    bool nobody = before >= 3 && memcmp(url + before - 3, "://", 3) == 0;
    char *bare = malloc(strlen(url) + 1);
    if (bare) {
        memcpy(bare, url, before);
        const char *rest = nobody ? at + 1 : at;
        memcpy(bare + before, rest, strlen(rest) + 1);
    }
    return bare;
}

char *url_without_password(const char *url) {
    char *bare = copy_without_login_password(url);
    if (bare) {
        remove_sentinel_password(bare);
    }
    return bare;
}

/* Keeps a copy of a URL of the command line, and overwrites the passwords there: the list of processes shows them to
 * everybody. */
static void take_url(struct server_options *server, char *url) {
    static char *kept; /* as long as the program runs */
    char *at;
    char *password = find_password(url, &at);
    char *option = find_sentinel_password(url);
    server->url = url;
    if (!password && !option) {
        return;
    }
    free(kept);
    kept = strdup(url);
    server->url = kept ? kept : "";
    if (password) {
        memset(password, '*', (size_t)(at - password));
    }
    while (option) {
        option += sizeof SENTINEL_PASSWORD - 1;
        memset(option, '*', strcspn(option, "&"));
        option = next_sentinel_password(strchr(option, '&'));
    }
    bool runs = current_command() && strcmp(current_command(), "run") == 0;
    notice("the password in -u can be read by others on this machine%s: use --password-file, REDISCLI_AUTH or"
           " REDIS_URL",
           runs ? ", and CMD does not get it" : "");
}

bool take_server_option(struct server_options *server, int letter, const char *usage, int *status_out) {
    if (letter >= OPTION_TLS && letter < OPTION_TLS + TLS_COUNT) {
        server->tls[letter - OPTION_TLS] = optarg;
        return true;
    }
    switch (letter) {
    case 'u':
        take_url(server, optarg);
        return true;
    case OPTION_PREFIX:
        server->prefix = optarg;
        return true;
    case OPTION_PASSWORD_FILE:
        server->password_file = optarg;
        return true;
    case 'h':
        fputs(usage, stdout);
        *status_out = finish_output(STATUS_GOOD);
        return false;
    default: /* next_option has said what is wrong */
        *status_out = STATUS_USAGE;
        return false;
    }
}

const char *server_url(const struct server_options *server) {
    const char *environment = getenv("REDIS_URL");
    return server->url ? server->url : environment && *environment ? environment : "redis://127.0.0.1:6379/0";
}

static void wipe(char *text, size_t size) {
    for (volatile char *at = text; size > 0; size--) {
        *at++ = 0; /* volatile: the compiler must not omit this write */
    }
}

/* Reads a file, at most one byte more than a password may have. Returns the number of bytes, or -1 with errno. */
static ssize_t read_file(const char *path, char *bytes) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    size_t size = 0;
    ssize_t got;
    while (size <= PASSWORD_MAX && (got = read(fd, bytes + size, PASSWORD_MAX + 1 - size)) != 0) {
        if (got > 0) {
            size += (size_t)got;
        } else if (errno != EINTR) {
            int why = errno;
            close(fd);
            errno = why;
            return -1;
        }
    }
    close(fd);
    return (ssize_t)size;
}

/* Reads the first line of a file as the password. Returns false after a complaint. */
static bool read_password(const char *path, char password[PASSWORD_MAX + 2]) {
    ssize_t got = read_file(path, password);
    if (got < 0) {
        complain(STATUS_USAGE, "--password-file '%s': %s", path, strerror(errno));
        return false;
    }
    size_t size = (size_t)got;
    char *newline = memchr(password, '\n', size);
    size = newline ? (size_t)(newline - password) : size;
    password[size] = '\0';
    const char *wrong = size == 0                 ? "is empty"
                        : size > PASSWORD_MAX     ? "is too long"
                        : strlen(password) < size ? "has a NUL in it"
                                                  : NULL;
    if (wrong) {
        complain(STATUS_USAGE, "--password-file '%s': its first line %s: expected a password of at most %d bytes", path,
                 wrong, PASSWORD_MAX);
    }
    return !wrong;
}

static int open_with(const struct server_options *server, redlatch_client_options *options,
                     redlatch_client **client_out) {
    char password[PASSWORD_MAX + 2];
    const char *environment = getenv("REDISCLI_AUTH");
    const char *url = server_url(server);
    char *at;
    if (server->password_file) {
        if (!read_password(server->password_file, password)) {
            return STATUS_USAGE;
        }
        options->password = password;
    } else if (environment && *environment && !find_password(url, &at)) {
        options->password = environment;
    }
    int status = redlatch_client_open(url, options, client_out);
    options->password = NULL; /* the client has a copy */
    wipe(password, sizeof password);
    return status == REDLATCH_OK ? STATUS_GOOD : complain_of(status);
}

static struct server_options opened;

const struct server_options *server_opened(void) {
    return &opened;
}

int open_client(const struct server_options *server, const redlatch_client_options *own, redlatch_client **client_out) {
    opened = *server;
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    if (own) {
        options = *own;
    }
    options.language = REDLATCH_LANGUAGE_COMMAND;
    tls_fill(server, &options);
    if (server->prefix) {
        options.name_prefix = server->prefix;
        options.name_prefix_size = strlen(server->prefix);
    }
    return open_with(server, &options, client_out);
}

/* The variable that tells CMD, which may be elsewhere, in which folder `run` was started. */
static const char FOLDER[] = "REDLATCH_FOLDER";

/* Returns a URL as `run` resolves it: relative paths begin in `folder`, where it was started. In new memory, or NULL if
 * there is none. */
static char *url_of_run(const char *url, const char *folder) {
    return folder ? tls_url_from(url, folder) : strdup(url);
}

bool server_export(const struct server_options *server) {
    char *folder = getcwd(NULL, 0); /* NULL if it was deleted: no relative path leads anywhere then */
    char *whole = url_of_run(server_url(server), folder);
    char *url = whole ? url_without_password(whole) : NULL;
    char *file = server->password_file ? realpath(server->password_file, NULL) : NULL;
    bool good = url && set_variable("REDLATCH_URL", url) && set_variable("REDLATCH_PREFIX", server->prefix) &&
                set_variable(FOLDER, folder) &&
                set_variable("REDLATCH_PASSWORD_FILE", file ? file : server->password_file) && tls_export(server);
    free(folder);
    free(whole);
    free(url);
    free(file);
    return good;
}

/* Compares `url` with the exported URL, which has no password. If `url` is the same apart from its password, returns it
 * with its password and as `run` resolves it, in new memory. Returns NULL otherwise. */
static char *same_as_of_run(const char *url, const char *exported) {
    char *whole = url ? url_of_run(url, getenv(FOLDER)) : NULL;
    char *bare = whole ? url_without_password(whole) : NULL;
    bool same = bare && strcmp(bare, exported) == 0;
    free(bare);
    if (!same) {
        free(whole);
    }
    return same ? whole : NULL;
}

struct server_options server_of_run(const struct server_options *given) {
    static char *kept; /* as long as the program runs */
    struct server_options server = *given;
    const char *exported = getenv("REDLATCH_URL");
    if (!server.url && exported) {
        free(kept);
        kept = same_as_of_run(getenv("REDIS_URL"), exported);
        server.url = kept ? kept : exported;
        server.password_file = server.password_file ? server.password_file : getenv("REDLATCH_PASSWORD_FILE");
        tls_of_run(&server);
    }
    server.prefix = server.prefix ? server.prefix : getenv("REDLATCH_PREFIX");
    return server;
}

bool server_is_of_run(const struct server_options *server) {
    const char *exported = getenv("REDLATCH_URL");
    const char *prefix = getenv("REDLATCH_PREFIX");
    bool same_prefix = prefix && server->prefix ? strcmp(prefix, server->prefix) == 0 : !prefix && !server->prefix;
    char *url = exported && same_prefix ? same_as_of_run(server_url(server), exported) : NULL;
    bool same = url != NULL;
    free(url);
    return same;
}

bool set_variable(const char *name, const char *text) {
    return (text ? setenv(name, text, 1) : unsetenv(name)) == 0;
}
