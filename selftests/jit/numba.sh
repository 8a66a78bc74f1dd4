# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts a program with numba, and waits until everything is compiled. Sets pid to its process.
python3 numba_sample.py &
pid=$!
wait_for 300 test -e ready
