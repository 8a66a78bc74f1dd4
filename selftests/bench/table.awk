# SPDX-License-Identifier: GPL-2.0
# Makes the bench's tables from lines "name<TAB>value".
#
# usage: awk -f table.awk -v title=TITLE -v part=kernel|native [-v tsv=FILE] VALUES...
#
# FILE gets every value and every bar, as "title<TAB>name<TAB>value[<TAB>bar<TAB>verdict]". Do not change bars to fit
# measured values. The exit status is 1 if one is missed.
BEGIN { FS = OFS = "\t" }
NF == 2 { value[$1] = $2; order[++n] = $1 }

function number(name, format) { return name in value ? sprintf(format, value[name]) : "-" }

function head(text, a, b, c, d,    line) {
	line = sprintf("%-58s %9s %9s %9s %9s", text, a, b, c, d)
	sub(/ +$/, "", line)
	print ""
	print line
}

# Cost of a frame in walks of several depths, and of each additional frame in deeper ones.
function walk_row(text, name) {
	if (name ".slope" in value)
		printf "%-58s %9s %9s %9s %9s\n", text, number(name ".8", "%.1f"), number(name ".32", "%.1f"),
			number(name ".128", "%.1f"), number(name ".slope", "%.1f")
}

function row(text, name, format) { printf "%-58s %9s\n", text, number(name, format) }

function fraction(over, under) {
	return over in value && under in value && value[under] ? value[over] / value[under] : ""
}

# One bar: name, value, "<" or ">", and the maximum or minimum.
function bar(text, have, how, want, format,    verdict) {
	if (have == "") {
		printf "%-58s %9s %9s %9s\n", text, "-", (how == "<" ? "<= " : ">= ") want, "-"
		return
	}
	verdict = how == "<" && have <= want || how == ">" && have >= want ? "meets" : "MISSES"
	missed += verdict == "MISSES"
	bars++
	printf "%-58s %9s %9s %9s\n", text, sprintf(format, have), (how == "<" ? "<= " : ">= ") want, verdict
	if (tsv)
		print title, "bar: " text, sprintf("%.4f", have), (how == "<" ? "<=" : ">=") want, verdict >>tsv
}

function kernel_tables() {
	head("instructions a frame, walking to a depth of", "8", "32", "128", "32-128")
	walk_row("SFrame, rules cached", "sframe")
	walk_row("  rows by the frame pointer instead of the stack pointer", "sframe_fp")
	walk_row("  no frame pointer saved", "sframe_no_fp")
	walk_row("kernel's unwind_user(), by frame pointers", "unwind_user")
	walk_row("kernel's perf_callchain_user(), by frame pointers", "perf")
	walk_row("frame pointers, as fallback where nothing is registered", "fallback")
	walk_row("SFrame, nothing cached, 1,200 functions a table", "cold")
	walk_row("SFrame, nothing cached, 4,027 functions a table", "libc6")
	walk_row("  plain unwinder", "libc6.plain")
	walk_row("SFrame, nothing cached, 26 rows before", "libc26")
	walk_row("  plain unwinder", "libc26.plain")

	head("instructions", "each")
	row("ioctl QUERY", "query", "%.0f")
	row("ioctl REQUEST, until the record of 32 frames is there", "request.32", "%.0f")
	row("ioctl STACK, until the caller has 32 frames", "stack.32", "%.0f")
	row("sample, user stack of 32 frames, at once", "sample.at_once", "%.0f")
	row("  later: handler and delivery", "sample.later", "%.0f")
	row("  without a stack", "sample.no_user", "%.0f")
	row("  perf's own handler, by frame pointers", "sample.perf", "%.0f")
	row("sample, 256 frames at once", "at_once.simple", "%.0f")
	row("  too many for that: frames by values in memory", "at_once.memory", "%.0f")
	row("    lookups of rules that are not cached", "at_once.lookups", "%.0f")
	row("    rows of large functions", "at_once.rows", "%.0f")
	row("own stack, 32 calls deep in a program: STACK", "own.stack", "%.0f")
	row("  glibc's backtrace()", "own.backtrace", "%.0f")
	row("walk of 32 frames, one in a file with an attached section", "extended.plain", "%.0f")
	row("  its CFA in memory", "extended.memory", "%.0f")
	row("  its CFA in a register that its callee has saved", "extended.register", "%.0f")
	row("lookup, rule not cached, 5th of 6 rows", "libc6.lookup", "%.0f")
	row("  plain unwinder", "libc6.plain.lookup", "%.0f")
	row("lookup, rule not cached, 27th of 28 rows", "libc26.lookup", "%.0f")
	row("  plain unwinder", "libc26.plain.lookup", "%.0f")
	row("a frame, 4,000 addresses in rotation", "rotation", "%.1f")
	row("a frame, 500 addresses in rotation", "rotation.steady", "%.1f")
	row("frames of the 4,000 found in the cache, %", "rotation.cached", "%.2f")
	row("lookup, rule not cached, among 10 sections", "lookup.10", "%.0f")
	row("  1,000", "lookup.1000", "%.0f")
	row("  100,000", "lookup.100000", "%.0f")
	row("  1,000,000", "lookup.1000000", "%.0f")
	row("the same, first after a mapping changed, among 10", "lookup.changed.10", "%.0f")
	row("  1,000", "lookup.changed.1000", "%.0f")
	row("  100,000", "lookup.changed.100000", "%.0f")
	row("  1,000,000", "lookup.changed.1000000", "%.0f")
	row("lookup, rule not cached, in a function table of 10", "table.lookup.10", "%.0f")
	row("  1,000", "table.lookup.1000", "%.0f")
	row("  1,000,000", "table.lookup.1000000", "%.0f")
	row("register one, in a batch of 1,000", "register.batch.none", "%.0f")
	row("  by an ioctl of its own", "register.single.none", "%.0f")
	row("  in a batch, among 1,000,000", "register.batch.many", "%.0f")
	row("unregister one, in a batch of 1,000", "unregister.batch.none", "%.0f")
	row("  by an ioctl of its own", "unregister.single.none", "%.0f")
	row("  in a batch, among 1,000,000", "unregister.batch.many", "%.0f")
	row("free one of 50,000 of a JIT's 100,000, at random, first time", "churn.out.0", "%.0f")
	row("  the fourth time", "churn.out.3", "%.0f")
	row("make one of them again, first time", "churn.in.0", "%.0f")
	row("  the fourth time", "churn.in.3", "%.0f")
	row("fork, nothing ever registered", "fork.no_space", "%.0f")
	row("  no section any more", "fork.none", "%.0f")
	row("  100,000 sections", "fork.100000", "%.0f")
	row("bytes of kernel memory a section, of 100,000", "memory.100000", "%.0f")
	row("  of 1,000,000", "memory.1000000", "%.0f")

	head("bar", "measured", "to be", "")
	bar("SFrame / unwind_user(), a frame, 32-128", fraction("sframe.slope", "unwind_user.slope"), "<", 0.5, "%.3f")
	bar("SFrame / perf_callchain_user(), a frame, 32-128", fraction("sframe.slope", "perf.slope"), "<", 1.15, "%.3f")
	bar("lookup, not cached / plain, 6 rows", fraction("libc6.lookup", "libc6.plain.lookup"), "<", 0.4, "%.3f")
	bar("lookup, not cached / plain, 26 rows before", fraction("libc26.lookup", "libc26.plain.lookup"), "<", 0.25,
	    "%.3f")
	bar("a frame of a walk, nothing cached / plain, 32-128", fraction("libc6.slope", "libc6.plain.slope"), "<", 0.6,
	    "%.3f")
	bar("a frame with its CFA in memory, of 32 / a plain one", fraction("extended.memory", "extended.plain"), "<", 2,
	    "%.3f")
	bar("  in a register that its callee has saved / a plain one",
	    fraction("extended.register", "extended.plain"), "<", 5, "%.3f")
	bar("request to record of 32 frames", value["request.32"], "<", 2600, "%.0f")
	bar("ioctl STACK, 32 frames", value["stack.32"], "<", 2200, "%.0f")
	bar("backtrace() / STACK, 32 frames", fraction("own.backtrace", "own.stack"), ">", 5, "%.1f")
	bar("sample, 32 frames at once", value["sample.at_once"], "<", 2000, "%.0f")
	bar("  at once / perf's handler", fraction("sample.at_once", "sample.perf"), "<", 1.15, "%.3f")
	bar("  later / perf's handler", fraction("sample.later", "sample.perf"), "<", 1.5, "%.3f")
	bar("interrupts off: 256 frames at once", value["at_once.simple"], "<", 20000, "%.0f")
	bar("  frames by values in memory", value["at_once.memory"], "<", 20000, "%.0f")
	bar("  lookups of rules that are not cached", value["at_once.lookups"], "<", 20000, "%.0f")
	bar("  rows of large functions", value["at_once.rows"], "<", 20000, "%.0f")
	bar("4,000 addresses in rotation, % from the cache", value["rotation.cached"], ">", 95, "%.1f")
	bar("4,000 addresses in rotation / 500, a frame", fraction("rotation", "rotation.steady"), "<", 1.5, "%.3f")
	bar("register one in a batch of 1,000", value["register.batch.none"], "<", 1500, "%.0f")
	bar("bytes of kernel memory a section", value["memory.100000"], "<", 128, "%.0f")
	bar("a JIT's 100,000 functions, half freed 4 times: last / first", fraction("churn.out.3", "churn.out.0"), "<", 1.1,
	    "%.3f")
	bar("  made again: last / first", fraction("churn.in.3", "churn.in.0"), "<", 1.1, "%.3f")
	bar("  kernel memory: last / first", fraction("churn.memory.3", "churn.memory.0"), "<", 1.1, "%.3f")
	bar("lookup among 1,000,000 sections / among 10", fraction("lookup.1000000", "lookup.10"), "<", 1.5, "%.3f")
	bar("  first after a mapping changed", fraction("lookup.changed.1000000", "lookup.changed.10"), "<", 1.5, "%.3f")
	bar("fork with 100,000 sections / with none any more", fraction("fork.100000", "fork.none"), "<", 1.01, "%.4f")
	bar("fork with 100,000 sections / nothing ever registered", fraction("fork.100000", "fork.no_space"), "<", 1.01,
	    "%.4f")
}

function recorded_row(name) {
	if (name ".stacks" in value)
		printf "%-24s %9d %9d %9s %9s %9s %9s\n", name, value[name ".stacks"], value[name ".frames"],
			number(name ".cached", "%.1f"), number(name ".cold", "%.1f"), number(name ".libunwind", "%.1f"),
			number(name ".libdwfl", "%.1f")
}

function live_row(text, name) {
	printf "%-58s %9s %9s\n", text, number(name ".32", "%.1f"), number(name ".128", "%.1f")
}

function native_tables() {
	printf "\n%-24s %9s %9s %9s %9s %9s %9s\n", "nanoseconds a frame", "", "", "SFrame", "SFrame", "libunwind", "libdwfl"
	printf "%-24s %9s %9s %9s %9s %9s\n", "recorded stacks of", "stacks", "frames", "cached", "cold", "remote"
	recorded_row("redis")
	recorded_row("lua")
	recorded_row("sqlite")
	recorded_row("bash")

	printf "\n%-58s %9s %9s\n", "nanoseconds a frame, a live stack of as many calls", "32", "128"
	live_row("frame pointers, a bare loop", "live.glibc.fp")
	live_row("SFrame, rules cached", "live.glibc.cached")
	live_row("  in the program with libunwind", "live.libunwind.cached")
	live_row("libunwind, unw_backtrace()", "live.libunwind.unw_backtrace")
	live_row("SFrame, nothing cached", "live.glibc.cold")
	live_row("glibc, backtrace()", "live.glibc.backtrace")
	live_row("libunwind, cursor", "live.libunwind.cursor")

	head("bar, at 128 calls", "measured", "to be", "")
	bar("SFrame, cached / unw_backtrace()",
	    fraction("live.libunwind.cached.128", "live.libunwind.unw_backtrace.128"), "<", 1, "%.2f")
	bar("backtrace() / SFrame, cached", fraction("live.glibc.backtrace.128", "live.glibc.cached.128"), ">", 20,
	    "%.1f")
	bar("libunwind's cursor / SFrame, cached",
	    fraction("live.libunwind.cursor.128", "live.libunwind.cached.128"), ">", 100, "%.1f")
}

END {
	if (!n) {
		print "table.awk: no values" >"/dev/stderr"
		exit 1
	}
	if (tsv)
		for (i = 1; i <= n; i++)
			print title, order[i], value[order[i]] >>tsv
	print title
	if (part == "kernel")
		kernel_tables()
	else
		native_tables()
	print ""
	print bars - missed + 0 " of " bars + 0 " bars met"
	exit missed > 0
}
