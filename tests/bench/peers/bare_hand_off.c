/* Hand-off between two processes with bare hiredis: each has a command connection and a subscription of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A waiter tries, waits for the next message, and tries again: the shortest way there is with this wire format.
 */
#include "arguments.h"
#include "bare.h"
#include "hand_off.h"

typedef struct bare_settings {
    int port;
    const char *acquire_path;
    const char *release_path;
} bare_settings;

typedef struct bare_player {
    bare_lock lock;
    redisContext *subscription;
} bare_player;

static void *open_player(const void *settings_of_game, int side) {
    const bare_settings *settings = settings_of_game;
    bare_player *player = calloc(1, sizeof *player);
    if (player == NULL) {
        give_up("no memory for a player");
    }
    bare_lock_open(&player->lock, settings->port, "bench:hand_off", side + 1, settings->acquire_path,
                   settings->release_path);
    player->subscription = bare_connect(settings->port);
    void *subscribed = redisCommand(player->subscription, "SUBSCRIBE %s", player->lock.channel);
    freeReplyObject(bare_checked(player->subscription, subscribed));
    return player;
}

/* One's own releases are published to oneself as well; such an old message costs one attempt in vain. */
static void acquire(void *state) {
    bare_player *player = state;
    while (!bare_lock_try_acquire(&player->lock)) {
        void *message = NULL;
        redisGetReply(player->subscription, &message);
        freeReplyObject(bare_checked(player->subscription, message));
    }
}

static void release(void *state) {
    bare_player *player = state;
    bare_lock_release(&player->lock);
}

static void close_player(void *state) {
    bare_player *player = state;
    redisFree(player->subscription);
    bare_lock_close(&player->lock);
    free(player);
}

int main(int argc, char **argv) {
    bare_settings settings = {.port = 6379, .acquire_path = "plain_acquire.lua", .release_path = "plain_release.lua"};
    int passes = 200;
    const struct argument table[] = {
        {.name = "--port", .integer = &settings.port},
        {.name = "--passes", .integer = &passes},
        {.name = "--acquire", .text = &settings.acquire_path},
        {.name = "--release", .text = &settings.release_path},
    };
    ARGUMENTS_READ(argc, argv, table);
    const hand_off_player player = {
        .open = open_player, .acquire = acquire, .release = release, .close = close_player, .settings = &settings};
    hand_off_run(&player, passes);
    return 0;
}
