/* The system calls: clock, sleeping and waking, signals, sets, random bytes, forks, background threads.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "records.h"
#include "unit.h"

static int64_t clock_now(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec / 1000;
}

#ifdef REDLATCH_PORTABLE
static const clockid_t CLOCK_OF_SYSTEM = CLOCK_MONOTONIC;
#else
static const clockid_t CLOCK_OF_SYSTEM = CLOCK_BOOTTIME;
#endif

static void the_clock_is_the_one_that_counts_suspend(void) {
    int64_t before = clock_now(CLOCK_OF_SYSTEM);
    int64_t now = system_now();
    int64_t after = clock_now(CLOCK_OF_SYSTEM);
    CHECK(before <= now && now <= after);
    int64_t last = now;
    for (int i = 0; i < 100000; i++) {
        now = system_now();
        CHECK(now >= last);
        last = now;
    }
}

static void sleeping_ends_in_time(void) {
    _Atomic uint32_t word = 5;
    int64_t start = system_now();
    system_wait(&word, 6, NEVER);          /* not what is expected: no sleep */
    system_wait(&word, 5, start - SECOND); /* over already */
    CHECK(system_now() - start < SECOND);
    start = system_now();
    int sleeps = 0;
    for (; system_now() < start + SECOND / 50; sleeps++) {
        system_wait(&word, 5, start + SECOND / 50);
    }
    CHECK(system_now() - start < SECOND);
    CHECK(sleeps < 10);
    CHECK_EQ_INT(word, 5); /* the word is not touched */
}

static _Atomic uint32_t shared_word;
static _Atomic uint32_t awake;

static void *sleep_on_word(void *unused) {
    (void)unused;
    while (atomic_load(&shared_word) == 0) {
        system_wait(&shared_word, 0, NEVER);
    }
    atomic_fetch_add(&awake, 1);
    return NULL;
}

static void waking_one_and_all(void) {
    pthread_t threads[4];
    atomic_store(&shared_word, 0);
    atomic_store(&awake, 0);
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, sleep_on_word, NULL) == 0);
    }
    usleep(20000);
    system_wake(&shared_word); /* nothing has changed: they sleep on */
    system_wake_all(&shared_word);
    usleep(20000);
    CHECK_EQ_INT(awake, 0);
    atomic_store(&shared_word, 1);
    system_wake_all(&shared_word);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ_INT(awake, 4);
    atomic_store(&shared_word, 0);
    CHECK(pthread_create(&threads[0], NULL, sleep_on_word, NULL) == 0);
    usleep(20000);
    atomic_store(&shared_word, 1);
    system_wake(&shared_word);
    pthread_join(threads[0], NULL);
    CHECK_EQ_INT(awake, 5);
}

static struct system_signal interrupting;

static void *sleep_until_interrupted(void *unused) {
    (void)unused;
    while (atomic_load(&shared_word) == 0) {
        system_wait_interruptible(&shared_word, 0, NEVER, &interrupting);
    }
    atomic_fetch_add(&awake, 1);
    return NULL;
}

/* A thread sleeps until the signal or a change of the futex, and `wake` wakes it. That is wake-up number `times`. */
static void check_woken(void (*wake)(void), uint32_t times) {
    pthread_t thread;
    atomic_store(&shared_word, 0);
    CHECK(pthread_create(&thread, NULL, sleep_until_interrupted, NULL) == 0);
    usleep(20000);
    CHECK_EQ_INT(awake, times - 1);
    atomic_store(&shared_word, 1);
    wake();
    pthread_join(thread, NULL);
    CHECK_EQ_INT(awake, times);
}

static void wake_plainly(void) {
    system_wake(&shared_word);
}

static void wake_all_plainly(void) {
    system_wake_all(&shared_word);
}

static void interrupt_word(void) {
    system_interrupt(&shared_word, &interrupting);
}

/* A handler may run in a thread that holds the lock that system_wake needs. */
static void interrupt_in_handler(int number) {
    (void)number;
    interrupt_word();
}

static void wake_in_handler(void) {
    struct sigaction action = {.sa_handler = interrupt_in_handler};
    struct sigaction before;
    CHECK(sigaction(SIGUSR1, &action, &before) == 0);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
}

static void sleepers_with_a_signal_are_woken_by_either(void) {
    CHECK(system_signal_new(&interrupting));
    atomic_store(&awake, 0);
    check_woken(wake_plainly, 1);
    check_woken(wake_all_plainly, 2);
    check_woken(interrupt_word, 3);
    check_woken(wake_in_handler, 4);
    int64_t start = system_now();
    atomic_store(&shared_word, 0);
    system_wait_interruptible(&shared_word, 1, NEVER, &interrupting); /* not what is expected */
    while (system_now() < start + SECOND / 50) {
        system_wait_interruptible(&shared_word, 0, start + SECOND / 50, &interrupting);
    }
    CHECK(system_now() - start < SECOND);
    system_signal_close(&interrupting);
    struct system_signal none = SYSTEM_NO_SIGNAL;
    system_wait_interruptible(&shared_word, 0, start, &none);
    system_wait_interruptible(&shared_word, 0, start, NULL);
    system_signal_close(&none);
    CHECK(none.fd == -1 && interrupting.fd == -1);
}

static bool is_readable(int fd) {
    struct pollfd one = {fd, POLLIN, 0};
    return system_poll(&one, 1, system_now()) == 1 && one.revents == POLLIN;
}

static void signals_are_levels(void) {
    struct system_signal signal;
    CHECK(system_signal_new(&signal) && !is_readable(signal.fd));
    errno = 1234;
    for (int i = 0; i < 100000; i++) { /* more than a pipe holds */
        system_signal(&signal);
    }
    CHECK_EQ_INT(errno, 1234);
    CHECK(is_readable(signal.fd) && is_readable(signal.fd));
    system_unsignal(signal.fd); /* one call resets them all */
    CHECK(!is_readable(signal.fd));
    system_unsignal(signal.fd); /* does not block */
    CHECK(!is_readable(signal.fd));
    system_signal_close(&signal);
}

#ifdef REDLATCH_PORTABLE
static void there_are_no_alarms_and_no_sets(void) {
    CHECK_EQ_INT(system_alarm_new(), -1);
    CHECK(!system_alarm_set(-1, NEVER));
    CHECK_EQ_INT(system_set_new(), SYSTEM_NO_SETS);
    CHECK_EQ_INT(system_set_add(SYSTEM_NO_SETS, 0), -1);
    CHECK_EQ_INT(system_set_remove(SYSTEM_NO_SETS, 0), -1);
}
#else
static void an_alarm_goes_off_at_its_time_and_once(void) {
    int fd = system_alarm_new();
    CHECK(fd >= 0);
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    int64_t at = system_now() + SECOND / 50;
    CHECK(system_alarm_set(fd, at));
    CHECK_EQ_INT(poll(&polled, 1, 10000), 1);
    CHECK(system_now() >= at);
    system_unsignal(fd);
    CHECK_EQ_INT(poll(&polled, 1, 50), 0);
    CHECK(system_alarm_set(fd, 0)); /* over already */
    CHECK_EQ_INT(poll(&polled, 1, 10000), 1);
    CHECK(system_alarm_set(fd, NEVER)); /* what it has signalled is cleared, too */
    CHECK_EQ_INT(poll(&polled, 1, 50), 0);
    CHECK(!system_alarm_set(-1, at));
    close(fd);
}

static void sets_show_their_members(void) {
    int set = system_set_new();
    struct system_signal first;
    struct system_signal second;
    CHECK(system_signal_new(&first) && system_signal_new(&second));
    CHECK_EQ_INT(system_set_add(set, first.fd), 0);
    CHECK_EQ_INT(system_set_add(set, second.fd), 0);
    CHECK_EQ_INT(system_set_add(set, second.fd), -1);
    CHECK(!is_readable(set));
    system_signal(&second);
    CHECK(is_readable(set));
    CHECK_EQ_INT(system_set_remove(set, second.fd), 0);
    CHECK_EQ_INT(system_set_remove(set, second.fd), -1);
    CHECK(!is_readable(set));
    system_signal(&first);
    CHECK(is_readable(set));
    system_signal_close(&first);
    system_signal_close(&second);
    close(set);
}
#endif

static void polling_ends_in_time(void) {
    struct pollfd nothing = {-1, POLLIN, 0};
    int64_t start = system_now();
    CHECK_EQ_INT(system_poll(&nothing, 1, start + SECOND / 50), 0);
    int64_t passed = system_now() - start;
    CHECK(passed >= SECOND / 50 - MILLISECOND && passed < SECOND);
    CHECK_EQ_INT(system_poll(&nothing, 1, start - SECOND), 0);
    CHECK_EQ_INT(system_poll(NULL, 0, start), 0);
}

static void random_bytes_differ(void) {
    unsigned char one[600] = {0};
    unsigned char other[600] = {0};
    CHECK(system_random(one, sizeof one) && system_random(other, sizeof other));
    CHECK(memcmp(one, other, sizeof one) != 0);
    int zeros = 0;
    for (size_t i = 0; i < sizeof one; i++) {
        zeros += one[i] == 0;
    }
    CHECK(zeros < 60);
    CHECK(system_random(one, 0));
}

static void processors_are_counted(void) {
    int count = system_processors();
    CHECK(count >= 1 && count <= sysconf(_SC_NPROCESSORS_CONF));
}

static int befores, parents, children;

static void before(void) {
    befores++;
}

static void parent(void) {
    parents++;
}

static void child(void) {
    children++;
}

static void forks_are_counted_in_the_child(void) {
    CHECK_EQ_INT(system_at_fork(before, parent, child), 0);
    uint32_t generation = system_fork_generation();
    pid_t first = fork();
    if (first == 0) {
        pid_t second = children == 1 && befores == 1 && system_fork_generation() == generation + 1 ? fork() : -1;
        if (second == 0) {
            _exit(system_fork_generation() == generation + 2 && parents == 0 ? 0 : 1);
        }
        int status = 1;
        _exit(waitpid(second, &status, 0) == second && status == 0 ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(first, &status, 0) == first);
    CHECK_EQ_INT(status, 0);
    CHECK_EQ_INT(system_fork_generation(), generation);
    CHECK(befores == 1 && parents == 1 && children == 0);
}

static void *recheck_at_myself(void *name_out) {
    system_thread_name("redlatch-unit");
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1));
    CHECK(pthread_getname_np(pthread_self(), name_out, 16) == 0);
    return NULL;
}

static void background_threads_are_named_and_deaf(void) {
    char name[16] = "";
    pthread_t thread;
    CHECK(system_thread_start(&thread, recheck_at_myself, name));
    pthread_join(thread, NULL);
    CHECK_STR(name, "redlatch-unit");
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGINT)); /* blocked only in that thread */
}

int main(void) {
    RUN(the_clock_is_the_one_that_counts_suspend);
    RUN(sleeping_ends_in_time);
    RUN(waking_one_and_all);
    RUN(sleepers_with_a_signal_are_woken_by_either);
    RUN(signals_are_levels);
#ifdef REDLATCH_PORTABLE
    RUN(there_are_no_alarms_and_no_sets);
#else
    RUN(an_alarm_goes_off_at_its_time_and_once);
    RUN(sets_show_their_members);
#endif
    RUN(polling_ends_in_time);
    RUN(random_bytes_differ);
    RUN(processors_are_counted);
    RUN(forks_are_counted_in_the_child);
    RUN(background_threads_are_named_and_deaf);
    return unit_done();
}
