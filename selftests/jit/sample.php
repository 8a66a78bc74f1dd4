<?php
// SPDX-License-Identifier: GPL-2.0
// Functions that PHP compiles, called by each other and by functions in C. Runs until it is killed.

function depth(int $n, int $a): int
{
	return $n === 0 ? $a : depth($n - 1, ($a * 31 + $n) % 1000003) + $n;
}

function compare(int $a, int $b): int
{
	return depth(8, $a) <=> depth(8, $b) ?: $a <=> $b;
}

// Many values at a time: more than there are registers.
function spread(int $x): int
{
	[$a, $b, $c, $d, $e, $f, $g, $h] = [$x, $x + 1, $x + 2, $x + 3, $x + 4, $x + 5, $x + 6, $x + 7];
	[$i, $j, $k, $l, $m, $n, $o, $p] = [1, 2, 3, 4, 5, 6, 7, 8];

	for ($step = 0; $step < 2000; $step++) {
		$a = ($b ^ $i) + $step;
		$b = ($c ^ $j) + $a;
		$c = ($d ^ $k) + $b;
		$d = ($e ^ $l) + $c;
		$e = ($f ^ $m) + $d;
		$f = ($g ^ $n) + $e;
		$g = ($h ^ $o) + $f;
		$h = ($a ^ $p) & 0xffffff;
		$a &= $b & 0xffffff;
		$c &= $d & 0xffffff;
		$e &= $f & 0xffffff;
		$g &= 0xffffff;
		$b &= 0xffffff;
		$d &= 0xffffff;
		$f &= 0xffffff;
	}
	return $a + $b + $c + $d + $e + $f + $g + $h;
}

function text(int $x): int
{
	$text = str_repeat("a stack of $x frames, each with a return address. ", 20);
	$marked = preg_replace_callback('/[a-z]+/', fn(array $found): string => strlen($found[0]) > depth(3, 1) % 5 ?
		strtoupper($found[0]) : $found[0], $text);

	return strlen($marked);
}

for ($seed = 1; ; $seed++) {
	$numbers = array_map(fn(int $i): int => ($i * 1103515245 + $seed) % 65536, range(1, 1000));
	usort($numbers, 'compare');
	spread($seed);
	text($seed);
}
