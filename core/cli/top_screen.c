/* Draws on a terminal with control sequences that all terminals know.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "top_screen.h"

#include "columns.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { NAME, KIND, HOLDER, HOST, COUNT, TTL, WAITING, RATE, COLUMNS };
enum { NARROWEST = 8 };

static const char *const heads[COLUMNS] = {"NAME", "KIND", "HOLDER", "HOST", "COUNT", "TTL", "WAITING", "CHANGES/S"};

static struct termios saved;
static volatile sig_atomic_t ended_by;

static void end(int number) {
    ended_by = number;
}

/* Does nothing. The signal interrupts the wait for a key. */
static void resized(int number) {
    (void)number;
}

bool screen_open(void) {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &saved) != 0) {
        return false;
    }
    struct sigaction ends = {.sa_handler = end};
    struct sigaction resizes = {.sa_handler = resized};
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGHUP, &ends, NULL);
    sigaction(SIGWINCH, &resizes, NULL);
    struct termios raw = saved;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* Ctrl-Z would leave the terminal in this mode */
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    fputs("\033[?1049h\033[?25l", stdout);
    fflush(stdout);
    return true;
}

void screen_close(void) {
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

void screen_size(int *rows, int *columns) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *rows = known ? size.ws_row : 24;
    *columns = known ? size.ws_col : 80;
}

int screen_key(int wait_ms) {
    struct pollfd fd = {STDIN_FILENO, POLLIN, 0};
    int ready = ended_by ? 0 : poll(&fd, 1, wait_ms);
    unsigned char key;
    if (ended_by) {
        return -1;
    }
    if (ready <= 0) {
        return ready == 0 || errno == EINTR ? 0 : -1;
    }
    return read(STDIN_FILENO, &key, 1) == 1 ? key : -1;
}

int screen_ended_by(void) {
    return ended_by;
}

/* ---------------------------------------------------------------------------------------------------------- drawing --
 */

/* Returns the whole text of a cell. In new memory, or NULL if there is none. */
static char *cell(const struct top_lock *lock, int column) {
    char text[200];
    uint64_t waiting = lock->waiting > lock->waiters ? lock->waiting : lock->waiters;
    switch (column) {
    case NAME: {
        int width;
        return text_shown(lock->name, lock->name_size, 0, &width);
    }
    case KIND:
        return strdup(redlatch_detected_kind_name(lock->detected_kind));
    case HOLDER:
        if (lock->holders > 1) {
            snprintf(text, sizeof text, "%llu holders, %s", (unsigned long long)lock->holders, lock->owner);
        } else {
            snprintf(text, sizeof text, "%s", *lock->owner ? lock->owner : "-");
        }
        break;
    case HOST:
        snprintf(text, sizeof text, "%s", *lock->host ? lock->host : "-");
        break;
    case COUNT:
        snprintf(text, sizeof text, "%llu", (unsigned long long)lock->count);
        break;
    case TTL:
        if (lock->holders && lock->ttl_ms != -2 &&
            (lock->ttl_ms >= 0 || lock->detected_kind != REDLATCH_DETECTED_PERMIT_SEMAPHORE)) {
            text_ttl(lock->ttl_ms, text);
        } else {
            snprintf(text, sizeof text, "-");
        }
        break;
    case WAITING:
        snprintf(text, sizeof text, waiting ? "%llu" : "-", (unsigned long long)waiting);
        break;
    default:
        snprintf(text, sizeof text, "%.1f", lock->rate);
        break;
    }
    return strdup(text);
}

/* Makes the columns fit a terminal. Holders, hosts and then names are cut. If that is not enough, columns are left out,
 * and names are cut further. */
static void fit(int widths[COLUMNS], int terminal) {
    const struct column_rule rules[] = {{HOLDER, NARROWEST}, {HOST, NARROWEST}, {NAME, terminal / 2}, {HOLDER, 0},
                                        {COUNT, 0},          {KIND, 0},         {NAME, NARROWEST}};
    columns_fit(widths, COLUMNS, rules, sizeof rules / sizeof rules[0], terminal);
}

static void put_text(const char *text, int width) {
    columns_print(text, width, &(int){0}, "");
}

static void draw_table(char *const *cells, size_t count, int columns) {
    int widths[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        widths[column] = columns_width(heads[column], cells, count, COLUMNS, column);
    }
    fit(widths, columns);
    int printed = 0;
    fputs(text_coloured() ? "\033[7m" : "", stdout);
    for (int column = 0; column < COLUMNS; column++) {
        columns_print(heads[column], widths[column], &printed, "");
    }
    fputs("\033[0m\033[K\r\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printed = 0;
        for (int column = 0; column < COLUMNS; column++) {
            columns_print(cells[i * COLUMNS + (size_t)column], widths[column], &printed, "");
        }
        fputs(i + 1 < count ? "\033[K\r\n" : "\033[K", stdout);
    }
}

static void draw_head(const struct screen_head *head, const struct top_locks *locks, int columns) {
    char text[512];
    char clock[16];
    time_t now = time(NULL);
    struct tm local;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &local));
    snprintf(text, sizeof text, "redlatch top  %s  %s  (q ends it)", head->url, clock);
    put_text(text, columns);
    fputs("\033[K\r\n", stdout);
    int size = snprintf(text, sizeof text, "%zu locks, %zu held%s", locks->count, head->held,
                        locks->complete ? "" : ", more to be found");
    if (head->problem) {
        snprintf(text, sizeof text, "%s", head->problem);
    } else if (head->commands_per_second >= 0) {
        snprintf(text + size, sizeof text - (size_t)size, "; the %s %.0f commands a second",
                 head->cluster ? "nodes carry out" : "server carries out", head->commands_per_second);
    }
    put_text(text, columns);
    fputs("\033[K\r\n", stdout);
}

void screen_draw(const struct screen_head *head, const struct top_locks *locks, struct top_lock *const *chosen,
                 size_t count) {
    int rows;
    int columns;
    screen_size(&rows, &columns);
    char **cells = calloc(count * COLUMNS + 1, sizeof *cells);
    if (!cells) {
        return;
    }
    for (size_t i = 0; i < count * COLUMNS; i++) {
        cells[i] = cell(chosen[i / COLUMNS], (int)(i % COLUMNS));
    }
    fputs("\033[H", stdout);
    draw_head(head, locks, columns);
    draw_table(cells, count, columns);
    fputs("\033[J", stdout);
    fflush(stdout);
    for (size_t i = 0; i < count * COLUMNS; i++) {
        free(cells[i]);
    }
    free(cells);
}
