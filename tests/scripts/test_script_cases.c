/* Each script does the same on the same random keys as when its results were recorded: its reply, the contents and TTLs
 * of all keys, and what it publishes, also where access rules refuse one of its commands and where the server is out of
 * memory. Whatever was recorded, each error must be one that clients know, and must leave all keys as they were.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   test_script_cases [FILE]           compares with recorded results; without FILE with tests/scripts/expected.txt
 *   test_script_cases --write          prints results to be recorded
 *   test_script_cases --show SCRIPT    prints all cases of a script, to be compared between two builds by diff
 *
 * An intended change of a script is recorded by the output of `--write` in expected.txt. The diff of `--show` says what
 * has changed. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdlib.h>

#include "random_script_call.h"
#include "rejected_scripts.h"
#include "script_set.h"

#ifndef EXPECTED_RESULTS
#define EXPECTED_RESULTS "expected.txt"
#endif

/* In one of MUTED_EVERY cases PUBLISH is refused. That is no reason to keep a lock: what was written stays. In one of
 * EACH_COMMAND_EVERY cases each of the script's commands that write is refused, one after the other. */
enum { CASES = 2000, KEYS_MAX = 64, MUTED_EVERY = 16, EACH_COMMAND_EVERY = 8 };

static struct {
    struct script_set scripts;
    FILE *published;
    int notified; /* messages that the case has published */
    int careless; /* cases with an unknown error, or with one after something was done */
} rig;

/* Commands that scripts can do without, because other servers lack or refuse them. */
static const char *const dispensable_commands[] = {"hrandfield", "memory"};
static const char publish_command[] = "publish";
static const char out_of_memory[] = "memory of the server";

/* The size of the channel's name decides how many subscribers there are, so that their number in a reply is tested. */
static int publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    (void)context;
    rig.notified++;
    fprintf(rig.published, "%s %.*s %.*s\n", sharded ? "spublish" : "publish", (int)channel.size, channel.bytes,
            (int)message.size, message.bytes);
    return (int)(channel.size % 3);
}

static void show_call(FILE *out, const struct script_call *call, const char *without) {
    for (uint32_t i = 0; i < call->count; i++) {
        fprintf(out, "%s%s", i == call->key_count ? " | " : " ", call->texts[i]);
    }
    fprintf(out, "%s%s\n", without ? ", refused " : "", without ? without : "");
}

static int compare_keys(const void *left, const void *right) {
    return text_compare(*(const struct redis_text *)left, *(const struct redis_text *)right);
}

static void show_command(FILE *out, struct keyspace *keyspace, const struct redis_text *words, size_t count) {
    struct redis_reply reply = {.kind = REDIS_NIL};
    keyspace_call(keyspace, words, count, &reply);
    redis_reply_print(out, &reply);
    redis_reply_free(&reply);
}

static void show_key(FILE *out, struct keyspace *keyspace, struct redis_text key) {
    struct redis_reply type = {.kind = REDIS_NIL};
    struct redis_text words[] = {redis_text("type"), key, redis_text("0"), redis_text("-1"), redis_text("withscores")};
    keyspace_call(keyspace, words, 2, &type);
    char kind = type.text[0]; /* hash, list, string, zset */
    redis_reply_free(&type);
    words[0] = redis_text(kind == 'h' ? "hgetall" : kind == 'l' ? "lrange" : kind == 's' ? "get" : "zrange");
    fprintf(out, "  %.*s %" PRId64 " ", (int)key.size, key.bytes, keyspace_pttl(keyspace, key));
    show_command(out, keyspace, words, kind == 'z' ? 5 : kind == 'l' ? 4 : 2);
    fprintf(out, "\n");
}

/* Returns the contents of all keys, a line for each. The caller frees it. */
static char *text_of_keys(struct keyspace *keyspace) {
    struct redis_text keys[KEYS_MAX];
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    size_t count = 0;
    uint32_t cursor = 0;
    while (count < KEYS_MAX && keyspace_next_key(keyspace, &cursor, &keys[count])) {
        count++;
    }
    qsort(keys, count, sizeof keys[0], compare_keys);
    for (size_t i = 0; i < count; i++) {
        show_key(out, keyspace, keys[i]);
    }
    fclose(out);
    return text;
}

/* Runs the script of a call: for a user who may not use the command `without`, if it is one; or on a server that is out
 * of memory. */
static void run(enum script_id script, const struct script_call *call, const char *without, struct keyspace *keyspace,
                struct redis_reply *reply_out) {
    size_t argument_count = call->count - call->key_count;
    if (without && without != out_of_memory) {
        script_set_run_without(&rig.scripts, script, without, keyspace, call->words, call->key_count, argument_count,
                               reply_out);
    } else {
        script_set_run(&rig.scripts, script, without ? REFUSE_MEMORY : REFUSE_NOTHING, keyspace, call->words,
                       call->key_count, argument_count, reply_out);
    }
    char *place = reply_out->kind == REDIS_ERROR ? strstr(reply_out->text, "script: ") : NULL;
    if (place) { /* the numbers of the script and the line do not matter */
        *place = '\0';
        reply_out->size = (size_t)(place - reply_out->text);
    }
}

/* Reports an error that is not about the type of a key, access rules or memory, and an error after which the keys are
 * not as before. */
static void judge(enum script_id script, uint32_t number, const struct redis_reply *reply, bool kept) {
    static const char *const known[] = {"WRONGTYPE ", "NOPERM ", "ERR ACL failure", "OOM "};
    bool good = reply->kind != REDIS_ERROR;
    for (size_t i = 0; !good && i < sizeof known / sizeof known[0]; i++) {
        good = strncmp(reply->text, known[i], strlen(known[i])) == 0 && kept;
    }
    if (!good) {
        fprintf(stderr, "%s, case %u: '%s'%s\n", scripts_embedded[script].name, number, reply->text,
                kept ? "" : " after something was done");
        rig.careless++;
    }
}

/* Reports each command without which the script is refused after it has written. */
static void judge_each_command(enum script_id script, uint32_t number, const struct script_call *call,
                               const struct keyspace *keyspace) {
    for (size_t i = 0; i < writing_command_count; i++) {
        char quoted[16];
        snprintf(quoted, sizeof quoted, "'%s'", writing_commands[i]);
        if (strstr(scripts_embedded[script].text, quoted) &&
            refused_script_writes(&rig.scripts, script, keyspace, call->words, call->key_count,
                                  call->count - call->key_count, writing_commands[i])) {
            fprintf(stderr, "%s, case %u: it was refused %s and has written\n", scripts_embedded[script].name, number,
                    quoted);
            rig.careless++;
        }
    }
}

/* Returns what is refused in a case, NULL for nothing. */
static const char *draw_refused(struct random_draw *draw, uint32_t number) {
    if (draw_percent(draw, 15)) {
        return writing_commands[draw_below(draw, (uint32_t)writing_command_count)];
    }
    if (draw_percent(draw, 10)) {
        return dispensable_commands[draw_below(draw, 2)];
    }
    if (number % MUTED_EVERY == 0) {
        return publish_command;
    }
    return draw_percent(draw, 15) ? out_of_memory : NULL;
}

static void play(FILE *out, enum script_id script, uint32_t number) {
    struct random_draw draw = {(uint64_t)number << 32};
    for (const char *at = scripts_embedded[script].name; *at; at++) {
        draw.state = draw.state * 31 + (unsigned char)*at;
    }
    static struct script_call call;
    struct keyspace *keyspace = keyspace_new();
    keyspace_set_time(keyspace, STATE_NOW);
    script_call_make(&draw, script, keyspace, &call);
    const char *without = draw_refused(&draw, number);
    char *before = text_of_keys(keyspace);
    fprintf(out, "case %u:", number);
    show_call(out, &call, without);
    fprintf(out, "%s", before);
    keyspace_on_publish(keyspace, publish, NULL);
    rig.published = out;
    rig.notified = 0;
    if (number % EACH_COMMAND_EVERY == 0) {
        judge_each_command(script, number, &call, keyspace);
    }
    struct redis_reply reply = {.kind = REDIS_NIL};
    run(script, &call, without, keyspace, &reply);
    char *after = text_of_keys(keyspace);
    /* One leaves the server queue, whatever the lock has become. The other releases all members that it can. */
    bool goes_on = without == publish_command || script == SCRIPT_RELEASE_FAIR ||
                   (without == out_of_memory && script == SCRIPT_RELEASE_MANY);
    judge(script, number, &reply, goes_on || (rig.notified == 0 && strcmp(before, after) == 0));
    fprintf(out, "reply ");
    redis_reply_print(out, &reply);
    fprintf(out, "\n%s", after);
    free(before);
    free(after);
    redis_reply_free(&reply);
    keyspace_free(keyspace);
}

/* Returns the FNV-1a hash of the text of all cases. */
static uint64_t digest_of(enum script_id script) {
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint32_t number = 0; number < CASES; number++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        play(out, script, number);
        fclose(out);
        for (size_t i = 0; i < size; i++) {
            digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        }
        free(text);
    }
    return digest;
}

static void write_all(void) {
    for (int id = 0; id < SCRIPT_COUNT; id++) {
        printf("%s %016" PRIx64 "\n", scripts_embedded[id].name, digest_of((enum script_id)id));
    }
}

static int show(const char *name) {
    for (int id = 0; id < SCRIPT_COUNT; id++) {
        if (strcmp(scripts_embedded[id].name, name) == 0 && script_call_is_known((enum script_id)id)) {
            for (uint32_t number = 0; number < CASES; number++) {
                play(stdout, (enum script_id)id, number);
            }
            return 0;
        }
    }
    fprintf(stderr, "'%s' is no script that is recorded; expected the name of a file of core/src/scripts\n", name);
    return 2;
}

/* Returns the recorded digest of a script; 0 if there is none. */
static uint64_t recorded(const char *path, const char *name) {
    FILE *file = fopen(path, "r");
    char word[64];
    uint64_t digest = 0;
    uint64_t found = 0;
    while (file && fscanf(file, "%63s %" SCNx64, word, &digest) == 2) {
        found = strcmp(word, name) == 0 ? digest : found;
    }
    if (file) {
        fclose(file);
    }
    return found;
}

static int compare_all(const char *path) {
    int passed = 0;
    int failed = 0;
    for (int id = 0; id < SCRIPT_COUNT; id++) {
        const char *name = scripts_embedded[id].name;
        bool same = script_call_is_known((enum script_id)id) && digest_of((enum script_id)id) == recorded(path, name);
        if (!same) {
            printf("%s does something else than was recorded in %s; see `test_script_cases --show %s`\n", name, path,
                   name);
        }
        passed += same;
        failed += !same;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || rig.careless ? 1 : 0;
}

int main(int argc, char **argv) {
    if (!script_set_open(&rig.scripts, NULL)) {
        return 2;
    }
    int status = 0;
    if (argc > 2 && strcmp(argv[1], "--show") == 0) {
        status = show(argv[2]);
    } else if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        write_all();
    } else {
        status = compare_all(argc > 1 ? argv[1] : EXPECTED_RESULTS);
    }
    script_set_close(&rig.scripts);
    return status;
}
