/* Runs server-side scripts against an in-memory Redis, as EVAL does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "script_host.h"

#include <lauxlib.h>
#include <stdlib.h>

#include "redis_commands.h"
#include "script_sandbox.h"
#include "script_values.h"

#define CHUNK_NAME "@user_script"

/* The values at the bottom of the Lua stack, at all times. */
enum { STACK_HANDLER = 1, STACK_GLOBALS, STACK_VISIBLE_GLOBALS };

struct loaded_script {
    struct stored_text *text;
    int reference; /* of the compiled function, in Lua's registry */
};

struct script_host {
    lua_State *lua;
    struct keyspace *keyspace; /* of the running script */
    struct loaded_script *scripts;
    int script_count;
    struct redis_text *arguments; /* of the running command */
    size_t argument_room;
    struct stored_text *load_error;
};

static const char NOT_TEXT[] = "Lua redis lib command arguments must be strings or integers";

/* Points host->arguments at the script's arguments. Numbers become text. Returns false if one is neither text nor
 * number. */
static bool take_arguments(struct script_host *host, lua_State *lua, size_t count) {
    if (count > host->argument_room) {
        host->argument_room = 2 * count;
        host->arguments = reallocate(host->arguments, host->argument_room, sizeof *host->arguments);
    }
    for (size_t i = 0; i < count; i++) {
        int index = (int)i + 1;
        int type = lua_type(lua, index);
        if (type == LUA_TNUMBER) {
            char text[NUMBER_TEXT_SIZE];
            size_t size = double_format(lua_tonumber(lua, index), text);
            lua_pushlstring(lua, text, size);
            lua_replace(lua, index);
        } else if (type != LUA_TSTRING) {
            return false;
        }
        host->arguments[i].bytes = lua_tolstring(lua, index, &host->arguments[i].size);
    }
    return true;
}

/* Runs a command of a script and pushes the reply. Returns false if the reply is an error. */
static bool run_command(lua_State *lua) {
    struct script_host *host = lua_touserdata(lua, lua_upvalueindex(1));
    size_t count = (size_t)lua_gettop(lua);
    const char *error_reply = NULL;
    const struct redis_command *command = NULL;
    if (count == 0) {
        error_reply = "Please specify at least one argument for this redis lib call";
    } else if (!take_arguments(host, lua, count)) {
        error_reply = NOT_TEXT;
    } else if ((command = redis_command_find(host->arguments[0])) == NULL) {
        error_reply = "Unknown Redis command called from script";
    } else if (!redis_command_takes(command, count)) {
        error_reply = "Wrong number of args calling Redis command from script";
    } else if (!redis_command_is_local(command, host->keyspace, host->arguments, count)) {
        error_reply = "Script attempted to access a non local key in a cluster node";
    }
    if (error_reply) {
        push_error(lua, error_reply);
        return false;
    }
    struct redis_reply reply;
    redis_command_run(command, host->keyspace, host->arguments, count, &reply);
    push_reply(lua, &reply);
    bool is_error = reply.kind == REDIS_ERROR;
    redis_reply_free(&reply);
    return !is_error;
}

static int redis_call(lua_State *lua) {
    return run_command(lua) ? 1 : lua_error(lua);
}

static int redis_pcall(lua_State *lua) {
    run_command(lua);
    return 1;
}

/* The simulated user may run every command. The arguments are checked as Redis checks them. */
static int redis_acl_check_cmd(lua_State *lua) {
    struct script_host *host = lua_touserdata(lua, lua_upvalueindex(1));
    if (!take_arguments(host, lua, (size_t)lua_gettop(lua))) {
        push_error(lua, NOT_TEXT);
        return lua_error(lua);
    }
    lua_pushboolean(lua, true);
    return 1;
}

static const luaL_Reg redis_functions[] = {
    {"call", redis_call}, {"pcall", redis_pcall}, {"acl_check_cmd", redis_acl_check_cmd}, {NULL, NULL}};

/* Converts a raised value to an error table with the place of the error: the function that raised it, or its caller if
 * that function is in C. */
static int describe_error(lua_State *lua) {
    lua_Debug place;
    bool known = lua_getstack(lua, 1, &place) && lua_getinfo(lua, "Sl", &place);
    if (known && strcmp(place.what, "C") == 0) {
        known = lua_getstack(lua, 2, &place) && lua_getinfo(lua, "Sl", &place);
    }
    if (!lua_istable(lua, 1)) {
        const char *text = lua_tostring(lua, 1);
        lua_createtable(lua, 0, 3);
        lua_pushfstring(lua, "ERR %s", text ? text : luaL_typename(lua, 1));
        lua_setfield(lua, -2, "err");
        lua_replace(lua, 1);
    }
    if (known) {
        lua_pushstring(lua, place.source);
        lua_setfield(lua, 1, "source");
        lua_pushinteger(lua, place.currentline);
        lua_setfield(lua, 1, "line");
    }
    return 1;
}

struct script_host *script_host_new(void) {
    struct script_host *host = allocate(1, sizeof *host);
    memset(host, 0, sizeof *host);
    host->lua = luaL_newstate();
    if (!host->lua) {
        fprintf(stderr, "simulated Redis: no memory for Lua\n");
        abort();
    }
    lua_pushcfunction(host->lua, describe_error);
    push_sandbox(host->lua, host, redis_functions);
    return host;
}

void script_host_free(struct script_host *host) {
    if (!host) {
        return;
    }
    lua_close(host->lua);
    for (int i = 0; i < host->script_count; i++) {
        free(host->scripts[i].text);
    }
    free(host->scripts);
    free(host->arguments);
    free(host->load_error);
    free(host);
}

static void refuse_text(struct script_host *host) {
    struct redis_reply error;
    redis_reply_error(&error, "ERR Error compiling script (new function): %s", lua_tostring(host->lua, -1));
    free(host->load_error);
    host->load_error = text_store(redis_reply_view(&error));
    redis_reply_free(&error);
    lua_pop(host->lua, 1);
}

int script_host_load(struct script_host *host, struct redis_text text) {
    for (int i = 0; i < host->script_count; i++) {
        if (text_equal(text_view(host->scripts[i].text), text)) {
            return i;
        }
    }
    if (luaL_loadbuffer(host->lua, text.bytes, text.size, CHUNK_NAME) != 0) {
        refuse_text(host);
        return -1;
    }
    lua_pushvalue(host->lua, STACK_VISIBLE_GLOBALS);
    lua_setfenv(host->lua, -2);
    int reference = luaL_ref(host->lua, LUA_REGISTRYINDEX);
    host->scripts = reallocate(host->scripts, (size_t)host->script_count + 1, sizeof *host->scripts);
    host->scripts[host->script_count] = (struct loaded_script){text_store(text), reference};
    return host->script_count++;
}

const char *script_host_load_error(const struct script_host *host) {
    return host->load_error ? host->load_error->bytes : "";
}

static void set_texts(lua_State *lua, const char *name, const struct redis_text *texts, size_t count) {
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(lua, texts[i].bytes, texts[i].size);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    lua_setfield(lua, STACK_GLOBALS, name);
}

/* Writes the error table on top of the stack as Redis words it for a client. */
static void error_from_top(lua_State *lua, int script, struct redis_reply *reply_out) {
    lua_getfield(lua, -1, "err");
    lua_getfield(lua, -2, "source");
    lua_getfield(lua, -3, "line");
    const char *text = lua_tostring(lua, -3);
    const char *source = lua_tostring(lua, -2);
    const char *line = lua_tostring(lua, -1);
    text = text ? text : "ERR unknown error";
    if (source && line) {
        redis_reply_error(reply_out, "%s script: %040d, on %s:%s.", text, script, source, line);
    } else {
        redis_reply_error(reply_out, "%s", text);
    }
}

void script_host_run(struct script_host *host, struct keyspace *keyspace, int script, const struct redis_text *keys,
                     size_t key_count, const struct redis_text *arguments, size_t argument_count,
                     struct redis_reply *reply_out) {
    lua_State *lua = host->lua;
    host->keyspace = keyspace;
    set_texts(lua, "KEYS", keys, key_count);
    set_texts(lua, "ARGV", arguments, argument_count);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, host->scripts[script].reference);
    int status = lua_pcall(lua, 0, 1, STACK_HANDLER);
    if (status == 0) {
        reply_from_top(lua, reply_out);
    } else if (lua_istable(lua, -1)) {
        error_from_top(lua, script, reply_out);
    } else {
        redis_reply_error(reply_out, "ERR Error running script %040d, %s", script, lua_tostring(lua, -1));
    }
    lua_settop(lua, STACK_VISIBLE_GLOBALS);
}
