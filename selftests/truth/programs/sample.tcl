# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, sorting with a command, regular expressions, dictionaries, coroutines, errors.
proc depth {n body} { if {$n == 0} { return [uplevel #0 $body] }; expr {1 + [depth [expr {$n - 1}] $body]} }
proc compare {a b} { set total [depth 3 {expr 1}]; expr {[string length $a] - [string length $b] + 0 * $total} }
proc numbers {n} { yield; for {set i 0} {$i < $n} {incr i} { yield [expr {$i ** 2}] } }
while 1 {
	depth 20 { string length [regsub -all {[aeiou]} "some text with vowels" {<\0>}] }
	lsort -command compare {one three five eleven a bb cccc}
	set d [dict create]
	foreach w {x y z} { dict incr d $w [string length $w$d] }
	coroutine next numbers 10
	for {set i 0} {$i < 10} {incr i} { next }
	next
	catch { error "wrong [dict get $d x]" }
	format "%08.3f %s" [expr {sin(1.5) * sqrt(7)}] [clock format [clock seconds] -gmt 1]
}
