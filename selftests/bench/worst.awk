# SPDX-License-Identifier: GPL-2.0
# Makes the tables of the worst case of each call from the output of "worst calls".
#
# usage: awk -f worst.awk -v title=TITLE [-v tsv=FILE] VALUES...
#
# FILE gets every bar, as "title<TAB>name<TAB>value<TAB>bar<TAB>verdict". Do not change bars to fit measured values. The
# exit status is 1 if one is missed, or if a scenario could not be run.
BEGIN {
	FS = OFS = "\t"
	max_held = 100000	# with a lock that others want
	max_irqs_off = 20000
	max_gap = 4000000	# a tick: who is ready to run would have to wait as long for a loop in user space
	max_kill = 10000000
	long = 100000		# what takes less need neither reschedule nor be killed
}

$1 == "cost" { cost = $3 }
$1 == "total" { total[$2] = $3; order[++n] = $2 }
$1 == "records" { records[$2] = $3 }
$1 == "dropped" { dropped[$2] = $3 }
$1 == "gap" { gap[$2] = $3 }
$1 == "kill" { kill[$2] = $3 }
$1 == "base" { base[$2] = $3 }
$1 == "failed" { failed[$2] = 1; order[++n] = $2 }
$1 == "hold" && ($2, $3) in held {
	# A function may take a lock at several places.
	if ($6 + 0 > held[$2, $3])
		held[$2, $3] = $6 + 0
	next
}
$1 == "hold" { holds++; scenario[holds] = $2; site[holds] = $3; kind[holds] = $4; owner[holds] = $5; held[$2, $3] = $6 + 0 }

# Locks that nothing else can take any more.
function is_nobodys(name) { return name ~ / (exit_mmap|__mmput|mmput)$/ }

function number(value,    text, i) {
	text = sprintf("%.0f", value)
	for (i = length(text) - 3; i > 0; i -= 3)
		text = substr(text, 1, i) "," substr(text, i + 1)
	return text
}

# The longest of each scenario, and of each place.
function look(i,    name, where, value) {
	name = scenario[i]
	where = site[i]
	value = held[name, where]
	# The lock is held as long without the module's part.
	if (owner[i] == "other")
		return
	if (owner[i] == "around" && name in base)
		value -= held[base[name], where]
	if (value < 0 || is_nobodys(where))
		value = 0
	if (value > longest[name] || !(name in longest)) {
		longest[name] = value
		longest_at[name] = where
	}
	if (kind[i] == "irq" && value > irqs_off[name])
		irqs_off[name] = value
	if (!(where in most))
		places[++nr_places] = where
	if (value > most[where] || !(where in most)) {
		most[where] = value
		most_in[where] = name
	}
	kind_of[where] = kind[i]
}

function bar(text, have, want,    verdict) {
	verdict = have <= want ? "meets" : "MISSES"
	missed += verdict == "MISSES"
	bars++
	printf "%-50s %13s %13s %9s\n", text, number(have), "<= " number(want), verdict
	if (tsv)
		print title, "bar: " text, have, "<=" want, verdict >>tsv
}

function scenario_row(name,    late, missing, more) {
	if (name in failed) {
		printf "%-50s %13s  could not be run\n", name, "-"
		return
	}
	late = total[name] > long
	missing = longest[name] > max_held || irqs_off[name] > max_irqs_off || (late && gap[name] > max_gap) ||
		kill[name] > max_kill
	more = dropped[name] + 0 == 0 ? "" : " (and more)"
	printf "%-50s %13s %13s %9s %13s %13s %-7s %s%s\n", name, number(total[name]), number(longest[name]),
		number(irqs_off[name]), late ? number(gap[name]) : "-", name in kill ? number(kill[name]) : "-",
		missing ? "MISSES" : "meets", longest_at[name], more
	if (longest[name] > worst_held)
		worst_held = longest[name]
	if (irqs_off[name] > worst_irqs_off)
		worst_irqs_off = irqs_off[name]
	if (late && gap[name] > worst_gap)
		worst_gap = gap[name]
	if (kill[name] > worst_kill)
		worst_kill = kill[name]
	lost += dropped[name] > 0
}

END {
	if (!n) {
		print "worst.awk: no values" >"/dev/stderr"
		exit 1
	}
	for (i = 1; i <= holds; i++)
		look(i)
	print title
	printf "\n%-50s %13s %13s %9s %13s %13s\n", "instructions", "in all", "with a lock", "irqs off", "others wait",
		"until killed"
	for (i = 1; i <= n; i++)
		scenario_row(order[i])

	printf "\n%-50s %13s %6s  %s\n", "instructions with a lock, by who took it", "longest", "", "in"
	for (i = 1; i <= nr_places; i++)
		lines[i] = sprintf("%-50s %13s %6s  %s", places[i], number(most[places[i]]), kind_of[places[i]],
				   most_in[places[i]])
	# Insertion sort is enough for a few entries.
	for (i = 2; i <= nr_places; i++)
		for (j = i; j > 1 && most[places[j]] > most[places[j - 1]]; j--) {
			swap = places[j]; places[j] = places[j - 1]; places[j - 1] = swap
			swap = lines[j]; lines[j] = lines[j - 1]; lines[j - 1] = swap
		}
	for (i = 1; i <= nr_places; i++)
		print lines[i]

	printf "\n%-50s %13s %13s\n", "bar", "measured", "to be"
	bar("with a lock that others want", worst_held, max_held)
	bar("with interrupts off", worst_irqs_off, max_irqs_off)
	bar("until others run, in calls of more than 100,000", worst_gap, max_gap)
	bar("from a fatal signal to its effect, in such", worst_kill, max_kill)
	for (i = 1; i <= n; i++)
		nr_failed += order[i] in failed
	bar("scenarios that could not be run", nr_failed, 0)
	bar("scenarios with more locks than could be recorded", lost, 0)
	print ""
	print bars - missed + 0 " of " bars + 0 " bars met"
	exit missed > 0
}
