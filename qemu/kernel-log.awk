# SPDX-License-Identifier: GPL-2.0
# Filters a kernel log: removes the headlines of KCSAN reports that are not ours. All modules in a VM with KCSAN are ours.
# Everything else stays, including lines in between.
#
# A report is ours if one of its two accesses is a module's: the function that accesses memory is in a module, or it is one
# of those that access memory for their callers, and was called below a module. A module that was only interrupted, by an
# interrupt or a page fault, has not called it.
#
# Any other function of the kernel accesses what is the kernel's, also if a module has called it: flags of a thread in
# get_task_mm() and capable(), a work's state in queue_work_on(), the clock in ktime_get(), readahead state in
# filemap_read(). Whoever calls these has such reports.

# Functions that access memory for their callers.
function is_for_caller(name) {
	return name ~ /^_*(mem(cpy|move|set|cmp|chr|dup)|str|(raw_)?copy_(to|from|page)|clear_user|(get|put)_user_[0-9n])/ ||
	       name ~ /^_*(list_(add|del|sort)|llist|rb_(erase|insert|next|prev|first|last|replace))/ ||
	       name ~ /^_*(xas?|mas|mt|mtree|rhashtable|rht|ida|idr|nla)_/ ||
	       name ~ /^_*(find_(first|next|last|nth)|bitmap|bsearch|sort|refcount|kref|vsc?n?printf|sc?n?printf|hex|jhash|crc)/
}

function flush(i) {
	for (i = 0; i < held; i++)
		if (i || ours)
			print line[i]
	held = ours = interrupted = is_first = is_callers = 0
}

{ sub(/\r$/, "") }
/BUG: KCSAN: / { flush() }
held || /BUG: KCSAN: / {
	line[held++] = $0
	in_module = / \[[a-z0-9_]+\]$/
	if (is_first) {
		name = $0
		sub(/^(\[[^]]*\])? */, "", name)
		is_callers = in_module || is_for_caller(name)
		is_first = 0
	}
	if (/ on cpu [0-9]+:$/) {
		is_first = 1
		interrupted = is_callers = 0
	}
	if (/ asm_[a-z0-9_]+\+/)
		interrupted = 1
	if (in_module && is_callers && !interrupted)
		ours = 1
	if (/Reported by Kernel Concurrency Sanitizer/)
		flush()
	next
}
{ print }
# A truncated report may be ours.
END { ours = 1; flush() }
