<?php // SPDX-License-Identifier: GPL-2.0
// Never ends. Recursion, sorting with functions, regular expressions with callbacks, exceptions, generators, serialization.
function depth($n, $leaf) { return $n === 0 ? $leaf() : 1 + depth($n - 1, $leaf); }
function nested($n) {
	$list = [5, 3, 8, 1, 9, 2];
	usort($list, fn($a, $b) => ($n > 0 && $a === 5 ? nested($n - 1) * 0 : 0) + $a - $b);
	return $list[0];
}
function substitute($n) {
	return preg_replace_callback('/(\w)(\d+)/', fn($m) => $n ? substitute($n - 1) : strtoupper($m[1]), 'a1 b22 c333');
}
function fail($n) { try { if ($n === 0) throw new Exception('bottom'); fail($n - 1); } finally { depth(3, fn() => 1); } }
function generate($n) { if ($n > 0) yield from generate($n - 1); yield $n; }
class Text implements JsonSerializable {
	public function __construct(private int $n) { }
	public function jsonSerialize(): mixed { return $this->n ? new Text($this->n - 1) : nested(2); }
	public function __toString(): string { return json_encode($this); }
}
for (;;) {
	depth(40, fn() => strlen(substitute(2)));
	nested(3);
	try { fail(6); } catch (Exception $e) { strlen((string)$e); }
	array_sum(iterator_to_array(generate(10), false));
	array_map(fn($x) => hash('sha256', "$x"), range(1, 20));
	strlen(new Text(5));
	unserialize(serialize(array_fill(0, 100, ['a' => 1.5, 'b' => 'text'])));
	gzuncompress(gzcompress(str_repeat('some text ', 500)));
}
