# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts a server with a client that keeps it busy. Sets pid to its process.
rm -f node.socket
/usr/bin/node --perf-basic-prof server.js &
pid=$!
wait_for 60 test -S node.socket
/usr/bin/node server.js client &
