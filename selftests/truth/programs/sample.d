// SPDX-License-Identifier: GPL-2.0
/// Never ends. Recursion, sorting with delegates, exceptions, fibers, associative arrays, garbage collection.
module sample;
import core.thread : Fiber;
import std.algorithm, std.array, std.conv, std.format, std.regex;

int depth(int n, int delegate() leaf) { return n == 0 ? leaf() : 1 + depth(n - 1, leaf); }

int nested(int n)
{
	auto list = [5, 3, 8, 1, 9, 2];
	list.sort!((a, b) { if (n > 0 && a == 5) nested(n - 1); return a < b; });
	return list[0];
}

void fail(int n)
{
	scope (exit) depth(3, () => 1);
	if (n == 0)
		throw new Exception("bottom");
	fail(n - 1);
}

void main()
{
	string[int] map;
	for (;;) {
		depth(30, () => cast(int) format("%d %s %f", 1, "text", 1.5).length);
		nested(3);
		try fail(6); catch (Exception e) depth(2, () => 1);
		auto fiber = new Fiber({ foreach (i; 0 .. 5) { depth(i, () => nested(1)); Fiber.yield(); } });
		foreach (i; 0 .. 6)
			fiber.call();
		foreach (i; 0 .. 50)
			map[i * 7919 % 101] = i.to!string;
		"a1 b22 c333".replaceAll!(m => m[1] ~ "x")(regex(`(\w)(\d+)`));
	}
}
