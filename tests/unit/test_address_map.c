/* Announced addresses are translated as the text of the option says.
 * SPDX-License-Identifier: Apache-2.0 */
#include "address_map.h"

#include "records.h"
#include "unit.h"

static const char *translated(const char *text, const char *host, int port) {
    static char out[ENDPOINT_TEXT_SIZE];
    struct address_map map = {0};
    bool no_memory;
    struct endpoint endpoint;
    CHECK(address_map_parse(&map, text, &no_memory) && !no_memory);
    CHECK(endpoint_set(&endpoint, host, strlen(host), port));
    address_map_apply(&map, &endpoint);
    endpoint_text(&endpoint, out);
    address_map_free(&map);
    return out;
}

static void ports_are_given_or_kept(void) {
    CHECK_STR(translated("10.0.0.1:6379=redis.example:7001", "10.0.0.1", 6379), "redis.example:7001");
    CHECK_STR(translated("10.0.0.1:6379=redis.example:7001", "10.0.0.1", 6380), "10.0.0.1:6380");
    CHECK_STR(translated("10.0.0.1:6379=redis.example", "10.0.0.1", 6379), "redis.example:6379");
    CHECK_STR(translated("10.0.0.1=redis.example:7001", "10.0.0.1", 1), "redis.example:7001");
    CHECK_STR(translated("10.0.0.1=redis.example", "10.0.0.1", 65535), "redis.example:65535");
    CHECK_STR(translated("10.0.0.1=redis.example", "10.0.0.11", 1), "10.0.0.11:1");
}

static void the_first_that_fits_counts(void) {
    static const char map[] = "a:1=b:2,b:2=c:3,a=d,a:4=e";
    CHECK_STR(translated(map, "a", 1), "b:2");
    CHECK_STR(translated(map, "b", 2), "c:3");
    CHECK_STR(translated(map, "a", 4), "d:4");
    CHECK_STR(translated(map, "c", 3), "c:3");
}

static void addresses_of_ipv6(void) {
    CHECK_STR(translated("[fd00::1]:6379=[::1]:7001", "fd00::1", 6379), "[::1]:7001");
    CHECK_STR(translated("fd00::1=::1", "fd00::1", 6379), "[::1]:6379");
    CHECK_STR(translated("[fd00::1]=h:5", "fd00::1", 6379), "h:5");
}

static void what_is_no_map_is_refused(void) {
    static const char *const bad[] = {"",       "a",     "a=",        "=b",       "a=b,",       ",a=b",
                                      "a:=b",   "a:0=b", "a:65536=b", "a:x=b",    "a=b:123456", "[a=b",
                                      "[a]x=b", "a b=c", "a=[b",      "a=b,,c=d", "a:-1=b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct address_map map = {0};
        bool no_memory;
        if (address_map_parse(&map, bad[i], &no_memory)) {
            fprintf(stderr, "accepted: \"%s\"\n", bad[i]);
            CHECK(false);
        }
        CHECK(!no_memory);
        address_map_free(&map);
    }
}

static void a_limit_is_kept(void) {
    char text[8 * MAPPINGS_MAX + 16] = "";
    for (int i = 0; i < MAPPINGS_MAX; i++) {
        snprintf(text + strlen(text), 8, "%sa%d=b", i > 0 ? "," : "", i);
    }
    CHECK_STR(translated(text, "a31", 9), "b:9");
    snprintf(text + strlen(text), 8, ",c=d");
    struct address_map map = {0};
    bool no_memory;
    CHECK(!address_map_parse(&map, text, &no_memory));
    address_map_free(&map);
}

/* An option of the URL may be given twice. */
static void the_last_map_counts(void) {
    struct address_map map = {0};
    struct endpoint endpoint;
    bool no_memory;
    CHECK(address_map_parse(&map, "a=b,c=d", &no_memory));
    CHECK(address_map_parse(&map, "a=e", &no_memory));
    CHECK_EQ_INT(map.count, 1);
    CHECK(endpoint_set(&endpoint, "a", 1, 1));
    address_map_apply(&map, &endpoint);
    CHECK_STR(endpoint.host, "e");
    address_map_free(&map);
}

int main(void) {
    RUN(ports_are_given_or_kept);
    RUN(the_first_that_fits_counts);
    RUN(addresses_of_ipv6);
    RUN(what_is_no_map_is_refused);
    RUN(a_limit_is_kept);
    RUN(the_last_map_counts);
    return unit_done();
}
