# SPDX-License-Identifier: GPL-2.0
# A kernel log without the headlines of those KCSAN reports that are none of ours: no frame of a module is in either
# stack, or only what an interrupt or a page fault has interrupted. All modules that a VM with KCSAN has are ours. Anything
# else stays, also in between.
#
# Two readers of one open file, such as the one that a mapping has, both note in it how far they have read ahead, in
# filemap_read() and without a lock. Any two kernel_read()s may do that. And who reads the clock reads again if that has been
# set meanwhile, by its sequence count, which KCSAN does not always follow. And fsnotify changes a flag of the worker that
# takes a mark away, while the worker's own interrupt looks at another one.

function flush(i) {
	if (line[0] ~ /data-race in filemap_read \/ filemap_read$/ ||
	    line[0] ~ /data-race in fsnotify_destroy_mark \/ kthread_data$/ ||
	    line[0] ~ /data-race in ktime_get[a-z0-9_]* \/ timekeeping_update[a-z0-9_.]*$/)
		ours = 0
	for (i = 0; i < held; i++)
		if (i || ours)
			print line[i]
	held = ours = interrupted = 0
}

{ sub(/\r$/, "") }
/BUG: KCSAN: / { flush() }
held || /BUG: KCSAN: / {
	line[held++] = $0
	if (/ on cpu [0-9]+:$/)
		interrupted = 0
	if (/ asm_[a-z0-9_]+\+/)
		interrupted = 1
	if (/ \[[a-z0-9_]+\]$/ && !interrupted)
		ours = 1
	if (/Reported by Kernel Concurrency Sanitizer/)
		flush()
	next
}
{ print }
# One that is cut off may be anybody's.
END { ours = 1; flush() }
