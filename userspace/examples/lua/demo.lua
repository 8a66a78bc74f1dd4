-- Call through Lua and C alternately: a recursive function, pcall, a coroutine, a
-- sort with a comparison function in Lua, and at the bottom a C function that
-- requests the stack.
local stack = require("stack")

local command = arg[1]
local done = false

local function compare(a, b)
	if not done then
		done = true
		stack.request(command)
	end
	return a < b
end

local function sorted()
	local t = { 3, 1, 2 }
	table.sort(t, compare)
	return table.concat(t, " ")
end

local function recurse(depth)
	if depth == 0 then
		local step = coroutine.wrap(function() return sorted() end)
		return step()
	end
	local ok, result = pcall(recurse, depth - 1)
	assert(ok, result)
	return result
end

assert(recurse(3) == "1 2 3")
