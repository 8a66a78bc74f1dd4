# SPDX-License-Identifier: GPL-2.0
# coverage.awk: lines that the inputs reach, by file.
#
# awk -v tree=DIRECTORY/ -f coverage.awk UNCOVERED LCOV
#
# UNCOVERED has one line for each line of code that is not reached, with fields separated by tabs: file, function, text,
# reason. If several lines of a function have the same text, the number of reasons is the number that may be missed. LCOV is
# the output of "llvm-cov export -format=lcov". Fails if a missed line has no reason, a reason is
# for a line that does not exist, or too many are missed.
BEGIN {
	FS = "\t"
	MINIMUM = 95
	n = split("decode/sframe.c decode/sframe_rows.c decode/sframe_find.h decode/functions.c decode/step.c decode/cache.c file/elf.c", names, " ")
	for (i = 1; i <= n; i++)
		wanted["module/" names[i]] = 1
}

FILENAME == ARGV[1] {
	if ($0 !~ /^(#|$)/) {
		reasons[$1, $2, $3]++
		key_text[$1, $2, $3] = $1 ": " $2 "(): " $3
	}
	next
}

/^SF:/ {
	file = substr($0, 4)
	sub(/^.*\/module\//, "module/", file)
	skip = !(file in wanted)
	if (skip)
		next
	nr = 0
	while ((getline line < (tree file)) > 0) {
		gsub(/^[ \t]+|[ \t]+$/, "", line)
		text[file, ++nr] = line
		exists[file, line] = 1
	}
	close(tree file)
	functions = 0
	seen[file] = 1
}

skip { next }

# LINE,NAME; names of static functions are preceded by the file's name.
/^FN:/ {
	split(substr($0, 4), part, ",")
	name = part[2]
	sub(/^.*:/, "", name)
	first[++functions] = part[1]
	called[functions] = name
}

/^DA:/ {
	split(substr($0, 4), part, ",")
	lines[file]++
	if (part[2] > 0) {
		reached[file]++
		next
	}
	owner = "?"
	best = 0
	for (i = 1; i <= functions; i++) {
		if (first[i] <= part[1] && first[i] > best) {
			best = first[i]
			owner = called[i]
		}
	}
	code = text[file, part[1]]
	if (used[file, owner, code] < reasons[file, owner, code]) {
		explained[file]++
		used[file, owner, code]++
	} else if (code !~ /^[{}]*;?$/) {
		print file ":" part[1] ": " owner "(): not reached, and no reason why: " code
		failed = 1
	}
}

END {
	for (i = 1; i <= n; i++) {
		file = "module/" names[i]
		if (!seen[file]) {
			print file ": nothing is known of it"
			failed = 1
			continue
		}
		share = 100 * reached[file] / lines[file]
		printf "%-22s %4d of %4d lines reached, %6.2f %%, %d with a reason why not\n", file, reached[file], \
			lines[file], share, explained[file]
		failed = failed || share < MINIMUM
	}
	for (key in key_text) {
		split(key, part, SUBSEP)
		if (!((part[1], part[3]) in exists)) {
			print key_text[key] ": does not exist, but has a reason why it is not reached"
			failed = 1
		} else if (used[key] < reasons[key]) {
			print key_text[key] ": is reached, but has a reason why not"
		}
	}
	exit failed
}
