# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, arrays, regular expressions, printing, another process's output.
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) }

function words(text, count,    list, n, i) {
	n = split(text, list, /[ ,]+/)
	for (i = 1; i <= n; i++)
		count[list[i]]++
	return n
}

BEGIN {
	split("", found)
	for (;;) {
		sum += fibonacci(12) + words("one two, three two one " sum, count)
		text = sprintf("%08.3f %s %x", sum / 7, substr("abcdef", sum % 5), sum)
		gsub(/[0-9]+/, "<&>", text)
		if (match(text, /<[0-9]*3>/))
			found[substr(text, RSTART, RLENGTH)] = length(text)
		if (length(found) > 500)
			delete found
		print toupper(text), sqrt(sum), index(text, ">")
	}
}
