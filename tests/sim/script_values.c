/* Conversion of values between Lua and Redis, as EVAL does it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "script_values.h"

#include <lauxlib.h>

static void push_text(lua_State *lua, const struct redis_reply *reply) {
    lua_pushlstring(lua, reply->text, reply->size);
}

/* Replaces the text on top of the stack by a table with that text as its only field. */
static void wrap_in_table(lua_State *lua, const char *field) {
    lua_createtable(lua, 0, 1);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, field);
}

void push_reply(lua_State *lua, const struct redis_reply *reply) {
    luaL_checkstack(lua, 4, "answer nested too deeply");
    switch (reply->kind) {
    case REDIS_NIL:
        lua_pushboolean(lua, 0);
        break;
    case REDIS_INTEGER:
        lua_pushnumber(lua, (lua_Number)reply->integer);
        break;
    case REDIS_BULK:
        push_text(lua, reply);
        break;
    case REDIS_STATUS:
        push_text(lua, reply);
        wrap_in_table(lua, "ok");
        break;
    case REDIS_ERROR:
        push_text(lua, reply);
        wrap_in_table(lua, "err");
        break;
    case REDIS_ARRAY:
        lua_createtable(lua, (int)reply->size, 0);
        for (size_t i = 0; i < reply->size; i++) {
            push_reply(lua, &reply->elements[i]);
            lua_rawseti(lua, -2, (int)i + 1);
        }
        break;
    }
}

void push_error(lua_State *lua, const char *text) {
    bool has_code = text[0] == '-' && strchr(text, ' ');
    lua_pushfstring(lua, "%s%s", has_code ? "" : "ERR ", text[0] == '-' ? text + 1 : text);
    wrap_in_table(lua, "err");
}

/* Returns the integer part. A number that does not fit in 64 bits becomes INT64_MIN, as x86's conversion instruction
 * does it. */
static int64_t truncate_number(lua_Number number) {
    return number >= -0x1p63 && number < 0x1p63 ? (int64_t)number : INT64_MIN;
}

static struct redis_text string_at(lua_State *lua, int index) {
    struct redis_text text = {NULL, 0};
    text.bytes = lua_tolstring(lua, index, &text.size);
    return text;
}

/* Pushes a field without the table's metamethods, which could raise errors. Returns whether it is a string. */
static bool raw_field(lua_State *lua, const char *field) {
    lua_pushstring(lua, field);
    lua_rawget(lua, -2);
    return lua_type(lua, -1) == LUA_TSTRING;
}

static void array_from_top(lua_State *lua, struct redis_reply *reply_out) {
    int count = 0;
    for (bool more = true; more; lua_pop(lua, 1)) {
        lua_rawgeti(lua, -1, count + 1);
        more = !lua_isnil(lua, -1);
        count += more;
    }
    struct redis_reply *elements = redis_reply_array(reply_out, (size_t)count);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(lua, -1, i + 1);
        reply_from_top(lua, &elements[i]);
        lua_pop(lua, 1);
    }
}

static void table_from_top(lua_State *lua, struct redis_reply *reply_out) {
    if (raw_field(lua, "err")) {
        struct redis_text text = string_at(lua, -1);
        redis_reply_error(reply_out, "%.*s", (int)text.size, text.bytes);
        lua_pop(lua, 1);
        return;
    }
    lua_pop(lua, 1);
    if (raw_field(lua, "ok")) {
        redis_reply_status(reply_out, string_at(lua, -1));
        lua_pop(lua, 1);
        return;
    }
    lua_pop(lua, 1);
    array_from_top(lua, reply_out);
}

void reply_from_top(lua_State *lua, struct redis_reply *reply_out) {
    if (!lua_checkstack(lua, 4)) {
        redis_reply_error(reply_out, "ERR reached lua stack limit");
        return;
    }
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        redis_reply_bulk(reply_out, string_at(lua, -1));
        break;
    case LUA_TNUMBER:
        redis_reply_integer(reply_out, truncate_number(lua_tonumber(lua, -1)));
        break;
    case LUA_TBOOLEAN:
        redis_reply_nil(reply_out);
        if (lua_toboolean(lua, -1)) {
            redis_reply_integer(reply_out, 1);
        }
        break;
    case LUA_TTABLE:
        table_from_top(lua, reply_out);
        break;
    default:
        redis_reply_nil(reply_out);
        break;
    }
}
