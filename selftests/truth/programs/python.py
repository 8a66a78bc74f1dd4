# SPDX-License-Identifier: GPL-2.0
# Never ends. Python calls Python through C and back: sorting, regular expressions, ctypes (which calls through machine
# code that it makes), sqlite3 with functions and collations in Python, pickle, json, generators, exceptions.
import ctypes
import functools
import itertools
import json
import pickle
import re
import signal
import sqlite3
import zlib


def depth(n, leaf):
    return leaf() if n == 0 else 1 + depth(n - 1, leaf)


def nested_sort(n):
    def key(x):
        return nested_sort(n - 1) if n and x == 5 else (x * 7 + n) % 11
    return sorted(range(9), key=key)[0]


def through_reduce(n):
    return functools.reduce(lambda a, b: a + (through_reduce(n - 1) if n and b == 2 else b), range(4))


def substitute(n):
    return re.sub(r"(\w)(\d+)", lambda m: substitute(n - 1) if n else m.group(1).upper(), "a1 b22 c333")


class Recursive:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == 0 or Recursive(self.n - 1) in [other]

    def __reduce__(self):
        return (Recursive, (self.n - 1,)) if self.n == 0 else (depth, (self.n, int))

    def __del__(self):
        through_reduce(1)


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)


def c_sort(n):
    def compare(a, b):
        if n and a[0] == 5:
            c_sort(n - 1)
        return a[0] - b[0]
    numbers = (ctypes.c_int * 12)(*[i * 7 % 12 for i in range(12)])
    libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), COMPARE(compare))
    return list(numbers)


def database(n):
    db = sqlite3.connect(":memory:")

    def weigh(x):
        if n and x == 3:
            database(n - 1)
        return depth(x % 5, lambda: len(json.dumps({"x": [x] * 3})))
    db.create_function("weigh", 1, weigh)
    db.create_collation("reverse", lambda a, b: (a < b) - (a > b))
    db.execute("CREATE TABLE t(a INTEGER, b TEXT)")
    db.executemany("INSERT INTO t VALUES(?, ?)", ((i, "item %d" % (i * 37 % 50)) for i in range(50)))
    return db.execute("SELECT a, b FROM t ORDER BY weigh(a), b COLLATE reverse").fetchall()


def generate(n):
    if n:
        yield from generate(n - 1)
    yield n


def fail(n):
    try:
        if n == 0:
            raise ValueError("bottom")
        fail(n - 1)
    except ValueError as error:
        raise KeyError(n) from error


def errors():
    try:
        fail(8)
    except KeyError as error:
        return len(repr(error))


signal.signal(signal.SIGUSR1, lambda number, frame: depth(5, errors))
for turn in itertools.count():
    depth(60, errors)
    nested_sort(6)
    through_reduce(6)
    substitute(3)
    Recursive(6) == Recursive(5)
    pickle.loads(pickle.dumps([Recursive(7), {"a": (1, 2.5, b"x")}]))
    c_sort(3)
    database(2)
    list(generate(15))
    json.loads(json.dumps([{"k%d" % i: [i] * 3} for i in range(20)]), object_hook=lambda d: depth(3, lambda: len(d)))
    zlib.decompress(zlib.compress(bytes(range(256)) * 40))
