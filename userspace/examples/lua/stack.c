// SPDX-License-Identifier: GPL-2.0
/*
 * A Lua module in C. Its only function requests the stack that it is called on: its own
 * frame, the interpreter's, and those of the C code that called the interpreter.
 *
 *	local stack = require("stack")
 *	stack.request()			-- printed by "sframe-unwind exec", if that runs it
 *	stack.request("eu-stack -1 -p %d")	-- then run a command with the process ID
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <sframe_unwind.h>

static struct sframe_unwind *handle;

static int request(lua_State *L)
{
	const char *format = luaL_optstring(L, 1, NULL);
	int err = sframe_unwind_request_self(handle, 0);

	if (err)
		return luaL_error(L, "request: error %d", -err);
	if (format) {
		lua_pushfstring(L, format, (int)getpid());
		if (system(lua_tostring(L, -1)))
			return luaL_error(L, "%s failed", lua_tostring(L, -1));
	}
	return 0;
}

int luaopen_stack(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "request", request },
		{ NULL, NULL }
	};

	if (sframe_unwind_open(&handle, 0) ||
	    sframe_unwind_register_objects(handle, 0, NULL, NULL) < 0)
		return luaL_error(L, "%s", sframe_unwind_error(handle));
	luaL_newlib(L, functions);
	return 1;
}
