/* URLs of servers: what each part becomes, and error texts that name the value and what was expected, never a
 * password.
 * SPDX-License-Identifier: Apache-2.0 */
#include "uri.h"

#include <stdbool.h>

#include "redlatch.h"
#include "unit.h"

static struct uri parsed(const char *text) {
    struct uri uri = {.port = -2};
    char why[400] = "";
    int status = uri_parse(text, &uri, why, sizeof why);
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK_STR(why, "");
    return uri;
}

static void check_tcp(const char *text, const char *host, int port, const char *username, const char *password,
                      int database) {
    struct uri uri = parsed(text);
    CHECK_STR(uri.host, host);
    CHECK(uri.path == NULL);
    CHECK_EQ_INT(uri.port, port);
    CHECK_STR(uri.username, username);
    CHECK_STR(uri.password, password);
    CHECK_EQ_INT(uri.database, database);
    uri_free(&uri);
}

static void hosts_ports_and_databases(void) {
    check_tcp("redis://localhost", "localhost", 6379, NULL, NULL, -1);
    check_tcp("redis://localhost/", "localhost", 6379, NULL, NULL, -1);
    check_tcp("redis://localhost:1", "localhost", 1, NULL, NULL, -1);
    check_tcp("redis://localhost:65535/", "localhost", 65535, NULL, NULL, -1);
    check_tcp("redis://10.0.0.1:7000/3", "10.0.0.1", 7000, NULL, NULL, 3);
    check_tcp("redis://h/0", "h", 6379, NULL, NULL, 0);
    check_tcp("redis://h/1000000", "h", 6379, NULL, NULL, 1000000);
    check_tcp("redis://h/00000012", "h", 6379, NULL, NULL, 12);
    check_tcp("redis://[::1]", "::1", 6379, NULL, NULL, -1);
    check_tcp("redis://[::1]:6380/2", "::1", 6380, NULL, NULL, 2);
    check_tcp("redis://[fe80::1%25eth0]:6380", "fe80::1%eth0", 6380, NULL, NULL, -1);
    check_tcp("redis://h?db=4", "h", 6379, NULL, NULL, 4);
    check_tcp("redis://h/1?db=4", "h", 6379, NULL, NULL, 4);
    check_tcp("redis://h?", "h", 6379, NULL, NULL, -1);
    check_tcp("redis://r%65dis.example", "redis.example", 6379, NULL, NULL, -1);
}

static void tls(void) {
    check_tcp("rediss://u:p@h:6380/2", "h", 6380, "u", "p", 2);
    struct uri uri = parsed("rediss://h?tls_ca_file=/etc/my%20ca.pem&db=1&tls_verify=ca");
    CHECK(uri.tls);
    CHECK_STR(uri.tls_options.texts[TLS_CA_FILE], "/etc/my ca.pem");
    CHECK_STR(uri.tls_options.texts[TLS_VERIFY], "ca");
    CHECK(uri.tls_options.texts[TLS_CA_DIR] == NULL);
    uri_free(&uri);
    uri = parsed("redis://h");
    CHECK(!uri.tls);
    CHECK_EQ_INT(tls_options_first(&uri.tls_options), -1);
    uri_free(&uri);
}

static void check_endpoint(const struct uri *uri, int number, const char *host, int port) {
    CHECK_STR(uri->servers.list[number].host, host);
    CHECK_EQ_INT(uri->servers.list[number].port, port);
}

static void replicas(void) {
    struct uri uri = parsed("redis+replicas://u:p@one,two:7/3");
    CHECK_EQ_INT(uri.servers.count, 2);
    check_endpoint(&uri, 0, "one", 6379);
    check_endpoint(&uri, 1, "two", 7);
    CHECK(uri.service == NULL && !uri.tls);
    CHECK_STR(uri.username, "u");
    CHECK_EQ_INT(uri.database, 3);
    uri_free(&uri);
    uri = parsed("rediss+replicas://one?tls_verify=ca&address_map=10.0.0.1%3Dpublic");
    CHECK(uri.tls && uri.servers.count == 1);
    CHECK_EQ_INT(uri.address_map.count, 1);
    CHECK_STR(uri.address_map.list[0].from.host, "10.0.0.1");
    uri_free(&uri);
}

static void sentinels(void) {
    struct uri uri = parsed("redis+sentinel://u:p@one:1,two,[::1]:3,two:26379/my%20master/4"
                            "?sentinel_username=su&sentinel_password=s%3fp&name_prefix=x&label=a%20%40");
    CHECK_EQ_INT(uri.servers.count, 3);
    check_endpoint(&uri, 0, "one", 1);
    check_endpoint(&uri, 1, "two", 26379);
    check_endpoint(&uri, 2, "::1", 3);
    CHECK_STR(uri.host, "one");
    CHECK_EQ_INT(uri.port, 1);
    CHECK_STR(uri.service, "my master");
    CHECK_STR(uri.username, "u");
    CHECK_STR(uri.password, "p");
    CHECK_STR(uri.sentinel_username, "su");
    CHECK_STR(uri.sentinel_password, "s?p");
    CHECK_STR(uri.name_prefix, "x");
    CHECK_STR(uri.label, "a @");
    CHECK_EQ_INT(uri.database, 4);
    uri_free(&uri);
    uri = parsed(
        "rediss+sentinel://one/service?tls_ca_file=a.pem&sentinel_tls_ca_file=b%20c.pem&sentinel_tls_verify=ca");
    CHECK_STR(uri.tls_options.texts[TLS_CA_FILE], "a.pem");
    CHECK(uri.tls_options.texts[TLS_VERIFY] == NULL);
    CHECK_STR(uri.sentinel_tls_options.texts[TLS_CA_FILE], "b c.pem");
    CHECK_STR(uri.sentinel_tls_options.texts[TLS_VERIFY], "ca");
    uri_free(&uri);
    uri = parsed("redis+sentinel://one/service");
    CHECK_EQ_INT(uri.servers.count, 1);
    check_endpoint(&uri, 0, "one", 26379);
    CHECK_EQ_INT(uri.database, -1);
    CHECK(uri.sentinel_username == NULL && uri.sentinel_password == NULL);
    uri_free(&uri);
}

static void clusters(void) {
    struct uri uri = parsed("redis+cluster://u:p@one:1,two,[::1]:3/0?address_map=10.0.0.1%3Dpublic&name_prefix=x");
    CHECK(uri.cluster && !uri.tls && uri.service == NULL);
    CHECK_EQ_INT(uri.servers.count, 3);
    check_endpoint(&uri, 0, "one", 1);
    check_endpoint(&uri, 1, "two", 6379);
    check_endpoint(&uri, 2, "::1", 3);
    CHECK_STR(uri.host, "one");
    CHECK_STR(uri.username, "u");
    CHECK_STR(uri.password, "p");
    CHECK_STR(uri.name_prefix, "x");
    CHECK_EQ_INT(uri.address_map.count, 1);
    CHECK_STR(uri.address_map.list[0].to.host, "public");
    uri_free(&uri);
    uri = parsed("rediss+cluster://one/");
    CHECK(uri.cluster && uri.tls);
    CHECK_EQ_INT(uri.servers.count, 1);
    CHECK_EQ_INT(uri.database, -1);
    uri_free(&uri);
    uri = parsed("redis+replicas://one");
    CHECK(!uri.cluster);
    uri_free(&uri);
}

static void credentials(void) {
    check_tcp("redis://user@h", "h", 6379, "user", NULL, -1);
    check_tcp("redis://user:pass@h:7", "h", 7, "user", "pass", -1);
    check_tcp("redis://:pass@h", "h", 6379, NULL, "pass", -1);
    check_tcp("redis://:@h", "h", 6379, NULL, "", -1);
    check_tcp("redis://@h", "h", 6379, NULL, NULL, -1);
    check_tcp("redis://u:p:q@h", "h", 6379, "u", "p:q", -1);
    check_tcp("redis://u:p@q@h", "h", 6379, "u", "p@q", -1);
    check_tcp("redis://u%3a:%2F%3f%40%25@[::1]:9/1", "::1", 9, "u:", "/?@%", 1);
    check_tcp("redis://u:%C3%A9%01@h", "h", 6379, "u", "\xc3\xa9\x01", -1);
    struct uri uri = parsed("unix://u:p%2Fq@/tmp/redis.sock?db=2");
    CHECK_STR(uri.username, "u");
    CHECK_STR(uri.password, "p/q");
    CHECK_STR(uri.path, "/tmp/redis.sock");
    CHECK_EQ_INT(uri.database, 2);
    uri_free(&uri);
}

static void unix_paths(void) {
    struct uri uri = parsed("unix:///run/redis.sock");
    CHECK_STR(uri.path, "/run/redis.sock");
    CHECK(uri.host == NULL && uri.username == NULL && uri.password == NULL && uri.name_prefix == NULL);
    CHECK_EQ_INT(uri.database, -1);
    uri_free(&uri);
    CHECK(uri.path == NULL);
    uri = parsed("unix:///run/a%3fb%20c@d");
    CHECK_STR(uri.path, "/run/a?b c@d");
    uri_free(&uri);
    char longest[7 + SOCKET_PATH_MAX + 1];
    memset(longest, 'p', sizeof longest);
    memcpy(longest, "unix:///", 8);
    longest[sizeof longest - 1] = '\0';
    uri = parsed(longest);
    CHECK_EQ_INT(strlen(uri.path), SOCKET_PATH_MAX);
    uri_free(&uri);
}

static void sharded_messages(void) {
    static const char *const names[] = {
        [SHARDED_MESSAGES_AUTO] = "auto", [SHARDED_MESSAGES_ON] = "on", [SHARDED_MESSAGES_OFF] = "off"};
    for (int i = 0; i < 3; i++) {
        char text[80];
        snprintf(text, sizeof text, "rediss+cluster://one,two:7000?sharded_messages=%s", names[i]);
        struct uri uri = parsed(text);
        CHECK_EQ_INT(uri.sharded_messages, i);
        uri_free(&uri);
    }
    struct uri uri = parsed("redis+cluster://one");
    CHECK_EQ_INT(uri.sharded_messages, -1);
    uri_free(&uri);
}

static void options(void) {
    struct uri waits = parsed("redis://h?min_replicas=2&replica_timeout=0.5&durable=1");
    CHECK_EQ_INT(waits.min_replicas, 2);
    CHECK_EQ_INT(waits.replica_timeout_ms, 500);
    CHECK_EQ_INT(waits.durable, 1);
    uri_free(&waits);
    struct uri uri = parsed("redis://h?connect_timeout=2&command_timeout=0.25&dead_peer_timeout=86400"
                            "&name_prefix=a%26b&dns_interval=2.5");
    CHECK_EQ_INT(uri.dns_interval_ms, 2500);
    CHECK_EQ_INT(uri.connect_timeout_ms, 2000);
    CHECK_EQ_INT(uri.command_timeout_ms, 250);
    CHECK_EQ_INT(uri.dead_peer_timeout_ms, 86400000);
    CHECK_STR(uri.name_prefix, "a&b");
    uri_free(&uri);
    uri = parsed("unix:///s?dead_peer_timeout=12.0125&connect_timeout=.0015&command_timeout=1.&name_prefix=a"
                 "&name_prefix=");
    CHECK_EQ_INT(uri.connect_timeout_ms, 2);
    CHECK_EQ_INT(uri.command_timeout_ms, 1000);
    CHECK_EQ_INT(uri.dead_peer_timeout_ms, 12013);
    CHECK_STR(uri.name_prefix, "");
    uri_free(&uri);
    uri = parsed("redis://h?dead_peer_timeout=1.0004&connect_timeout=0.00149999999999&command_timeout=86400.000");
    CHECK_EQ_INT(uri.dead_peer_timeout_ms, 1000);
    CHECK_EQ_INT(uri.connect_timeout_ms, 1);
    CHECK_EQ_INT(uri.command_timeout_ms, 86400000);
    uri_free(&uri);
}

/* The word SECRET stands for a password in all of these. */
static const struct error_reply_row {
    const char *text;
    int status;
    const char *value;    /* in the message */
    const char *expected; /* in the message */
} refusals[] = {
    {"", REDLATCH_INVALID, "URL scheme \"\"", "redis://"},
    {"localhost", REDLATCH_INVALID, "URL scheme \"\"", "unix:///path"},
    {"localhost:6379", REDLATCH_INVALID, "URL scheme \"\"", "redis://"},
    {"redis:/localhost", REDLATCH_INVALID, "URL scheme \"\"", "redis://"},
    {":SECRET@localhost", REDLATCH_INVALID, "URL scheme \"\"", "redis://"},
    {"http://localhost", REDLATCH_INVALID, "URL scheme \"http\"", "redis://"},
    {"http://u:SECRET@localhost", REDLATCH_INVALID, "URL scheme \"http\"", "redis://"},
    {"REDIS://localhost", REDLATCH_INVALID, "URL scheme \"REDIS\"", "redis://"},
    {" redis://localhost", REDLATCH_INVALID, "URL scheme \" redis\"", "redis://"},
    {"unix:/run/redis.sock", REDLATCH_INVALID, "URL scheme \"\"", "unix:///path"},
    {"rediss://", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"rediss://u:SECRET@h?tls_ca=x", REDLATCH_INVALID, "URL option \"tls_ca\"", "tls_ca_file"},
    {"rediss://h?tls_ca_file=%0", REDLATCH_INVALID, "tls_ca_file \"%0\"", "two hexadecimal digits"},
    {"redis+cluster://h?sentinel_username=u", REDLATCH_INVALID, "URL option \"sentinel_username\"", "tls_ca_file"},
    {"redis+cluster://:SECRET@", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"rediss+sentinel://:SECRET@h", REDLATCH_INVALID, "service \"\"", "/service[/database]"},
    {"rediss+cluster://:SECRET@h,h,:7", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis+cluster://:SECRET@h/1", REDLATCH_INVALID, "database \"1\"", "0: a cluster has no other"},
    {"redis+sentinel://:SECRET@h", REDLATCH_INVALID, "service \"\"", "/service[/database]"},
    {"redis+sentinel://h/", REDLATCH_INVALID, "service \"\"", "/service[/database]"},
    {"redis+sentinel://h?db=1", REDLATCH_INVALID, "service \"\"", "/service[/database]"},
    {"redis+sentinel:///s", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis+sentinel://a,,b/s", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis+sentinel://a,/s", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis+sentinel://a,b:0/s", REDLATCH_INVALID, "port \"0\"", "a number from 1 to 65535"},
    {"redis+sentinel://u:SECRET,b/s", REDLATCH_INVALID, "port \"...\"", "a number from 1 to 65535"},
    {"redis+sentinel://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/s", REDLATCH_INVALID, "hosts \"a,b,", "at most 16"},
    {"redis+sentinel://h/s/x", REDLATCH_INVALID, "database \"x\"", "a number from 0 to 1000000"},
    {"redis+sentinel://h/s?sentinel_password=SECRET%", REDLATCH_INVALID, "sentinel_password \"...\"", "%XX escapes"},
    {"redis+sentinel://h/s?sentinel_username=SECRET%", REDLATCH_INVALID, "sentinel_username \"...\"", "%XX escapes"},
    {"redis+sentinel://h/a%", REDLATCH_INVALID, "service \"a%\"", "%XX escapes"},
    {"redis+sentinel://h/s?timeout=3", REDLATCH_INVALID, "URL option \"timeout\"", "sentinel_password"},
    {"redis+replicas://", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis+replicas://h?sentinel_password=SECRET", REDLATCH_INVALID, "URL option \"sentinel_password\"",
     "name_prefix, label, address_map or one of TLS"},
    {"redis+replicas://h?address_map=x", REDLATCH_INVALID, "address_map \"x\"", "announced[:port]=reached[:port]"},
    {"redis://h?address_map=a=b", REDLATCH_INVALID, "URL option \"address_map\"", "name_prefix, label or one of TLS"},
    {"redis+cluster://", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"rediss+cluster://:SECRET@a,,b", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis+cluster://h:0", REDLATCH_INVALID, "port \"0\"", "a number from 1 to 65535"},
    {"redis+cluster://h/1", REDLATCH_INVALID, "database \"1\"", "0: a cluster has no other"},
    {"redis+cluster://h/00", REDLATCH_INVALID, "database \"00\"", "0: a cluster has no other"},
    {"redis+cluster://h/orders", REDLATCH_INVALID, "database \"orders\"", "0: a cluster has no other"},
    {"redis+cluster://h?db=1", REDLATCH_INVALID, "db \"1\"", "0: a cluster has no other"},
    {"redis+cluster://h?sentinel_password=SECRET", REDLATCH_INVALID, "URL option \"sentinel_password\"", "name_prefix"},
    {"redis+cluster://h?address_map=x", REDLATCH_INVALID, "address_map \"x\"", "announced[:port]=reached[:port]"},
    {"redis://h,i", REDLATCH_INVALID, "host \"h,i\"", "a host name without blanks, control bytes and commas"},
    {"redis://h?sentinel_password=SECRET", REDLATCH_INVALID, "URL option \"sentinel_password\"", "name_prefix"},
    {"redis://", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis:///0", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis://:6379", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis://u:SECRET@", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis://u:SECRET@:1", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis://[]", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis://[::1", REDLATCH_INVALID, "host \"[::1\"", "[IPv6 address]"},
    {"redis://[::1]6379", REDLATCH_INVALID, "host \"[::1]6379\"", "[IPv6 address]:port"},
    {"redis://a b", REDLATCH_INVALID, "host \"a b\"", "without blanks"},
    {"redis://a%20b", REDLATCH_INVALID, "host \"a%20b\"", "without blanks"},
    {"redis://a%0a", REDLATCH_INVALID, "host \"a%0a\"", "without blanks"},
    {"redis://a%zz", REDLATCH_INVALID, "host \"...\"", "%XX escapes"},
    {"redis://a%4", REDLATCH_INVALID, "host \"...\"", "two hexadecimal digits"},
    {"redis://a%", REDLATCH_INVALID, "host \"...\"", "two hexadecimal digits"},
    {"redis://a%00b", REDLATCH_INVALID, "host \"...\"", "no %00"},
    {"redis://h:", REDLATCH_INVALID, "port \"\"", "a number from 1 to 65535"},
    {"redis://h:0", REDLATCH_INVALID, "port \"0\"", "a number from 1 to 65535"},
    {"redis://h:65536", REDLATCH_INVALID, "port \"65536\"", "a number from 1 to 65535"},
    {"redis://h:-1", REDLATCH_INVALID, "port \"...\"", "a number from 1 to 65535"},
    {"redis://h:63x", REDLATCH_INVALID, "port \"...\"", "a number from 1 to 65535"},
    {"redis://h:99999999999999999999", REDLATCH_INVALID, "port \"99999999999999999999\"", "1 to 65535"},
    {"redis://[::1]:x", REDLATCH_INVALID, "port \"...\"", "a number from 1 to 65535"},
    {"redis://[::1]:", REDLATCH_INVALID, "port \"\"", "a number from 1 to 65535"},
    {"redis://:SECRET", REDLATCH_INVALID, "host \"\"", "a host name or address"},
    {"redis://u:SECRET/0", REDLATCH_INVALID, "port \"...\"", "a number from 1 to 65535"},
    {"redis://h/x", REDLATCH_INVALID, "database \"x\"", "a number from 0 to 1000000"},
    {"redis://h/0/1", REDLATCH_INVALID, "database \"0/1\"", "a number from 0 to 1000000"},
    {"redis://h/1000001", REDLATCH_INVALID, "database \"1000001\"", "a number from 0 to 1000000"},
    {"redis://h/0#x", REDLATCH_INVALID, "database \"0#x\"", "a number from 0 to 1000000"},
    {"redis://h?db=", REDLATCH_INVALID, "db \"\"", "a number from 0 to 1000000"},
    {"redis://h?db=-1", REDLATCH_INVALID, "db \"-1\"", "a number from 0 to 1000000"},
    {"redis://h?db=1.5", REDLATCH_INVALID, "db \"1.5\"", "a number from 0 to 1000000"},
    {"redis://h?connect_timeout=0", REDLATCH_INVALID, "connect_timeout \"0\"", "seconds from 0.001"},
    {"redis://h?connect_timeout=.", REDLATCH_INVALID, "connect_timeout \".\"", "seconds from 0.001"},
    {"redis://h?connect_timeout=1e3", REDLATCH_INVALID, "connect_timeout \"1e3\"", "seconds from 0.001"},
    {"redis://h?connect_timeout=1.2.3", REDLATCH_INVALID, "connect_timeout \"1.2.3\"", "seconds from 0.001"},
    {"redis://h?connect_timeout=0.0009", REDLATCH_INVALID, "connect_timeout \"0.0009\"", "seconds from 0.001"},
    {"redis://h?command_timeout=86400.001", REDLATCH_INVALID, "command_timeout \"86400.001\"", "to 86400"},
    {"redis://h?command_timeout=99999999999999999999999999999999", REDLATCH_INVALID, "command_timeout", "to 86400"},
    {"redis://h?dead_peer_timeout=-1", REDLATCH_INVALID, "dead_peer_timeout \"-1\"", "seconds from 0.001"},
    {"redis://h?dead_peer_timeout=nan", REDLATCH_INVALID, "dead_peer_timeout \"nan\"", "seconds from 0.001"},
    {"redis://h?min_replicas=101", REDLATCH_INVALID, "min_replicas \"101\"", "a number from 0 to 100"},
    {"redis+cluster://h?sharded_messages=yes", REDLATCH_INVALID, "sharded_messages \"yes\"", "auto, on or off"},
    {"redis+cluster://h?sharded_messages=", REDLATCH_INVALID, "sharded_messages \"\"", "auto, on or off"},
    {"redis+cluster://h?sharded=on", REDLATCH_INVALID, "URL option \"sharded\"",
     "address_map, sharded_messages or one"},
    {"redis://h?sharded_messages=on", REDLATCH_INVALID, "URL option \"sharded_messages\"",
     "name_prefix, label or one of TLS"},
    {"redis://h?durable=yes", REDLATCH_INVALID, "durable \"yes\"", "a number from 0 to 1"},
    {"redis://h?dead_peer_timeout=1,5", REDLATCH_INVALID, "dead_peer_timeout \"1,5\"", "seconds from 0.001"},
    {"redis://h?dns_interval=0", REDLATCH_INVALID, "dns_interval \"0\"", "seconds from 0.001"},
    {"redis://h?name_prefix=%", REDLATCH_INVALID, "name_prefix \"%\"", "%XX escapes"},
    {"redis://h?name_prefix=a%00", REDLATCH_INVALID, "name_prefix \"a%00\"", "no %00"},
    {"redis://h?timeout=3", REDLATCH_INVALID, "URL option \"timeout\"", "connect_timeout, command_timeout"},
    {"redis://h?password=SECRET", REDLATCH_INVALID, "URL option \"password\"", "name_prefix"},
    {"redis://h?db", REDLATCH_INVALID, "URL option \"db\"", "option=value"},
    {"redis://h?db=1&&db=2", REDLATCH_INVALID, "URL option \"\"", "option=value"},
    {"redis://SECRET%2x@h", REDLATCH_INVALID, "user name \"...\"", "%XX escapes"},
    {"redis://SECRET%2x", REDLATCH_INVALID, "host \"...\"", "%XX escapes"},
    {"redis://h?SECRET", REDLATCH_INVALID, "URL option \"...\"", "option=value"},
    {"redis://h?SECRET=1", REDLATCH_INVALID, "URL option \"...\"", "connect_timeout"},
    {"redis://h?=1", REDLATCH_INVALID, "URL option \"\"", "connect_timeout"},
    {"redis://us%zzer:SECRET@h", REDLATCH_INVALID, "user name \"...\"", "%XX escapes"},
    {"redis://u:SECRET%@h", REDLATCH_INVALID, "password \"...\"", "%XX escapes"},
    {"redis://u:SECRET%00@h", REDLATCH_INVALID, "password \"...\"", "no %00"},
    {"redis://u:SEC/RET@h", REDLATCH_INVALID, "\"...\"", "%2F"},
    {"redis://u:SEC?RET@h", REDLATCH_INVALID, "\"...\"", "%3F"},
    {"redis://u:SEC@RET/@h", REDLATCH_INVALID, "\"...\"", "%40"},
    {"unix://", REDLATCH_INVALID, "socket path \"\"", "an absolute path"},
    {"unix://relative/path", REDLATCH_INVALID, "socket path \"relative/path\"", "an absolute path"},
    {"unix://u:SECRET@relative", REDLATCH_INVALID, "socket path \"relative\"", "an absolute path"},
    {"unix://u:SEC/RET@/path", REDLATCH_INVALID, "socket path \"...\"", "an absolute path"},
    {"unix://u:SECRET%@/path", REDLATCH_INVALID, "password \"...\"", "%XX escapes"},
    {"unix:///a%0", REDLATCH_INVALID, "socket path \"/a%0\"", "%XX escapes"},
    {"unix:///a?port=3", REDLATCH_INVALID, "URL option \"port\"", "connect_timeout"},
};

static void check_refused(const char *text, int status, const char *value, const char *expected) {
    struct uri uri = {.port = 77};
    char why[400] = "";
    int is = uri_parse(text, &uri, why, sizeof why);
    CHECK_EQ_INT(uri.port, 77); /* untouched */
    bool good = is == status && strstr(why, value) && strstr(why, expected) && strstr(why, "expected ");
    bool discreet = !strstr(why, "SEC") && !strstr(why, "RET");
    if (!good || !discreet) {
        fprintf(stderr, "%.80s is answered with %d: %s\n", text, is, why);
    }
    CHECK(good);
    CHECK(discreet);
}

static void refusals_name_value_and_expectation(void) {
    CHECK(sizeof refusals / sizeof refusals[0] >= 40);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        check_refused(refusals[i].text, refusals[i].status, refusals[i].value, refusals[i].expected);
    }
}

static void too_long(void) {
    char url[4098];
    memset(url, 'x', sizeof url);
    memcpy(url, "redis://:SECRET", 15);
    url[4097] = '\0';
    check_refused(url, REDLATCH_INVALID, "URL \"...\"", "at most 4096 bytes");
    char path[7 + SOCKET_PATH_MAX + 1 + 1];
    memset(path, 'p', sizeof path);
    memcpy(path, "unix:///", 8);
    path[sizeof path - 1] = '\0';
    char expected[40];
    snprintf(expected, sizeof expected, "at most %d bytes", SOCKET_PATH_MAX);
    check_refused(path, REDLATCH_INVALID, "socket path \"/ppp", expected);
}

/* Each of several hosts may be as long as a single one. The number of hosts has a bound. */
static void the_most_hosts(void) {
    char url[600];
    char host[257];
    memset(host, 'h', 256);
    host[256] = '\0';
    snprintf(url, sizeof url, "redis+sentinel://one,%s/s", host);
    check_refused(url, REDLATCH_INVALID, "host \"hhh", "at most 255 bytes");
    snprintf(url, sizeof url, "redis+sentinel://one,%s/s", host + 1);
    struct uri uri = parsed(url);
    check_endpoint(&uri, 1, host + 1, 26379);
    uri_free(&uri);
    uri = parsed("redis+replicas://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p");
    CHECK_EQ_INT(uri.servers.count, ENDPOINTS_MAX);
    check_endpoint(&uri, 15, "p", 6379);
    uri_free(&uri);
}

/* The reason is cut to the size of its buffer, and terminated. */
static void a_long_reason_is_cut(void) {
    struct uri uri;
    char why[16];
    memset(why, '?', sizeof why);
    CHECK_EQ_INT(uri_parse("redis://a-rather-long-host-name:0", &uri, why, sizeof why), REDLATCH_INVALID);
    CHECK_STR(why, "port \"0\": expec");
}

int main(void) {
    RUN(hosts_ports_and_databases);
    RUN(tls);
    RUN(sentinels);
    RUN(clusters);
    RUN(replicas);
    RUN(credentials);
    RUN(unix_paths);
    RUN(options);
    RUN(sharded_messages);
    RUN(refusals_name_value_and_expectation);
    RUN(too_long);
    RUN(the_most_hosts);
    RUN(a_long_reason_is_cut);
    return unit_done();
}
