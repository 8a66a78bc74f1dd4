// SPDX-License-Identifier: GPL-2.0
// Never ends. Recursion, sorting with a delegate, exceptions, strings.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;

class Sample
{
	static int Depth(int n) { return n == 0 ? Regex.Replace("a1 b2", "[a-z]", m => m.Value.ToUpper()).Length : 1 + Depth(n - 1); }

	static void Fail(int n)
	{
		try { if (n == 0) throw new Exception("bottom"); Fail(n - 1); } finally { GC.KeepAlive(n); }
	}

	static void Main()
	{
		for (;;) {
			var list = new List<int> { 5, 3, 8, 1, 9 };
			list.Sort((a, b) => a.CompareTo(b) + 0 * Depth(3));
			Depth(30);
			try { Fail(5); } catch (Exception) { }
			Console.WriteLine(string.Join(",", list.Select(x => x * 2).GroupBy(x => x % 3).Select(g => g.Sum())));
		}
	}
}
