/* Whole numbers and texts between Lua and C: see lua_values.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lua_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this number a double represents every whole number. */
#define EXACT_MAX (INT64_C(1) << 53)

static bool whole(lua_State *L, int index, int64_t *value) {
    if (lua_type(L, index) != LUA_TNUMBER) {
        return false;
    }
#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, index)) {
        *value = (int64_t)lua_tointeger(L, index);
        return true;
    }
#endif
    lua_Number number = lua_tonumber(L, index);
    if (!(number >= (lua_Number)-EXACT_MAX && number <= (lua_Number)EXACT_MAX)) {
        return false;
    }
    *value = (int64_t)number;
    return (lua_Number)*value == number;
}

static bool digits(lua_State *L, int index, uint64_t *value) {
    if (lua_type(L, index) != LUA_TSTRING) {
        return false;
    }
    size_t size;
    const char *text = lua_tolstring(L, index, &size);
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (*value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *value = *value * 10 + digit;
    }
    return size > 0;
}

bool lua_values_is_signed(lua_State *L, int index) {
    int64_t value;
    return whole(L, index, &value);
}

bool lua_values_is_small(lua_State *L, int index) {
    int64_t value;
    return whole(L, index, &value) && value >= INT32_MIN && value <= INT32_MAX;
}

int64_t lua_values_signed(lua_State *L, int index) {
    int64_t value = 0;
    whole(L, index, &value);
    return value;
}

bool lua_values_is_unsigned(lua_State *L, int index) {
    int64_t number;
    uint64_t value;
    return (whole(L, index, &number) && number >= 0) || digits(L, index, &value);
}

uint64_t lua_values_unsigned(lua_State *L, int index) {
    int64_t number;
    if (whole(L, index, &number)) {
        return (uint64_t)number;
    }
    uint64_t value = 0;
    digits(L, index, &value);
    return value;
}

void lua_values_push_signed(lua_State *L, int64_t value) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)value);
#else
    if (value >= -EXACT_MAX && value <= EXACT_MAX) {
        lua_pushnumber(L, (lua_Number)value);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, value);
        lua_pushstring(L, text);
    }
#endif
}

void lua_values_push_unsigned(lua_State *L, uint64_t value) {
#if LUA_VERSION_NUM >= 503
    uint64_t most = INT64_MAX;
#else
    uint64_t most = (uint64_t)EXACT_MAX;
#endif
    if (value <= most) {
        lua_values_push_signed(L, (int64_t)value);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, value);
        lua_pushstring(L, text);
    }
}

/* Frees a copy. Options have it as const, but it was allocated here. */
static void free_text(const char *text) {
    free((void *)(uintptr_t)text);
}

size_t lua_values_set_text(lua_State *L, int index, const char **place) {
    size_t size = 0;
    const char *text = lua_tolstring(L, index, &size);
    char *copy = text == NULL ? NULL : malloc(size + 1);
    if (copy != NULL) {
        memcpy(copy, text, size + 1); /* Lua ends its strings with a NUL */
    }
    free_text(*place);
    *place = copy;
    return copy == NULL ? 0 : size;
}

redlatch_value *lua_values_list(lua_State *L, int index, size_t *count_out) {
#if LUA_VERSION_NUM >= 502
    size_t count = lua_rawlen(L, index);
#else
    size_t count = lua_objlen(L, index);
#endif
    redlatch_value *values = malloc((count + 1) * sizeof *values);
    for (size_t i = 0; values != NULL && i < count; i++) {
        size_t size = 1;
        lua_rawgeti(L, index, (int)i + 1);
        values[i].bytes = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
        values[i].size = size;
        lua_pop(L, 1);
    }
    *count_out = count;
    return values;
}

void lua_values_free_redlatch_client_options(redlatch_client_options *options) {
    if (options != NULL) {
        free_text(options->name_prefix);
        free_text(options->username);
        free_text(options->password);
        free_text(options->tls_ca_file);
        free_text(options->tls_ca_dir);
        free_text(options->tls_cert_file);
        free_text(options->tls_key_file);
        free_text(options->tls_server_name);
        free_text(options->tls_verify);
        free_text(options->tls_min_version);
        free_text(options->sentinel_username);
        free_text(options->sentinel_password);
        free_text(options->sharded_messages);
        free_text(options->label);
        free(options);
    }
}

void lua_values_free_redlatch_lock_options(redlatch_lock_options *options) {
    if (options != NULL) {
        free_text(options->key_template);
        free(options);
    }
}

void lua_values_free_redlatch_semaphore_options(redlatch_semaphore_options *options) {
    free(options);
}
