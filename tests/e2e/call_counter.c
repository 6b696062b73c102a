/* Loaded before a program: counts its calls of the C library that wait, read, write or enter the kernel otherwise, in a
 * page that the test maps, too. REDLATCH_TEST_CALLS names the file. What the C library calls itself is not seen.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t unwatched;
static uint64_t *calls = &unwatched;

__attribute__((constructor)) static void map_page(void) {
    const char *path = getenv("REDLATCH_TEST_CALLS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    calls = page == MAP_FAILED ? &unwatched : page;
    if (fd >= 0) {
        close(fd);
    }
}

static void *count(const char *name) {
    __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
    return dlsym(RTLD_NEXT, name);
}

#define COUNTED(type, name, parameters, arguments) \
    type name parameters { \
        type(*real) parameters = (type(*) parameters)count(#name); \
        return real arguments; \
    }

COUNTED(int, poll, (struct pollfd * fds, nfds_t size, int timeout), (fds, size, timeout))
COUNTED(int, __poll_chk, (struct pollfd * fds, nfds_t size, int timeout, size_t room), (fds, size, timeout, room))
COUNTED(int, ppoll, (struct pollfd * fds, nfds_t size, const struct timespec *timeout, const sigset_t *mask),
        (fds, size, timeout, mask))
COUNTED(int, __ppoll_chk,
        (struct pollfd * fds, nfds_t size, const struct timespec *timeout, const sigset_t *mask, size_t room),
        (fds, size, timeout, mask, room))
COUNTED(int, epoll_wait, (int set, struct epoll_event *events, int size, int timeout), (set, events, size, timeout))
COUNTED(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
COUNTED(ssize_t, __read_chk, (int fd, void *bytes, size_t size, size_t room), (fd, bytes, size, room))
COUNTED(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
COUNTED(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
COUNTED(ssize_t, __recv_chk, (int fd, void *bytes, size_t size, size_t room, int flags), (fd, bytes, size, room, flags))
COUNTED(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
COUNTED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
COUNTED(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
COUNTED(ssize_t, writev, (int fd, const struct iovec *parts, int size), (fd, parts, size))
COUNTED(int, sched_yield, (void), ())

/* By which the core waits for a word in memory. */
long syscall(long number, ...) {
    va_list given;
    va_start(given, number);
    long words[6];
    for (int i = 0; i < 6; i++) {
        words[i] = va_arg(given, long);
    }
    va_end(given);
    long (*real)(long, ...) = (long (*)(long, ...))count("syscall");
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
