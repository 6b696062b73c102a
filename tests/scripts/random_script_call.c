/* Random calls of a script. The letters of a row:
 *   forms      one of these is drawn for the keys of the name (random_state.h)
 *   keys       n name   t counter of tokens   q queue   z time-outs   s heartbeat   x leases   r record
 *              l timeout key of the owner's first acquire   a key with a capital letter is there half of the time
 *   arguments  o owner   w writer's field   W the owner's own writer's field, or nothing   l lease   L hold count
 *              k a number from 0 to 2   i deadline   c channel   b base of timeout keys   v values and their number
 *              d life of a record   D number of an operation   n permits   y ids of permits   Y one of them   m mode
 *              N a limit, or 0   e message   t TTL or 0   K kind   I numbers of waiters   f 0 or 1   0 a lease, or 0
 *   many       keys and arguments are those of each of several names
 * SPDX-License-Identifier: Apache-2.0 */
#include "random_script_call.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct row {
    const char *forms, *keys, *arguments;
    bool many;
} rows[SCRIPT_COUNT] = {
    [SCRIPT_ACQUIRE] = {"h", "n", "ol", false},
    [SCRIPT_ACQUIRE_FAIR] = {"f", "nqzs", "olkiic", false},
    [SCRIPT_ACQUIRE_FENCED] = {"t", "nt", "olf", false},
    [SCRIPT_ACQUIRE_GROUP] = {"g", "n", "olv", false},
    [SCRIPT_ACQUIRE_PERMITS] = {"p", "nx", "lcNy", false},
    [SCRIPT_ACQUIRE_PLAIN] = {"s", "n", "ol", false},
    [SCRIPT_ACQUIRE_READ] = {"w", "nl", "olW", false},
    [SCRIPT_ACQUIRE_SEMAPHORE] = {"c", "nr", "dDncN", false},
    [SCRIPT_ACQUIRE_WRITE] = {"w", "n", "wlb", false},
    [SCRIPT_ADD_SEMAPHORE] = {"p", "nrX", "dDnc", false},
    [SCRIPT_COUNT_DOWN] = {"c", "nr", "dDc", false},
    [SCRIPT_COUNT_LEFT] = {"c", "n", "", false},
    [SCRIPT_COUNT_PERMITS] = {"p", "nx", "k", false},
    [SCRIPT_DELETE_COUNT] = {"c", "n", "ce", false},
    [SCRIPT_DELETE_PERMITS] = {"p", "nx", "c", false},
    [SCRIPT_DRAIN_SEMAPHORE] = {"c", "nr", "dD", false},
    [SCRIPT_EXTEND] = {"h", "n", "ol", false},
    [SCRIPT_EXTEND_GROUP] = {"g", "n", "olv", false},
    [SCRIPT_EXTEND_PERMIT] = {"p", "nx", "lY", false},
    [SCRIPT_EXTEND_PLAIN] = {"s", "n", "ol", false},
    [SCRIPT_EXTEND_READ] = {"w", "n", "ooLlb", false},
    [SCRIPT_EXTEND_WRITE] = {"w", "n", "wwLlb", false},
    [SCRIPT_FORCE_RELEASE] = {"hg", "n", "c", false},
    [SCRIPT_FORCE_RELEASE_FAIR] = {"f", "nqzs", "ic", false},
    [SCRIPT_FORCE_RELEASE_GROUP] = {"g", "n", "cv", false},
    [SCRIPT_FORCE_RELEASE_PLAIN] = {"s", "n", "c", false},
    [SCRIPT_FORCE_RELEASE_READ_WRITE] = {"w", "n", "mc", false},
    [SCRIPT_HAND_OVER] = {"h", "n", "ooLl", false},
    [SCRIPT_HAND_OVER_FAIR] = {"f", "nqzs", "ooLlic", false},
    [SCRIPT_HAND_OVER_FENCED] = {"t", "nt", "ooLlf", false},
    [SCRIPT_HAND_OVER_GROUP] = {"g", "n", "ooLlv", false},
    [SCRIPT_HAND_OVER_PLAIN] = {"s", "n", "ool", false},
    [SCRIPT_HAND_OVER_WRITE] = {"w", "n", "wwLl", false},
    [SCRIPT_LEASE_OF_PERMIT] = {"p", "x", "Y", false},
    [SCRIPT_QUERY] = {"h", "n", "", false},
    [SCRIPT_QUERY_FAIR] = {"f", "nq", "", false},
    [SCRIPT_QUERY_GROUP] = {"g", "n", "v", false},
    [SCRIPT_QUERY_PLAIN] = {"s", "n", "", false},
    [SCRIPT_QUERY_READ_WRITE] = {"w", "n", "m", false},
    [SCRIPT_REENTER] = {"h", "n", "oLl", false},
    [SCRIPT_REENTER_GROUP] = {"g", "n", "oLlv", false},
    [SCRIPT_REENTER_READ] = {"w", "n", "oLlb", false},
    [SCRIPT_REFRESH_FAIR] = {"f", "nqzs", "iI", false},
    [SCRIPT_RELEASE] = {"h", "n", "oLc", false},
    [SCRIPT_RELEASE_FAIR] = {"f", "nqzs", "oLfic", false},
    [SCRIPT_RELEASE_GROUP] = {"g", "n", "oLcv", false},
    [SCRIPT_RELEASE_PERMITS] = {"p", "nxR", "dDcy", false},
    [SCRIPT_RELEASE_PLAIN] = {"s", "n", "oc", false},
    [SCRIPT_RELEASE_READ] = {"w", "n", "oLcb", false},
    [SCRIPT_RELEASE_SEMAPHORE] = {"c", "nr", "dDncf", false},
    [SCRIPT_RELEASE_WRITE] = {"w", "n", "wLcb", false},
    [SCRIPT_RENEW] = {"h", "n", "o0", true},
    [SCRIPT_RENEW_GROUP] = {"g", "n", "o0v", true},
    [SCRIPT_RENEW_PERMITS] = {"p", "x", "Y0", true},
    [SCRIPT_RENEW_PLAIN] = {"s", "n", "o0", true},
    [SCRIPT_RENEW_READ] = {"w", "nl", "o0b", true},
    [SCRIPT_SET_PERMITS] = {"p", "nxr", "dDnc", false},
    [SCRIPT_TRY_SET_COUNT] = {"c", "nr", "dDncet", false},
    [SCRIPT_UNDO_TAKEN] = {"c", "nr", "dDc", false},
    [SCRIPT_WATCH] = {"hswgctpi", "n", "K", false},
    [SCRIPT_WATCH_LATCH] = {"c", "n", "", false},
};

enum { NAMES = 3 };
static const char *const names[NAMES] = {"orders", "parts", "seats"};

enum { LINES_MAX = 3 };

struct maker {
    struct random_draw *draw;
    struct script_call *call;
    const char *name;
    const char *owner; /* of the entry that is being made */
    uint32_t line;
    uint32_t timeouts[LINES_MAX]; /* the word with an entry's timeout key; 0: none; its owner is drawn later */
};

__attribute__((format(printf, 2, 3))) static void add(struct script_call *call, const char *format, ...) {
    char *text = call->texts[call->count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, CALL_WORD_SIZE, format, arguments);
    va_end(arguments);
    call->words[call->count++] = redis_text(text);
}

static const char *an_owner(struct random_draw *draw) {
    return draw_percent(draw, 70) ? state_owners[0] : state_owners[draw_below(draw, 3)];
}

static const char *a_lease(struct random_draw *draw) {
    return DRAW_ONE(draw, "1", "1000", "1000", "5000", "30000");
}

/* Adds some of the texts, each once, from any of them on. Adds their number before them if `counted`. */
static void add_some(const struct maker *maker, const char *const *texts, uint32_t size, bool counted) {
    uint32_t first = draw_below(maker->draw, size);
    uint32_t count = 1 + draw_below(maker->draw, size);
    if (counted) {
        add(maker->call, "%u", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        add(maker->call, "%s", texts[(first + i) % size]);
    }
}

static void add_key(struct maker *maker, char letter) {
    static const char *const patterns[][2] = {
        {"t", "redisson_lock_token:{%s}"},
        {"q", "redisson_lock_queue:{%s}"},
        {"z", "redisson_lock_timeout:{%s}"},
        {"s", "redlatch_waiting:{%s}:11111111-1111-8111-8111-111111111111"},
        {"x", "{%s}:timeout"},
        {"r", "redlatch_op:{%s}:11111111-1111-8111-8111-111111111111:1"},
        {"n", "%s"},
        {"l", "%s"},
    };
    char lower = (char)tolower(letter);
    maker->timeouts[maker->line] = letter == 'l' ? maker->call->count : maker->timeouts[maker->line];
    if (lower == letter || draw_percent(maker->draw, 50)) {
        for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
            if (patterns[i][0][0] == lower) {
                add(maker->call, patterns[i][1], maker->name);
            }
        }
        maker->call->key_count++;
    }
}

/* Writes the timeout key of an entry whose owner was drawn. */
static void name_timeout(const struct maker *maker) {
    uint32_t word = maker->timeouts[maker->line];
    if (word > 0) {
        char *text = maker->call->texts[word];
        snprintf(text, CALL_WORD_SIZE, "{%s}:%s:rwlock_timeout:1", maker->name, maker->owner);
        maker->call->words[word] = redis_text(text);
    }
}

/* Returns a word that is one of a few. */
static const char *simple_word(struct random_draw *draw, char letter) {
    switch (letter) {
    case 'l':
        return a_lease(draw);
    case '0':
        return draw_percent(draw, 25) ? "0" : a_lease(draw);
    case 'L':
        return DRAW_ONE(draw, "0", "0", "1", "2", "3");
    case 'k':
        return DRAW_ONE(draw, "0", "1", "2");
    case 'i':
        return DRAW_ONE(draw, "1", "900", "5000", "300000");
    case 'd':
        return DRAW_ONE(draw, "1000", "60000");
    case 'D':
        return DRAW_ONE(draw, "1", "2", "3");
    case 'n':
        return DRAW_ONE(draw, "0", "1", "2", "3", "5", "-1", "2147483647", "2147483646");
    case 'N':
        return DRAW_ONE(draw, "0", "0", "1", "5", "2147483647");
    case 'm':
        return DRAW_ONE(draw, "read", "write");
    case 't':
        return DRAW_ONE(draw, "0", "1000");
    case 'K':
        return DRAW_ONE(draw, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11");
    default:
        return DRAW_ONE(draw, "0", "1");
    }
}

static void add_argument(struct maker *maker, char letter) {
    static const char *const numbers[] = {"1", "2", "3"};
    struct script_call *call = maker->call;
    switch (letter) {
    case 'o':
        maker->owner = an_owner(maker->draw);
        add(call, "%s", maker->owner);
        break;
    case 'w':
        maker->owner = an_owner(maker->draw);
        add(call, "%s:write", maker->owner);
        break;
    case 'W':
        add(call, "%s%s", draw_percent(maker->draw, 60) ? maker->owner : "", ":write");
        break;
    case 'c':
        add(call, "channel:{%s}", maker->name);
        break;
    case 'b':
        add(call, "{%s}", maker->name);
        break;
    case 'v':
        add_some(maker, state_values, STATE_VALUES, true);
        break;
    case 'y':
        add_some(maker, state_permits, STATE_PERMITS - 1, false);
        break;
    case 'Y':
        add(call, "%s", state_permits[draw_below(maker->draw, STATE_PERMITS)]);
        break;
    case 'I':
        add_some(maker, numbers, 3, false);
        break;
    default:
        add(call, "%s", simple_word(maker->draw, letter));
        break;
    }
}

static char a_letter(struct random_draw *draw, const char *letters) {
    return letters[draw_below(draw, (uint32_t)strlen(letters))];
}

/* Adds the arguments of an entry of a script for several names. They depend on its member type. */
static void add_line(struct maker *maker, bool acquires, char letter) {
    bool capital = isupper(letter);
    char form = (char)tolower(letter);
    add_argument(maker, form == 'w' ? 'w' : 'o');
    if (capital) {
        add_argument(maker, 'L');
    }
    if (!acquires) {
        add_argument(maker, 'c');
    } else if (form == 'f') {
        add_argument(maker, 'f');
    }
    if (form == 'r' || form == 'w') {
        add_argument(maker, 'b');
    }
    if (form == 'r' && acquires) {
        add_argument(maker, 'W');
    }
    if (form == 'g') {
        add_argument(maker, 'v');
    }
}

static void make_lines(struct maker *maker, bool acquires, struct keyspace *keyspace) {
    static const char forms[] = "mfprwgMFRWG";
    static const char states[] = "mhftpsrwwwgg"; /* pairs of a member type and the form of its keys */
    char letters[4] = "";
    uint32_t count = 1 + draw_below(maker->draw, 3);
    for (uint32_t i = 0; i < count; i++) {
        letters[i] = draw_percent(maker->draw, 25) ? 'm' : a_letter(maker->draw, forms);
        char form = (char)tolower(letters[i]);
        for (size_t j = 0; states[j]; j += 2) {
            if (states[j] == form) {
                state_fill(maker->draw, keyspace, states[j + 1], names[i]);
            }
        }
        maker->name = names[i];
        maker->line = i;
        add_key(maker, 'n');
        if (acquires && form == 'f') {
            add_key(maker, 't');
        }
        if (form == 'r') {
            add_key(maker, 'l');
        }
    }
    if (acquires) {
        add_argument(maker, '0');
    }
    add(maker->call, "%s", letters);
    for (uint32_t i = 0; i < count; i++) {
        maker->name = names[i];
        maker->line = i;
        add_line(maker, acquires, letters[i]);
        name_timeout(maker);
    }
}

/* Adds the id of a permit as clients show it. */
static void add_shown_permit(struct maker *maker) {
    const char *id = state_permits[draw_below(maker->draw, STATE_PERMITS - 1)];
    const char *format = draw_percent(maker->draw, 80) ? "%02x" : "%02X";
    char shown[CALL_WORD_SIZE] = "";
    for (size_t i = 0; id[i]; i++) {
        snprintf(shown + 2 * i, sizeof shown - 2 * i, format, (unsigned char)id[i]);
    }
    add(maker->call, "%s", shown);
}

/* Makes an inspection of one name, or of a page of all names. */
static void make_recheck(struct maker *maker, struct keyspace *keyspace) {
    bool is_page = draw_percent(maker->draw, 40);
    uint32_t count = is_page ? 1 + draw_below(maker->draw, NAMES) : 1;
    bool all_large = draw_percent(maker->draw, 5);
    for (uint32_t i = 0; i < count && i < NAMES; i++) {
        state_fill(maker->draw, keyspace, all_large ? 'l' : a_letter(maker->draw, "hftswwggcpiil"), names[i]);
    }
    if (is_page) {
        add(maker->call, "%s", draw_percent(maker->draw, 90) ? "0" : "1");
        add(maker->call, "%s", DRAW_ONE(maker->draw, "*", "*", "*r*", "orders"));
        add(maker->call, "%s", DRAW_ONE(maker->draw, "100", "100", "2"));
        return;
    }
    add_key(maker, 'n');
    uint32_t choice = draw_below(maker->draw, 100);
    if (choice < 45) {
        add(maker->call, "%s", state_owners[draw_below(maker->draw, STATE_OWNERS)]);
    } else if (choice < 65) {
        add_shown_permit(maker);
    }
}

bool script_call_is_known(enum script_id script) {
    return rows[script].forms || script == SCRIPT_ACQUIRE_MANY || script == SCRIPT_RELEASE_MANY ||
           script == SCRIPT_INSPECT;
}

void script_call_make(struct random_draw *draw, enum script_id script, struct keyspace *keyspace,
                      struct script_call *call_out) {
    const struct row *row = &rows[script];
    struct maker maker = {draw, call_out, names[0], state_owners[0], 0, {0}};
    call_out->count = 0;
    call_out->key_count = 0;
    if (script == SCRIPT_INSPECT) {
        make_recheck(&maker, keyspace);
        return;
    }
    if (!row->forms) {
        make_lines(&maker, script == SCRIPT_ACQUIRE_MANY, keyspace);
        return;
    }
    uint32_t count = row->many ? 1 + draw_below(draw, 3) : 1;
    for (uint32_t i = 0; i < count; i++) {
        maker.name = names[i];
        maker.line = i;
        state_fill(draw, keyspace, a_letter(draw, row->forms), maker.name);
        if (strpbrk(row->keys, "rR")) {
            state_fill(draw, keyspace, 'r', maker.name);
        }
        for (const char *key = row->keys; *key; key++) {
            add_key(&maker, *key);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        maker.name = names[i];
        maker.line = i;
        for (const char *argument = row->arguments; *argument; argument++) {
            add_argument(&maker, *argument);
        }
        name_timeout(&maker);
    }
}
