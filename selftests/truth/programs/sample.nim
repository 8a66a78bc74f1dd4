# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, sorting with a function, exceptions, tables, strings.
import std/[algorithm, strutils, tables]

proc depth(n: int): int =
  if n == 0: ("some text".toUpperAscii & $n).len else: 1 + depth(n - 1)

proc fail(n: int) =
  if n == 0: raise newException(ValueError, "bottom")
  try: fail(n - 1)
  finally: discard depth(2)

var sum = 0
while true:
  var list = @[5, 3, 8, 1, 9]
  list.sort(proc (a, b: int): int = cmp(a, b) + 0 * depth(3))
  try: fail(5)
  except ValueError: sum += getCurrentExceptionMsg().len
  var words = initCountTable[string]()
  for w in "a b c a b".split(' '): words.inc(w)
  sum = (sum + depth(40) + words["a"] + list[0]) mod 1000
