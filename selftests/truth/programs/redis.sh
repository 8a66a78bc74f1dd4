# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts redis with a client that keeps it busy. Sets pid.
redis-server --port 0 --unixsocket redis.socket --save '' --daemonize no >redis.log 2>&1 &
pid=$!
wait_for 60 test -S redis.socket || return
while :; do redis-cli -s redis.socket <redis.txt >/dev/null 2>&1; done &
