/* What scripts see besides KEYS and ARGV: a few functions of Lua, and `redis`. Scripts can change none of them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Lua in Redis has read-only tables. Here scripts get an empty table instead of each. Its metatable reads from the
 * real table and refuses writes. */
#include "script_sandbox.h"

#include <lauxlib.h>
#include <lualib.h>

#include "script_values.h"

static int refuse_write(lua_State *lua) {
    return luaL_error(lua, "Attempt to modify a readonly table");
}

static int refuse_unknown_global(lua_State *lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

/* Replaces the table on top of the stack by a read-only view of it. */
static void make_read_only(lua_State *lua) {
    lua_newtable(lua);
    lua_createtable(lua, 0, 3);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_write);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
}

/* pcall as in Redis: of an error table the caller gets the text only. */
static int protected_call(lua_State *lua) {
    luaL_checkany(lua, 1);
    int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (status != 0 && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (!lua_isstring(lua, -1)) {
            lua_pop(lua, 1);
        }
    }
    if (status != 0) {
        lua_replace(lua, 1);
        lua_settop(lua, 1);
    }
    lua_pushboolean(lua, status == 0);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/* Returns the only argument, a string. Otherwise pushes the error and returns NULL; the error is returned to the
 * script, not raised. */
static const char *only_string(lua_State *lua) {
    if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) {
        return lua_tostring(lua, 1);
    }
    push_error(lua, "wrong number or type of arguments");
    return NULL;
}

static int error_reply(lua_State *lua) {
    const char *text = only_string(lua);
    if (text) {
        push_error(lua, text[0] == '-' ? text : lua_pushfstring(lua, "-%s", text));
    }
    return 1;
}

static int status_reply(lua_State *lua) {
    const char *text = only_string(lua);
    if (text) {
        lua_createtable(lua, 0, 1);
        lua_pushstring(lua, text);
        lua_setfield(lua, -2, "ok");
    }
    return 1;
}

static void push_redis(lua_State *lua, void *host, const luaL_Reg *redis_functions) {
    lua_newtable(lua);
    for (; redis_functions->name; redis_functions++) {
        lua_pushlightuserdata(lua, host);
        lua_pushcclosure(lua, redis_functions->func, 1);
        lua_setfield(lua, -2, redis_functions->name);
    }
    lua_pushcfunction(lua, error_reply);
    lua_setfield(lua, -2, "error_reply");
    lua_pushcfunction(lua, status_reply);
    lua_setfield(lua, -2, "status_reply");
    make_read_only(lua);
}

static void open_library(lua_State *lua, lua_CFunction open, const char *name) {
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
}

void push_sandbox(lua_State *lua, void *host, const luaL_Reg *redis_functions) {
    static const char *const functions[] = {"assert",   "error",    "getmetatable", "ipairs", "next",
                                            "pairs",    "rawequal", "rawget",       "select", "setmetatable",
                                            "tonumber", "tostring", "type",         "unpack"};
    static const char *const libraries[] = {"string", "table", "math"};
    open_library(lua, luaopen_base, "");
    open_library(lua, luaopen_string, LUA_STRLIBNAME);
    open_library(lua, luaopen_table, LUA_TABLIBNAME);
    open_library(lua, luaopen_math, LUA_MATHLIBNAME);

    lua_newtable(lua);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lua_getglobal(lua, functions[i]);
        lua_setfield(lua, -2, functions[i]);
    }
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        lua_getglobal(lua, libraries[i]);
        /* Two runs of one seed must be equal, so math.random is removed. */
        lua_pushnil(lua);
        lua_setfield(lua, -2, "random");
        make_read_only(lua);
        lua_setfield(lua, -2, libraries[i]);
    }
    lua_pushcfunction(lua, protected_call);
    lua_setfield(lua, -2, "pcall");
    push_redis(lua, host, redis_functions);
    lua_setfield(lua, -2, "redis");
    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, refuse_unknown_global);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    make_read_only(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -3, "_G");
}
