/* Clients of sentinels and of TLS are opened and search again and again, with the first, the second, the third ...
 * allocation failing, until one goes through without a failure: the status says so, and nothing leaks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "client_lock.h"
#include "failing_allocation.h"
#include "find_server.h"
#include "handles.h"
#include "unit.h"

enum { RUNS_MAX = 500 };

static bool is_good(int status, int usual) {
    if (status != REDLATCH_NO_MEMORY && status != usual) {
        fprintf(stderr, "%s: %s\n", redlatch_status_name(status), redlatch_last_error());
    }
    return status == REDLATCH_NO_MEMORY || status == usual;
}

/* Nobody listens at the ports. `usual` is what opening comes to with memory. */
static void scenario(const char *url, int usual) {
    redlatch_client_options options;
    redlatch_client *handle = NULL;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.sentinel_username = "other";
    options.tls_min_version = strstr(url, "rediss") ? "1.3" : NULL;
    int status = redlatch_client_open(url, &options, &handle);
    CHECK(is_good(status, usual));
    CHECK_EQ_INT(handle != NULL, status == REDLATCH_OK);
    if (!handle) {
        return;
    }
    client_lock(handle->client);
    CHECK(is_good(io_lookup(&handle->client->ios[0], system_now() + 20 * SECOND), REDLATCH_UNREACHABLE));
    client_unlock(handle->client);
    redlatch_client_free(handle);
}

static int runs_until_all_is_well(const char *url, int usual) {
    int n = 0;
    bool failed = true;
    while (failed && n < RUNS_MAX) {
        failing_arm(++n);
        scenario(url, usual);
        failed = failing_disarm();
    }
    CHECK(n < RUNS_MAX);
    return n;
}

static void clients_of_sentinels(void) {
    CHECK(runs_until_all_is_well("redis+sentinel://u:p@127.0.0.1:1,127.0.0.1:2/orders/3?sentinel_password=sp"
                                 "&sentinel_username=su&name_prefix=x",
                                 REDLATCH_OK) > 15);
}

static void clients_over_tls(void) {
    static const char url[] = "rediss+sentinel://127.0.0.1:1/orders?tls_verify=none&tls_server_name=here";
    redlatch_client_options options;
    redlatch_client *handle = NULL;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    int usual = redlatch_client_open(url, &options, &handle); /* UNSUPPORTED in a build without TLS */
    CHECK(usual == REDLATCH_OK || usual == REDLATCH_UNSUPPORTED);
    redlatch_client_free(handle);
    CHECK(runs_until_all_is_well(url, usual) > 10);
}

int main(void) {
    RUN(clients_of_sentinels);
    RUN(clients_over_tls);
    return unit_done();
}
