/* Opening clients and making locks, with their options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver_objects.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "driver_json.h"

enum { OBJECTS = 32, NAME_SIZE = 32, KINDS_END = 32, VALUES_MAX = 16, MEMBERS_MAX = 16 };

struct object {
    char name[NAME_SIZE];
    redlatch_client *client;
    redlatch_lock *lock; /* of that client; NULL in the table of clients */
};

static struct object clients[OBJECTS];
static struct object locks[OBJECTS];

/* Returns the entry of that name. The empty name finds a free entry. */
static struct object *find(struct object *table, const char *name) {
    for (size_t i = 0; i < OBJECTS; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    misunderstood(*name ? "nothing is called %s" : "too many objects%s", name);
}

static void remember(struct object *table, const char *name, redlatch_client *client, redlatch_lock *lock) {
    size_t size = strlen(name);
    if (size >= NAME_SIZE) {
        misunderstood("the name %s is longer than %d characters", name, NAME_SIZE - 1);
    }
    struct object *object = find(table, "");
    memcpy(object->name, name, size + 1);
    object->client = client;
    object->lock = lock;
}

/* Sets one option. The bytes of `text` must live as long as the options do. */
static void set_client_option(redlatch_client_options *options, const json_t *all, const char *option,
                              struct text *text) {
    const json_t *value = json_object_get(all, option);
    if (strcmp(option, "watchdog_lease_ms") == 0) {
        options->watchdog_lease_ms = json_integer_value(value);
    } else if (strcmp(option, "release_on_close") == 0) {
        options->release_on_close = json_is_true(value);
    } else if (strcmp(option, "lazy") == 0) {
        options->lazy = json_is_true(value);
    } else if (strcmp(option, "database") == 0) {
        options->database = (int32_t)json_integer_value(value);
    } else if (strcmp(option, "username") == 0) {
        options->username = json_string_value(value);
    } else if (strcmp(option, "password") == 0) {
        options->password = json_string_value(value);
    } else if (strcmp(option, "label") == 0) {
        options->label = json_string_value(value);
    } else if (strcmp(option, "name_prefix") == 0) {
        *text = text_of(all, option);
        options->name_prefix = text->bytes;
        options->name_prefix_size = text->size;
    } else {
        misunderstood("no option of a client is called %s", option);
    }
}

json_t *call_open(const json_t *call) {
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    struct text prefix = {NULL, 0};
    json_t *given = json_object_get(call, "options");
    const char *option;
    json_t *value;
    json_object_foreach(given, option, value) {
        set_client_option(&options, given, option, &prefix);
    }
    redlatch_client *client = NULL;
    int status = redlatch_client_open(string_of(call, "url"), &options, &client);
    free(prefix.bytes);
    json_t *uuid = NULL;
    if (status == REDLATCH_OK) {
        remember(clients, string_of(call, "client"), client, NULL);
        uuid = json_pack("{s:s}", "uuid", redlatch_client_uuid(client));
    }
    return outcome(status, uuid);
}

json_t *call_close(const json_t *call) {
    return outcome(redlatch_client_close(client_named(call)), NULL);
}

/* The bytes of `text` must live as long as the options do. */
static void set_lock_option(redlatch_lock_options *options, const json_t *all, const char *option, struct text *text) {
    if (strcmp(option, "owner") == 0) {
        bool by_handle = strcmp(string_of(all, option), "handle") == 0;
        options->owner_mode = by_handle ? REDLATCH_OWNER_HANDLE : REDLATCH_OWNER_THREAD;
    } else if (strcmp(option, "lease_ms") == 0) {
        options->lease_ms = milliseconds_of(all, option, "renewed", REDLATCH_RENEWED);
    } else if (strcmp(option, "max_hold_ms") == 0) {
        options->max_hold_ms = milliseconds_of(all, option, NULL, 0);
    } else if (strcmp(option, "reentrant") == 0) {
        options->reentrant = json_is_true(json_object_get(all, option));
    } else if (strcmp(option, "token_from_time") == 0) {
        options->token_from_time = json_is_true(json_object_get(all, option));
    } else if (strcmp(option, "confirm_release") == 0) {
        options->confirm_release = json_is_true(json_object_get(all, option));
    } else if (strcmp(option, "back_off_initial_ms") == 0) {
        options->back_off_initial_ms = milliseconds_of(all, option, NULL, 0);
    } else if (strcmp(option, "back_off_max_ms") == 0) {
        options->back_off_max_ms = milliseconds_of(all, option, NULL, 0);
    } else if (strcmp(option, "key_template") == 0) {
        *text = text_of(all, option);
        options->key_template = text->bytes;
        options->key_template_size = text->size;
    } else {
        misunderstood("no option of a lock is called %s", option);
    }
}

static int kind_of(const json_t *call) {
    const char *name = json_object_get(call, "kind") ? string_of(call, "kind") : "mutex";
    for (int kind = REDLATCH_MUTEX; kind < KINDS_END; kind++) {
        if (strcmp(redlatch_kind_name(kind), name) == 0) {
            return kind;
        }
    }
    misunderstood("no kind of lock is called %s", name);
}

static int new_lock(redlatch_client *client, const json_t *call, struct text name, const redlatch_lock_options *options,
                    redlatch_lock **lock_out) {
    const json_t *listed = json_object_get(call, "values");
    if (!listed) {
        return redlatch_lock_new(client, kind_of(call), name.bytes, name.size, options, lock_out);
    }
    redlatch_value values[VALUES_MAX];
    size_t count = json_array_size(listed);
    if (count > VALUES_MAX) {
        misunderstood("a group has more than %d values", VALUES_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        const char *value = json_string_value(json_array_get(listed, i));
        values[i] = (redlatch_value){value, strlen(value)};
    }
    return redlatch_group_lock_new(client, name.bytes, name.size, values, count, options, lock_out);
}

/* `template` receives the key template of the options, which the caller frees. */
static redlatch_lock_options options_of(const json_t *call, struct text *template) {
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    json_t *given = json_object_get(call, "options");
    const char *option;
    json_t *value;
    json_object_foreach(given, option, value) {
        set_lock_option(&options, given, option, template);
    }
    return options;
}

json_t *call_lock(const json_t *call) {
    struct text template = {NULL, 0};
    redlatch_lock_options options = options_of(call, &template);
    redlatch_client *client = client_named(call);
    struct text name = text_of(call, "name");
    redlatch_lock *lock = NULL;
    int status = new_lock(client, call, name, &options, &lock);
    free(name.bytes);
    free(template.bytes);
    if (status == REDLATCH_OK) {
        remember(locks, string_of(call, "lock"), client, lock);
    }
    return outcome(status, NULL);
}

json_t *call_composite(const json_t *call) {
    struct text template = {NULL, 0};
    redlatch_lock_options options = options_of(call, &template);
    redlatch_lock *members[MEMBERS_MAX];
    const json_t *names = json_object_get(call, "members");
    size_t count = json_array_size(names);
    if (count > MEMBERS_MAX) {
        misunderstood("there are more than %d members", MEMBERS_MAX);
    }
    redlatch_client *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct object *member = find(locks, json_string_value(json_array_get(names, i)));
        members[i] = member->lock;
        first = first ? first : member->client;
    }
    bool few = json_is_true(json_object_get(call, "allow_few"));
    redlatch_lock *lock = NULL;
    int status = strcmp(string_of(call, "call"), "redlock") == 0
                     ? redlatch_redlock_new(members, count, few, &options, &lock)
                     : redlatch_multi_lock_new(members, count, &options, &lock);
    if (status == REDLATCH_OK) {
        remember(locks, string_of(call, "lock"), first, lock);
    }
    return outcome(status, NULL);
}

json_t *call_free(const json_t *call) {
    struct object *object = find(locks, string_of(call, "lock"));
    redlatch_lock_free(object->lock);
    memset(object, 0, sizeof *object);
    return outcome(REDLATCH_OK, NULL);
}

redlatch_client *client_named(const json_t *call) {
    return find(clients, string_of(call, "client"))->client;
}

redlatch_lock *lock_of(const json_t *call) {
    return find(locks, string_of(call, "lock"))->lock;
}

redlatch_client *client_of(const json_t *call) {
    return find(locks, string_of(call, "lock"))->client;
}

void objects_close(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        if (clients[i].client) {
            redlatch_client_close(clients[i].client);
        }
    }
}

void objects_free(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        redlatch_lock_free(locks[i].lock);
        redlatch_client_free(clients[i].client);
    }
    memset(locks, 0, sizeof locks);
    memset(clients, 0, sizeof clients);
}
