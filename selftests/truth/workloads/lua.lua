-- SPDX-License-Identifier: GPL-2.0
-- Never ends. Recursion through Lua and C, closures, strings, sorting, coroutines, errors, metamethods, collection.

local function depth(n, f)
	if n == 0 then return f() end
	return 1 + depth(n - 1, f)
end

-- Each level is also a level of C: the comparison is called by the sort.
local function nested_sort(n)
	local list = {}
	for i = 1, 9 do list[i] = (i * 7 + n) % 11 end
	table.sort(list, function(a, b)
		if n > 0 and a == 5 then nested_sort(n - 1) end
		return a < b
	end)
	return list[1]
end

local function counter()
	local n = 0
	return function() n = n + 1; return n end
end

local function generate(n)
	return coroutine.wrap(function()
		for i = 1, n do
			coroutine.yield(string.format("%05d:%s", i, string.rep("x", i % 17)))
		end
	end)
end

local function strings()
	local parts = {}
	for item in generate(20) do parts[#parts + 1] = item:upper():reverse() end
	local text = table.concat(parts, ",")
	local found = 0
	for word in text:gmatch("[^,:]+") do found = found + #word end
	return text:gsub("X+", function(run) return tostring(#run) end), found
end

local function errors(n)
	local ok, message = pcall(function()
		if n == 0 then error({ code = 42 }) end
		return errors(n - 1)
	end)
	return ok, xpcall(function() local nothing; return nothing.field end, debug.traceback), message
end

local vector = setmetatable({}, {
	__index = function(_, key) return key * 2 end,
	__add = function(a, b) return a end,
	__lt = function() return nested_sort(1) == 0 end,
	__tostring = function() return "vector " .. nested_sort(2) end,
	__gc = function() end,
})

local text = "local t = {} for i = 1, 30 do t[i] = function(a, ...) return a .. i, ... end end return #t"

while true do
	local count = counter()
	depth(60, function() for _ = 1, 20 do count() end return count() end)
	nested_sort(4)
	strings()
	errors(6)
	assert(vector[21] == 42)
	local _ = vector + vector, tostring(vector), vector < setmetatable({}, getmetatable(vector))
	assert(load(text))()
	local objects = {}
	for i = 1, 200 do objects[i] = setmetatable({ i, tostring(i), { i } }, { __gc = function() end }) end
	objects = nil
	collectgarbage("step", 200)
	local sum = 0
	for i = 1, 300 do sum = sum + math.floor(math.sin(i) * 1000) // 7 % 13 end
	os.date("%Y")
	string.pack("<i4z", sum, "packed")
end
