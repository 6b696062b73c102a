/* The functions that the linker replaces by those of the schedule. __real_ functions are the original ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WRAPPED_H
#define WRAPPED_H

#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

#include "resolver.h"
#include "system.h"

struct addrinfo;
struct connection;
struct output;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_join(pthread_t thread, void **result);
int __real_close(int fd);
void *__real_malloc(size_t size);
void *__real_calloc(size_t number, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *allocated);
bool __real_output_reserve(struct output *output, size_t size);
void __real_connection_fail(struct connection *connection, const char *why, int64_t now);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *allocated);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_detach(pthread_t thread);
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *value));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_close(int fd);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_shutdown(int fd, int how);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
int __wrap_gethostname(char *name, size_t size);
pid_t __wrap_getpid(void);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *first);

int __wrap_socket_connecting(const struct address *address, int64_t dead_peer_timeout);
int __wrap_socket_outcome(int fd);
void __wrap_socket_let_sleep(int fd, int64_t most);
void __wrap_socket_abort(int fd);
bool __wrap_output_reserve(struct output *output, size_t size);
void __wrap_connection_fail(struct connection *connection, const char *why, int64_t now);

int64_t __wrap_system_now(void);
void __wrap_system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until);
void __wrap_system_wake(_Atomic uint32_t *futex);
void __wrap_system_wake_all(_Atomic uint32_t *futex);
void __wrap_system_yield(void);
bool __wrap_system_signal_new(struct system_signal *signal_out);
void __wrap_system_signal(const struct system_signal *signal);
void __wrap_system_unsignal(int fd);
int __wrap_system_alarm_new(void);
bool __wrap_system_alarm_set(int fd, int64_t at);
int __wrap_system_set_new(void);
int __wrap_system_set_add(int set, int fd);
int __wrap_system_set_remove(int set, int fd);
int __wrap_system_poll(struct pollfd *fds, size_t count, int64_t until);
bool __wrap_system_random(void *bytes, size_t size);
int __wrap_system_processors(void);
bool __wrap_system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument);
void __wrap_system_thread_name(const char *name);

#endif
