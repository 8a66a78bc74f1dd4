# SPDX-License-Identifier: GPL-2.0
# Filters a kernel log: removes the headlines of KCSAN reports that are not ours, which have no frame of a module in either
# stack, or only frames interrupted by an interrupt or a page fault. All modules in a VM with KCSAN are ours. Everything
# else stays, including lines in between.
#
# Three races of the kernel are removed even with frames of ours. Two readers of one open file, such as that of a mapping,
# both update its readahead state in filemap_read() without a lock; any two kernel_read()s may do that. A reader of the
# clock retries by a sequence count if the clock was set meanwhile, which KCSAN does not always recognize. fsnotify changes
# a flag of the thread that adds or destroys a mark (memalloc_nofs_save()), while the scheduler reads another flag of it.

function flush(i) {
	if (line[0] ~ /data-race in filemap_read \/ filemap_read$/ ||
	    line[0] ~ /data-race in fsnotify_(add|destroy)_mark \/ kthread_(data|is_per_cpu)$/ ||
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
# A truncated report may be ours.
END { ours = 1; flush() }
