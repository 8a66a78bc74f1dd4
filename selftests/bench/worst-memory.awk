# SPDX-License-Identifier: GPL-2.0
# Makes the table of what a user can make the kernel keep from the output of "worst memory": kind, bound, kind to compare
# with, RLIMIT_MEMLOCK in MiB (0 for root), number made, number wanted, error, additional bytes, bytes that a shrinker
# freed.
#
# usage: awk -f worst-memory.awk -v title=TITLE [-v tsv=FILE] VALUES...
#
# The exit status is 1 if a bar is missed.
BEGIN {
	FS = OFS = "\t"
	# Memory cgroup charges for an object that are not the module's: the tolerance.
	slack = 1.25
	margin = 1024 * 1024
}
NF == 9 {
	if (!($1 in bound))
		order[++n] = $1
	bound[$1] = $2
	base[$1] = $3
	made[$1, $4] = $5
	most[$1] = $6
	err[$1, $4] = $7
	# Subtract what another kind needs as well; the rest is the module's.
	kept[$1, $4] = $8 - (($3, 0) in made ? $5 * kept[$3, 0] / made[$3, 0] : 0)
	back[$1, $4] = $9
}

function number(value,    text, i) {
	text = sprintf("%.0f", value < 0 ? 0 : value)
	for (i = length(text) - 3; i > 0; i -= 3)
		text = substr(text, 1, i) "," substr(text, i + 1)
	return text
}

# Bytes kept of @kind with @limit MiB after reclaim.
function rest(kind, limit) { return kept[kind, limit] - back[kind, limit] }

function row(kind,    each, lock, good) {
	each = made[kind, 0] ? kept[kind, 0] / made[kind, 0] : 0
	# With an eight times larger limit a user gets more, or everything tried is small.
	good = rest(kind, 1) <= slack * 2 ^ 20 + margin && rest(kind, 8) <= slack * 2 ^ 23 + margin
	lock = made[kind, 1] < made[kind, 0] || rest(kind, 1) < rest(kind, 0) / 2 ? "locked" : "-"
	if (back[kind, 0] > kept[kind, 0] / 2)
		lock = "shrinker"
	printf "%-36s %-27s %9s %8s %12s %8s %12s %-6s %8s %12s %-6s %-9s %s\n", kind, bound[kind], number(each),
		number(made[kind, 0]), number(kept[kind, 0]), number(made[kind, 1]), number(rest(kind, 1)), err[kind, 1],
		number(made[kind, 8]), number(rest(kind, 8)), err[kind, 8], (kept[kind, 0] > 0 ? "memcg" : "nobody"), lock
	if (bound[kind] == "-")
		return
	bars++
	missed += !good
	if (!good)
		misses[++nr_misses] = kind
	if (tsv)
		print title, "bar: memory of " kind " with 1 MiB", rest(kind, 1), "<=" slack * 2 ^ 20 + margin,
			good ? "meets" : "MISSES" >>tsv
}

END {
	if (!n) {
		print "worst-memory.awk: no values" >"/dev/stderr"
		exit 1
	}
	print title
	printf "\n%-36s %-27s %9s %21s %28s %28s %-9s\n", "", "", "", "root, as many as tried", "may lock 1 MiB", "may lock 8 MiB", ""
	printf "%-36s %-27s %9s %8s %12s %8s %12s %-6s %8s %12s %-6s %-9s %s\n", "bytes of kernel memory", "bounded by", "each", "made",
		"kept", "made", "kept", "error", "made", "kept", "error", "charged", "and"
	for (i = 1; i <= n; i++)
		row(order[i])
	print "\n\"kept\" with a limit is what is not given back when the kernel wants memory; \"and\" is who bounds it besides the cgroup."
	printf "\n%-50s %13s %13s\n", "bar", "measured", "to be"
	printf "%-50s %13d %13s %9s\n", "kinds of which more is kept than may be locked", missed, "<= 0", missed ? "MISSES" : "meets"
	for (i = 1; i <= nr_misses; i++)
		print "  " misses[i]
	print ""
	print bars - missed + 0 " of " bars + 0 " bars met"
	exit missed > 0
}
