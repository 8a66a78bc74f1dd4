-- SPDX-License-Identifier: LGPL-2.1 OR MIT
--
-- Stacks through the machine code of LuaJIT's traces: describes each trace to the module when
-- LuaJIT has compiled it. LuaJIT itself is that of the distribution, unchanged.
--
--	luajit -lsframe_unwind_traces program.lua	-- with this file in LUA_PATH
--
-- or require("sframe_unwind_traces") before anything is compiled; in each Lua state, as each has
-- traces of its own. It returns a table with the number of traces described and not described,
-- or with the reason why nothing is: then the program goes on without.
--
-- For LuaJIT 2.1 on x86-64 with 64-bit pointers (GC64), built for external unwinding, as Debian's
-- is. The interpreter is in the CFI of libluajit. LuaJIT calls one handler for events of traces:
-- this and "-jv" or "-jdump" exclude each other.

local ffi = require("ffi")
local bit = require("bit")
local util = require("jit.util")

-- What describes traces is not compiled itself.
jit.off(true, true)

local traces = { described = 0, undescribed = 0 }

local function give_up(reason)
	traces.reason = reason
	return traces
end

if jit.arch ~= "x64" or jit.os ~= "Linux" or not ffi.abi("gc64") then
	return give_up("not LuaJIT for Linux on x86-64 with 64-bit pointers")
end

ffi.cdef([[
struct sframe_unwind;
struct sframe_unwind_writer;

struct sframe_unwind_place {
	uint8_t kind, base;
	uint16_t reserved;
	int32_t offset;
};

struct sframe_unwind_row {
	uint64_t start;
	uint32_t flags, reserved;
	struct sframe_unwind_place cfa, ra, fp;
};

struct sframe_unwind_function {
	const char *name;
	uint64_t start, size;
	const struct sframe_unwind_row *rows;
	size_t nr_rows;
	uint32_t flags, block_size;
};

int sframe_unwind_open(struct sframe_unwind **handle, unsigned int flags);
const char *sframe_unwind_error(const struct sframe_unwind *handle);
int sframe_unwind_register(struct sframe_unwind *handle, const void *sframe_start,
			   size_t sframe_size, const void *text_start, size_t text_size,
			   unsigned int flags, uint64_t *id);
int sframe_unwind_unregister(struct sframe_unwind *handle, uint64_t id);
int sframe_unwind_writer_create(struct sframe_unwind_writer **writer);
void sframe_unwind_writer_reset(struct sframe_unwind_writer *writer);
int sframe_unwind_writer_add(struct sframe_unwind_writer *writer,
			     const struct sframe_unwind_function *function);
ptrdiff_t sframe_unwind_writer_write(struct sframe_unwind_writer *writer, void *buffer,
				     size_t size, uint64_t section_address);
]])

local is_loaded, library = pcall(ffi.load, "libsframe_unwind.so.0")
if not is_loaded then
	return give_up(library)
end

local handles = ffi.new("struct sframe_unwind *[1]")
if library.sframe_unwind_open(handles, 0) ~= 0 then
	return give_up(ffi.string(library.sframe_unwind_error(nil)))
end
local writers = ffi.new("struct sframe_unwind_writer *[1]")
if library.sframe_unwind_writer_create(writers) ~= 0 then
	return give_up("no memory")
end
local handle, writer = handles[0], writers[0]

-- In a trace, rsp + JIT_FRAME + the trace's own frame is the CFA of the interpreter that has entered
-- it: 80 bytes of the interpreter's frame, and 16 where r12 and r13 are saved. rbp is saved below
-- the return address.
local JIT_FRAME = 96
local SAVED_RBP = -16

-- Bytes of a section for one trace, at most.
local SECTION_SIZE = 256

local VALUE, MEMORY = 1, 2	-- SFRAME_UNWIND_PLACE_*
local RSP, CFA = 7, 255

-- By number of the trace: bytes of its own frame; what is registered.
local frames, registered = {}, {}

-- A row for code in which the trace's own frame has @frame bytes.
local function row(start, frame)
	return {
		start = start,
		cfa = { VALUE, RSP, 0, JIT_FRAME + frame },
		fp = { MEMORY, CFA, 0, SAVED_RBP },
	}
end

-- The little-endian 32-bit word at byte @at of @code, with its sign.
local function word(code, at)
	local a, b, c, d = code:byte(at, at + 3)

	return bit.bor(a, bit.lshift(b, 8), bit.lshift(c, 16), bit.lshift(d, 24))
end

-- What the instruction in front of byte @at adds to rsp, and its first byte; or 0 and @at.
local function added(code, at)
	if code:sub(math.max(at - 4, 1), at - 2) == "\x48\x83\xc4" then	-- add rsp, imm8
		return bit.arshift(bit.lshift(code:byte(at - 1), 24), 24), at - 4
	elseif code:sub(math.max(at - 7, 1), at - 5) == "\x48\x81\xc4" then -- add rsp, imm32
		return word(code, at - 4), at - 7
	end
	return 0, at
end

-- Where trace @number stores its number for the VM, "mov dword [r14 + ...], number": it has made its
-- frame just before. A side trace has taken over values from the frame of its parent by then.
local function find_entered(code, number)
	local at = 0

	repeat
		at = code:find("\x41\xc7\x86", at + 1, true)
	until not at or (at + 10 <= #code and word(code, at + 7) == number)
	return at
end

-- The rows of trace @number, whose @parent is nil for a root trace; nil if its code is not as expected.
local function describe(number, parent, code)
	local before = parent and frames[parent] or 0
	local entered = find_entered(code, number)
	local left = #code + 1 - 5	-- the last instruction: a jump to where it goes on
	local frame, change, rows

	if not entered or (parent and not frames[parent]) then
		return nil
	end
	change = added(code, entered)
	frame = before - change
	frames[number] = frame
	rows = { row(0, before) }
	if change ~= 0 then
		rows[#rows + 1] = row(entered - 1, frame)
	end
	-- A trace that is not a loop leaves the frame at its end.
	if frame ~= 0 and left > entered and added(code, left) == frame then
		rows[#rows + 1] = row(left - 1, 0)
	end
	return rows
end

local function withdraw(number)
	local old = registered[number]

	frames[number] = nil
	if old then
		library.sframe_unwind_unregister(handle, old.id[0])
		registered[number] = nil
	end
end

local function announce(number, parent)
	local code, start = util.tracemc(number)
	local rows, new, func, size

	withdraw(number)
	rows = describe(number, parent, code)
	if not rows then
		return false
	end
	func = ffi.new("struct sframe_unwind_function", { start = start, size = #code, nr_rows = #rows })
	rows = ffi.new("struct sframe_unwind_row[?]", #rows, rows)
	func.rows = rows
	library.sframe_unwind_writer_reset(writer)
	if library.sframe_unwind_writer_add(writer, func) ~= 0 then
		return false
	end
	new = { section = ffi.new("uint8_t[?]", SECTION_SIZE), id = ffi.new("uint64_t[1]") }
	size = library.sframe_unwind_writer_write(writer, new.section, SECTION_SIZE,
						  ffi.cast("uintptr_t", new.section))
	if size < 0 or library.sframe_unwind_register(handle, new.section, size,
						      ffi.cast("void *", start), #code, 0, new.id) ~= 0 then
		return false
	end
	-- The section stays where it is as long as it is referenced.
	registered[number] = new
	return true
end

-- All machine code is gone, or will be.
local function withdraw_all()
	for number in pairs(registered) do
		withdraw(number)
	end
	frames = {}
end

local parent

jit.attach(function(what, number, _, _, other, exit)
	if what == "start" then
		-- What goes on behind a call that could not be compiled (exit -1) is a root trace.
		parent = exit ~= -1 and other or nil
	elseif what == "stop" then
		local counter = announce(number, parent) and "described" or "undescribed"

		traces[counter] = traces[counter] + 1
	elseif what == "flush" then
		withdraw_all()
	end
end, "trace")

-- When the Lua state is closed, its memory with code and sections is freed.
traces.guard = newproxy(true)
getmetatable(traces.guard).__gc = withdraw_all

return traces
