/* The descriptors of the schedule: signals, alarms and sets, closing, and polling.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <string.h>

#include "lines.h"
#include "schedule.h"
#include "system.h"
#include "wrapped.h"
#include "wrapped_system.h"

static struct descriptor table[DESCRIPTORS_MAX];

void descriptors_begin(void) {
    memset(table, 0, sizeof table);
}

int descriptors_open(void) {
    int count = 0;
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        count += table[i].kind != DESCRIPTOR_FREE;
    }
    return count;
}

struct descriptor *descriptor_of(int fd) {
    bool known = fd >= 0 && fd < DESCRIPTORS_MAX && table[fd].kind != DESCRIPTOR_FREE;
    return known ? &table[fd] : NULL;
}

int descriptor_new(enum descriptor_kind kind) {
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        if (table[i].kind == DESCRIPTOR_FREE) {
            table[i] = (struct descriptor){.kind = kind, .at = INT64_MAX};
            return i;
        }
    }
    errno = EMFILE;
    return -1;
}

short descriptor_events(int fd, short events) {
    const struct descriptor *descriptor = descriptor_of(fd);
    if (!descriptor) {
        return fd < 0 ? 0 : POLLNVAL;
    }
    bool readable = false;
    switch (descriptor->kind) {
    case DESCRIPTOR_SOCKET:
        return line_events(descriptor, events);
    case DESCRIPTOR_SIGNAL:
        readable = descriptor->count > 0;
        break;
    case DESCRIPTOR_ALARM:
        readable = descriptor->at <= schedule_now();
        break;
    default:
        for (int i = 0; i < descriptor->member_count; i++) {
            readable = readable || descriptor_events(descriptor->members[i], POLLIN);
        }
    }
    return readable ? events & POLLIN : 0;
}

bool __wrap_system_signal_new(struct system_signal *signal_out) {
    int fd = wrapped_system_fails("system_signal_new") ? -1 : descriptor_new(DESCRIPTOR_SIGNAL);
    *signal_out = (struct system_signal){fd, fd};
    return fd >= 0;
}

void __wrap_system_signal(const struct system_signal *signal) {
    trace("signals %d", signal->fd);
    struct descriptor *descriptor = descriptor_of(signal->fd);
    if (descriptor) {
        descriptor->count++;
    }
}

void __wrap_system_unsignal(int fd) {
    trace("takes the signal %d", fd);
    struct descriptor *descriptor = descriptor_of(fd);
    if (descriptor && descriptor->kind == DESCRIPTOR_ALARM) {
        descriptor->at = INT64_MAX;
    } else if (descriptor) {
        descriptor->count = 0;
    }
}

int __wrap_system_alarm_new(void) {
    return wrapped_system_fails("system_alarm_new") ? -1 : descriptor_new(DESCRIPTOR_ALARM);
}

static void ring(void *context, uint64_t number) {
    (void)context; /* the clock stops at the event; nothing else is to be done */
    (void)number;
}

bool __wrap_system_alarm_set(int fd, int64_t at) {
    if (wrapped_system_fails("system_alarm_set")) {
        return false;
    }
    trace("sets the alarm %d in %lld", fd, at == INT64_MAX ? -1LL : (long long)(at - schedule_now()));
    descriptor_of(fd)->at = at;
    if (at != INT64_MAX) {
        schedule_at(at, ring, NULL, 0);
    }
    return true;
}

int __wrap_system_set_new(void) {
    return wrapped_system_fails("system_set_new") ? -1 : descriptor_new(DESCRIPTOR_SET);
}

int __wrap_system_set_add(int set, int fd) {
    if (wrapped_system_fails("system_set_add")) {
        return -1;
    }
    trace("watches %d in %d", fd, set);
    struct descriptor *descriptor = descriptor_of(set);
    if (descriptor->member_count == SET_MAX) {
        return -1;
    }
    descriptor->members[descriptor->member_count++] = fd;
    return 0;
}

static void leave_set(struct descriptor *set, int fd) {
    int kept = 0;
    for (int i = 0; i < set->member_count; i++) {
        if (set->members[i] != fd) {
            set->members[kept++] = set->members[i];
        }
    }
    set->member_count = kept;
}

int __wrap_system_set_remove(int set, int fd) {
    trace("watches %d no more in %d", fd, set);
    leave_set(descriptor_of(set), fd);
    return 0;
}

int __wrap_close(int fd) {
    struct descriptor *descriptor = descriptor_of(fd);
    if (!descriptor) {
        return __real_close(fd);
    }
    trace("closes %d", fd);
    if (descriptor->kind == DESCRIPTOR_SOCKET) {
        line_hang_up(descriptor->line);
    }
    descriptor->kind = DESCRIPTOR_FREE;
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        leave_set(&table[i], fd);
    }
    return 0;
}

struct polled {
    struct pollfd *fds;
    size_t count;
};

static bool any_is_ready(const void *context) {
    const struct polled *polled = context;
    bool ready = false;
    for (size_t i = 0; i < polled->count; i++) {
        polled->fds[i].revents = descriptor_events(polled->fds[i].fd, polled->fds[i].events);
        ready = ready || polled->fds[i].revents;
    }
    return ready;
}

int __wrap_system_poll(struct pollfd *fds, size_t count, int64_t until) {
    char names[200] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, " %d/%d", fds[i].fd, fds[i].events);
    }
    trace("polls%s for %lld", names, until == INT64_MAX ? -1LL : (long long)(until - schedule_now()));
    schedule_spend(1);
    struct polled polled = {fds, count};
    return actor_wait(any_is_ready, &polled, until);
}

/* Called for sockets only, and never with a timeout. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout) {
    if (timeout != 0) {
        trace("polls sockets for %d ms", timeout);
    }
    struct polled polled = {fds, count};
    return any_is_ready(&polled);
}
