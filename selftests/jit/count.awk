# SPDX-License-Identifier: GPL-2.0
# In a VM, by guest: gawk -f count.awk [-v own=PATTERN] SECTIONS STACKS
#   SECTIONS  what "list --json" has printed while the program was recorded, any number of times
#   STACKS    what "script --how" prints of it
#
# Prints in one line, the last two fields separated by tabs:
#   samples; those that go through generated code; those of them that are complete and have come from main() or the start of a
#   thread, or, if the code has stacks of its own, from a function that these begin with (a wrong rule can end a stack at a word
#   that is 0, which looks complete); those of the complete ones through generated code with a guess; frames in generated
#   code; those of them with a name; by what most of their callers were found, with a percentage if that is not all.

function remember(line, part, nr, i) {
	nr = split(line, part, /[ ,]+/)
	# { "start": A "end": B "bytes": C "functions": D "hits": E "source": "F" ...
	for (i = 1; i < nr; i++)
		value[part[i]] = part[i + 1]
	kind = value["\"source\":"]
	gsub(/"/, "", kind)
	if (kind == "own")
		return
	from = value["\"start\":"] + 0
	to = value["\"end\":"] + 0
	# A rule for all code of a mapping is one that says that it keeps frame pointers; objects are not as large as a mapping.
	if (kind == "attached")
		kind = value["\"functions\":"] == 1 && from % 4096 == 0 && to % 4096 == 0 ? "frame pointers" : "announced"
	key = from " " to " " kind
	if (key in seen)
		return
	seen[key] = 1
	starts[sections] = from
	ends[sections] = to
	kinds[sections++] = kind
}

# What kind of section describes the code at an address: the smallest one, if several have been there.
function kind_at(address, i, best) {
	if (address in kind_of)
		return kind_of[address]
	best = -1
	for (i = 0; i < sections; i++)
		if (starts[i] <= address && address < ends[i] && (best < 0 || ends[i] - starts[i] < ends[best] - starts[best]))
			best = i
	return kind_of[address] = best < 0 ? "a section" : kinds[best]
}

# The frame before this one is in generated code, at "before".
function count_way(how) {
	if (how ~ /^frame pointer/)
		ways["guess"]++
	else if (how ~ /^signal/)
		ways["signal"]++
	else
		ways[kind_at(before)]++
	found++
}

function flush() {
	if (frames) {
		n++
		code += anon
		complete = anon && (own ? last : main || in_libc >= 2) && !cut
		whole += complete
		guessed += anon && !cut && guess
	}
	frames = anon = cut = main = last = guess = before = in_libc = 0
}

BEGIN { sections = 0 }

FILENAME == ARGV[1] {
	if (/"source": /)
		remember($0)
	next
}

/^[^ \t]/ { flush(); next }
/\[cut: / { cut = 1 }
/ (__libc_start_main|start_thread|clone3?)[+]/ { main = 1 }
/^[ \t]+[0-9a-f]+ / {
	how = ""
	if (match($0, / \[[a-z, ]+\]$/)) {
		how = substr($0, RSTART + 2, RLENGTH - 3)
		$0 = substr($0, 1, RSTART - 1)
		if (before)
			count_way(how)
		guess = guess || how ~ /^frame pointer|behind a guess/
	}
	before = 0
	frames++
	if (/\((\/\/anon|\[anon.*|\[JIT\].*|\/dev\/zero.*)\)$/) {
		anon = 1
		generated++
		named += /\(\[JIT\] tid [0-9]+\)$/
		# A return address may be behind the function.
		before = strtonum("0x" $1) - (frames > 1)
	}
	# A thread begins in libc's clone3() and start_thread(), which have no symbols if it is stripped.
	in_libc = $2 ~ /^libc\.so\.6[+]/ ? in_libc + 1 : 0
	last = $2 ~ ("^(" own ")[-+]")
}

END {
	flush()
	for (way in ways)
		if (!most || ways[way] > ways[most])
			most = way
	text = most ? most : "-"
	if (most && ways[most] < found)
		text = sprintf("%s %.1f %%", text, int(1000 * ways[most] / found) / 10)
	printf "%d %d %d %d %d %d %s\n", n, code, whole, guessed, generated, named, text
	if (all)
		for (way in ways)
			printf "%s: %d of %d\n", way, ways[way], found >all
}
