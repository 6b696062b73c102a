/* Fuzz target: the replies of sentinels, to the search for a master and to the listener, and the replies of an
 * announced candidate. A search ends with a master or with a reason, within its time. Every address that is learned is
 * a host with a port. No message shows a password.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses the case. Then come pieces: a byte with the length less one, and the bytes of the piece. A
 * piece goes to the newest connection. At the end of the input all peers close their connections. */
#define _GNU_SOURCE
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "fuzz.h"
#include "handles.h"
#include "search.h"

enum { SILENT = 1, WITHOUT_SERVICE = 2, WITH_PASSWORD = 4, LISTENS = 8, TURNS_MAX = 100 };

static const char password[] = "S3CR3T";
static const int64_t START = 1000 * SECOND;
static const int64_t TIMEOUT = 4 * SECOND;

static char folder[] = "/tmp/redlatch-fuzz-XXXXXX";
static char path[sizeof folder + 2];
static int listener = -1;

static void remove_folder(void) {
    unlink(path);
    rmdir(folder);
}

static void listen_once(void) {
    if (listener >= 0) {
        return;
    }
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    MUST(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    memcpy(name.sun_path, path, sizeof path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(listener >= 0 && bind(listener, (struct sockaddr *)&name, sizeof name) == 0 && listen(listener, 8) == 0);
    atexit(remove_folder);
}

/* The other end of the newest connection. */
struct peer {
    int fd; /* -1: none */
    bool silent;
    uint8_t *sent; /* all pieces in a row */
    size_t sent_size;
};

static void take_newest(struct peer *peer) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (peer->fd >= 0) {
            close(peer->fd);
        }
        peer->fd = fd;
    }
}

/* Sends the next piece. At the end of the input, closes the connection or falls silent. */
static void say_piece(struct peer *peer, struct input *input) {
    take_newest(peer);
    if (peer->fd < 0) {
        return;
    }
    if (input->size == 0) {
        if (!peer->silent) {
            close(peer->fd);
            peer->fd = -1;
        }
        return;
    }
    size_t size = 1 + (size_t)input_byte(input);
    size = size < input->size ? size : input->size;
    ssize_t sent = send(peer->fd, input->bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* the peer may have gone */
    memcpy(peer->sent + peer->sent_size, input->bytes, size);
    peer->sent_size += size;
    input->bytes += size;
    input->size -= size;
}

static void check_endpoint(const struct endpoint *endpoint) {
    size_t size = strnlen(endpoint->host, sizeof endpoint->host);
    MUST(size > 0 && size < sizeof endpoint->host && endpoint->port >= 1 && endpoint->port <= 65535);
    for (size_t i = 0; i < size; i++) {
        MUST((unsigned char)endpoint->host[i] > ' ' && endpoint->host[i] != 0x7f);
    }
}

static void check_search(const struct search *search, int status) {
    const struct discovery *discovery = &search->discovery;
    MUST(discovery->sources.count >= 1 && discovery->sources.count <= ENDPOINTS_MAX);
    for (int i = 0; i < discovery->sources.count; i++) {
        check_endpoint(&discovery->sources.list[i]);
    }
    MUST(memchr(discovery->why, '\0', sizeof discovery->why));
    MUST((status == REDLATCH_AGAIN) == search_is_running(search));
    MUST(search_is_running(search) || search->connection.fd < 0);
    if (status == REDLATCH_OK) {
        check_endpoint(&discovery->target);
        MUST(search->found.count == 1);
    } else if (status != REDLATCH_AGAIN) {
        MUST(discovery->why[0]);
    }
}

/* Returns whether a message may show the password, because a server sent it. */
static bool sent_password(const struct peer *peer) {
    return memmem(peer->sent, peer->sent_size, password, strlen(password));
}

/* Closes the newest connection and frees the peer. */
static void leave(struct peer *peer) {
    take_newest(peer);
    if (peer->fd >= 0) {
        close(peer->fd);
    }
    free(peer->sent);
}

static void search_all(const struct client *client, struct peer *peer, struct input *input) {
    static const _Atomic bool going_on = false;
    struct search *search = calloc(1, sizeof *search);
    MUST(search);
    size_t steps = TURNS_MAX + input->size;
    struct connection_settings settings = client->connection_settings;
    settings.uri = &client->uri;
    search_init(search, &client->uri, &client->sentinel_credentials, &settings, NULL, &going_on);
    search->where.path = path; /* all addresses lead to this listener */
    int64_t now = START;
    search_begin(search, now);
    int status = search_step(search, now);
    while (status == REDLATCH_AGAIN) {
        MUST(steps-- > 0);
        bool passes = input->size == 0;
        say_piece(peer, input);
        if (passes) { /* nothing more is sent: time passes */
            int64_t next = search_next_time(search, now);
            MUST(next > now);
            now = next;
        }
        status = search_step(search, now);
        check_search(search, status);
        MUST(sent_password(peer) || !strstr(search->discovery.why, password));
    }
    MUST(now <= START + TIMEOUT);
    search_close(search);
    free(search);
}

static void check_listener(const struct client *client, int64_t now) {
    const struct connection *connection = &client->listener->connection;
    short events;
    MUST((connection->state == CONNECTION_CLOSED) == (listener_descriptor(client, &events) < 0));
    MUST(listener_next_time(client) > now);
    MUST(memchr(connection->detail, '\0', sizeof connection->detail));
    MUST(!client->node.current.must_search || client->node.current.search_until <= now + 30 * SECOND);
}

static void listen_all(struct client *client, struct peer *peer, struct input *input) {
    int64_t now = START;
    client->listener->where.path = path;
    client->engine.stats.held = 1;
    MUST(endpoint_set(&client->node.current.endpoint, "10.0.0.1", 8, 7000));
    while (input->size > 0) {
        listener_step(client, now);
        check_listener(client, now);
        say_piece(peer, input);
        now += 100 * MILLISECOND;
    }
    listener_step(client, now);
    check_listener(client, now);
    client->engine.stats.held = 0;
}

/* Opens a client that has connected to no server yet. */
static redlatch_client *open_client(bool service, bool with_password) {
    char url[160];
    const char *rest = !service ? "" : with_password ? "/orders?sentinel_password=S3CR3T" : "/orders";
    redlatch_client_options options;
    redlatch_client *handle = NULL;
    snprintf(url, sizeof url, "redis+%s://%s127.0.0.1:1,127.0.0.1:2%s", service ? "sentinel" : "replicas",
             with_password ? ":S3CR3T@" : "", rest);
    MUST(redlatch_client_options_init(&options, sizeof options) == REDLATCH_OK);
    options.lazy = 1;
    options.connect_timeout_ms = TIMEOUT / MILLISECOND;
    MUST(redlatch_client_open(url, &options, &handle) == REDLATCH_OK);
    return handle;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    uint8_t how = input_byte(&input);
    bool listens = how & LISTENS;
    struct peer peer = {-1, how & SILENT, malloc(input.size + 1), 0};
    MUST(peer.sent);
    listen_once();
    redlatch_client *handle = open_client(listens || !(how & WITHOUT_SERVICE), how & WITH_PASSWORD);
    if (listens) {
        listen_all(handle->client, &peer, &input);
    } else {
        search_all(handle->client, &peer, &input);
    }
    redlatch_client_free(handle);
    leave(&peer);
    return 0;
}
