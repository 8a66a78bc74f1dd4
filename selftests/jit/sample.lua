-- SPDX-License-Identifier: GPL-2.0
-- Loops and calls that LuaJIT compiles: root and side traces, with frames of several sizes, which call C functions. Traces
-- are thrown away now and then. Runs until it is killed.

local function depth(n, a)
	if n == 0 then
		return a
	end
	return depth(n - 1, a * 31 % 1000003) + n
end

-- Many values at a time: more than there are registers.
local function spread(x)
	local a, b, c, d, e, f, g, h = x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7
	local i, j, k, l, m, n, o, p = 1, 2, 3, 4, 5, 6, 7, 8

	for step = 1, 20000 do
		a, b, c, d, e, f, g, h = b + i, c + j, d + k, e + l, f + m, g + n, h + o, a + p
		if step % 3 == 0 then
			i, j, k, l, m, n, o, p = p, i, j, k, l, m, n, o
		end
	end
	return a + b + c + d + e + f + g + h
end

local function text(x)
	local parts = {}

	for i = 1, 20 do
		parts[i] = tostring(x * i) .. string.rep("-", i % 5)
	end
	return #table.concat(parts, ",")
end

local sum = 0
for round = 1, math.huge do
	for i = 1, 200 do
		if i % 20 == 0 then
			sum = sum + depth(i % 19, round) + spread(i) + text(i)
		end
		sum = sum + math.sin(i)
	end
	if round % 100 == 0 then
		jit.flush()
	end
end
