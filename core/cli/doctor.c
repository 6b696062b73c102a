/* redlatch doctor: says in plain words what harms locks on a server.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "found.h"
#include "json_writer.h"

static const char usage[] =
    "usage: redlatch doctor [OPTION...] [NAME]\n"
    "\n"
    "Connects to the server, or to each master of a cluster, and says what of it will hurt locks: version, role, user\n"
    "rights, slots, clock, eviction, memory, persistence, replication. It acquires and releases a lock of its own,\n"
    "NAME:redlatch-doctor:NUMBER, and changes nothing else. NAME: a lock as you will use it, for users who may not\n"
    "use every name.\n"
    "Status: 0 nothing to be mended, 1 warnings, 2 problems, 69 the server is unreachable.\n"
    "\n"
    "  -q, --quiet        only warnings and problems\n"
    "      --json         prints an array of objects\n"
    "  -u, --url URL      the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT  the prefix of every name\n"
    "  -h, --help         prints this text\n";

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"quiet", no_argument, NULL, 'q'},
    SERVER_OPTIONS,
};

static const char *const level_names[] = {"ok", "note", "warning", "problem"};

static void add_node(struct doctor *doctor, struct finding *finding) {
    const char **larger = doctor->cluster ? realloc(finding->nodes, (finding->node_count + 1) * sizeof *larger) : NULL;
    if (larger) {
        finding->nodes = larger;
        finding->nodes[finding->node_count++] = doctor->node;
    }
}

static bool is_same(const struct finding *one, const struct finding *other) {
    return one->level == other->level && one->subject == other->subject && one->text && other->text &&
           strcmp(one->text, other->text) == 0;
}

/* Inserts a finding, or adds its node to one that is the same. Takes over its text. */
static void insert(struct doctor *doctor, const struct finding *finding) {
    size_t at = doctor->count;
    for (size_t i = 0; i < doctor->count; i++) {
        if (doctor->cluster && is_same(&doctor->findings[i], finding)) {
            add_node(doctor, &doctor->findings[i]);
            free(finding->text);
            return;
        }
        at = strcmp(doctor->findings[i].subject, finding->subject) == 0 ? i + 1 : at;
    }
    struct finding *larger = realloc(doctor->findings, (doctor->count + 1) * sizeof *larger);
    if (!larger) {
        free(finding->text);
        return;
    }
    doctor->findings = larger;
    memmove(&larger[at + 1], &larger[at], (doctor->count++ - at) * sizeof *larger);
    larger[at] = *finding;
    add_node(doctor, &larger[at]);
}

void doctor_add(struct doctor *doctor, enum level level, const char *subject, const char *advice, const char *format,
                ...) {
    struct finding finding = {.level = level, .subject = subject, .advice = level == LEVEL_OK ? NULL : advice};
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&finding.text, format, arguments) < 0) {
        finding.text = NULL;
    }
    va_end(arguments);
    insert(doctor, &finding);
}

int doctor_command(struct doctor *doctor, const char *const *arguments, char *buffer, size_t size) {
    size_t count = 0;
    while (arguments[count]) {
        count++;
    }
    return redlatch_client_command(doctor->client, doctor->node, arguments, count, buffer, size, NULL);
}

bool doctor_setting(struct doctor *doctor, const char *name, char *value, size_t size) {
    char reply[1024];
    if (doctor_command(doctor, (const char *[]){"CONFIG", "GET", name, NULL}, reply, sizeof reply) != REDLATCH_OK) {
        return false;
    }
    const char *second = strchr(reply, '\n');
    if (!second) { /* a server that does not know it */
        return false;
    }
    snprintf(value, size, "%.*s", (int)strcspn(second + 1, "\n"), second + 1);
    return true;
}

bool doctor_field(const char *info, const char *field, char *text, size_t size) {
    size_t field_size = strlen(field);
    for (const char *line = info; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, field, field_size) == 0 && line[field_size] == ':') {
            const char *value = line + field_size + 1;
            snprintf(text, size, "%.*s", (int)strcspn(value, "\r\n"), value);
            return true;
        }
    }
    return false;
}

bool doctor_info(const struct doctor *doctor, const char *field, char *text, size_t size) {
    return doctor_field(doctor->info, field, text, size);
}

bool doctor_info_number(const struct doctor *doctor, const char *field, long long *number) {
    char text[32];
    char *end;
    if (!doctor_info(doctor, field, text, sizeof text)) {
        return false;
    }
    *number = strtoll(text, &end, 10);
    return end != text;
}

/* --------------------------------------------------------------------------------------------------------- printing --
 */

static void print_text(const char *text) {
    int width;
    char *shown = text ? text_shown(text, strlen(text), 0, &width) : NULL;
    fputs(shown ? shown : "?", stdout);
    free(shown);
}

/* Prints the nodes of a cluster that a finding is about, unless it is about all. */
static void print_nodes(const struct doctor *doctor, const struct finding *finding) {
    for (size_t i = 0; i < finding->node_count && finding->node_count < doctor->nodes.count; i++) {
        printf("%s%s", finding->nodes[i], i + 1 < finding->node_count ? ", " : ": ");
    }
}

static void print_findings(const struct doctor *doctor, bool quiet) {
    static const char *const colours[] = {"\033[32m", "", "\033[33m", "\033[31m"};
    bool coloured = text_coloured();
    for (size_t i = 0; i < doctor->count; i++) {
        const struct finding *finding = &doctor->findings[i];
        if (quiet && finding->level < LEVEL_WARNING) {
            continue;
        }
        const char *colour = coloured ? colours[finding->level] : "";
        printf("%s%-8s%s %-12s ", colour, level_names[finding->level], *colour ? "\033[0m" : "", finding->subject);
        print_nodes(doctor, finding);
        print_text(finding->text);
        putchar('\n');
        if (finding->advice) {
            printf("%22s%s\n", "", finding->advice);
        }
    }
}

static void print_member(struct json_writer *writer, const char *key, const char *text) {
    json_key(writer, key);
    if (text) {
        json_string(writer, text, strlen(text));
    } else {
        json_null(writer);
    }
}

static void print_json(const struct doctor *doctor, bool quiet) {
    struct json_writer writer = {0};
    json_begin(&writer, '[');
    for (size_t i = 0; i < doctor->count; i++) {
        const struct finding *finding = &doctor->findings[i];
        if (quiet && finding->level < LEVEL_WARNING) {
            continue;
        }
        int width;
        char *text = finding->text ? text_shown(finding->text, strlen(finding->text), 0, &width) : NULL;
        json_begin(&writer, '{');
        print_member(&writer, "subject", finding->subject);
        print_member(&writer, "level", level_names[finding->level]);
        print_member(&writer, "message", text ? text : "");
        print_member(&writer, "advice", finding->advice);
        if (doctor->cluster) {
            json_key(&writer, "nodes");
            json_begin(&writer, '[');
            for (size_t j = 0; j < finding->node_count; j++) {
                json_string(&writer, finding->nodes[j], strlen(finding->nodes[j]));
            }
            json_end(&writer, ']');
        }
        json_end(&writer, '}');
        free(text);
    }
    json_end(&writer, ']');
}

/* Returns the exit status of the worst finding. */
static int status_of(const struct doctor *doctor) {
    enum level worst = LEVEL_OK;
    for (size_t i = 0; i < doctor->count; i++) {
        worst = doctor->findings[i].level > worst ? doctor->findings[i].level : worst;
    }
    return worst == LEVEL_PROBLEM ? STATUS_PROBLEM : worst == LEVEL_WARNING ? STATUS_WARNING : STATUS_GOOD;
}

static int examine(struct doctor *doctor, bool quiet, bool as_json) {
    int status = nodes_load(&doctor->nodes, doctor->client);
    if (status != REDLATCH_OK) {
        return complain_of(status);
    }
    doctor->cluster = nodes_are_of_cluster(doctor->client);
    if (!doctor_find_probes(doctor)) {
        return complain(STATUS_SYSTEM, "out of memory");
    }
    for (size_t i = 0; i < doctor->nodes.count; i++) {
        doctor->node = doctor->nodes.node[i];
        doctor->probe = doctor->probes[i] ? doctor->probes[i] : doctor->name;
        doctor_check_server(doctor);
        doctor_check_cluster(doctor);
        doctor_check_time(doctor);
        doctor_check_rights(doctor);
        if (doctor->probes[i]) {
            doctor_check_lock(doctor);
        }
    }
    (as_json ? print_json : print_findings)(doctor, quiet);
    return finish_output(status_of(doctor));
}

static void free_doctor(struct doctor *doctor) {
    redlatch_client_free(doctor->client);
    for (size_t i = 0; i < doctor->count; i++) {
        free(doctor->findings[i].text);
        free(doctor->findings[i].nodes);
    }
    free(doctor->findings);
    for (size_t i = 0; doctor->probes && i < doctor->nodes.count; i++) {
        free(doctor->probes[i]);
    }
    free(doctor->probes);
    free(doctor->name);
    nodes_free(&doctor->nodes);
}

int command_doctor(int argc, char **argv) {
    static struct doctor doctor;
    struct server_options server = {.url = NULL};
    bool quiet = false;
    bool as_json = false;
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":qu:h", long_options, "doctor")) != -1) {
        if (letter == OPTION_JSON) {
            as_json = true;
        } else if (letter == 'q') {
            quiet = true;
        } else if (!take_server_option(&server, letter, usage, &exit_status)) {
            return exit_status;
        }
    }
    if (argc - optind > 1) {
        return complain(STATUS_USAGE, "doctor: got %d operands: expected at most one, the name of a lock",
                        argc - optind);
    }
    const char *name = optind < argc ? argv[optind] : NULL;
    doctor.server = &server;
    exit_status = open_client(&server, NULL, &doctor.client);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    if (asprintf(&doctor.name, "%s%sredlatch-doctor:%ld", name ? name : "", name ? ":" : "", (long)getpid()) < 0) {
        doctor.name = NULL;
        exit_status = complain(STATUS_SYSTEM, "out of memory");
    } else {
        exit_status = examine(&doctor, quiet, as_json);
    }
    free_doctor(&doctor);
    return exit_status;
}
