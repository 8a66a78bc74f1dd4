# SPDX-License-Identifier: GPL-2.0
# Loops that CPython's JIT compiles. Runs until it is killed.


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def spin(limit):
    longest = 0
    for n in range(1, limit):
        longest = max(longest, collatz(n))
    return longest


while True:
    spin(3000)
