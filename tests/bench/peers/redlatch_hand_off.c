/* Hand-off between two processes with redlatch: a client in each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "hand_off.h"
#include "redlatch_peer.h"

typedef struct redlatch_player {
    redlatch_client *client;
    redlatch_lock *lock;
} redlatch_player;

/* Where the lock is. */
struct settings {
    int port;
    const char *url; /* empty: the port counts */
};

static void *open_player(const void *given, int side) {
    (void)side;
    redlatch_player *player = calloc(1, sizeof *player);
    if (player == NULL) {
        give_up("no memory for a player");
    }
    const struct settings *settings = given;
    player->client = client_open_at(settings->url, settings->port, "");
    player->lock = lock_open(player->client, "bench:hand_off");
    return player;
}

static void acquire(void *state) {
    redlatch_player *player = state;
    must(redlatch_lock_acquire(player->lock, REDLATCH_FOREVER), "acquire");
}

static void release(void *state) {
    redlatch_player *player = state;
    must(redlatch_lock_release(player->lock), "release");
}

static void close_player(void *state) {
    redlatch_player *player = state;
    redlatch_lock_free(player->lock);
    client_close(player->client);
    free(player);
}

int main(int argc, char **argv) {
    struct settings settings = {.port = 6379, .url = ""};
    int passes = 200;
    const struct argument table[] = {
        {.name = "--port", .integer = &settings.port},
        {.name = "--url", .text = &settings.url},
        {.name = "--passes", .integer = &passes},
    };
    ARGUMENTS_READ(argc, argv, table);
    const hand_off_player player = {
        .open = open_player, .acquire = acquire, .release = release, .close = close_player, .settings = &settings};
    hand_off_run(&player, passes);
    return 0;
}
