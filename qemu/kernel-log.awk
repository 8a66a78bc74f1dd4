# SPDX-License-Identifier: GPL-2.0
# A kernel log without the headlines of those KCSAN reports that are none of ours: no frame of a module is in either
# stack. All modules of a VM are ours, or a kernel of Debian's, which has no KCSAN. Anything else stays, also in between.

function flush(i) {
	for (i = 0; i < held; i++)
		if (i || ours)
			print line[i]
	held = ours = 0
}

{ sub(/\r$/, "") }
/BUG: KCSAN: / { flush() }
held || /BUG: KCSAN: / {
	line[held++] = $0
	if (/ \[[a-z0-9_]+\]$/)
		ours = 1
	if (/Reported by Kernel Concurrency Sanitizer/)
		flush()
	next
}
{ print }
# One that is cut off may be anybody's.
END { ours = 1; flush() }
