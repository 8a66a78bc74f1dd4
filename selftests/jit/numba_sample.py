# SPDX-License-Identifier: GPL-2.0
# Compiled functions that call each other, and are called by the interpreter. Runs until it is killed.
import numba


@numba.njit
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@numba.njit
def spin(n):
    total = 0
    for i in range(n):
        total += ackermann(2, i % 9)
    return total


spin(1)
open("ready", "w").close()
while True:
    spin(1000)
