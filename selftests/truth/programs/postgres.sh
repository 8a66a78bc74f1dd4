# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts PostgreSQL with a client that keeps one backend busy. Sets pid to the backend.
bin=$(echo /usr/lib/postgresql/*/bin)
mkdir -p pg && chown postgres pg
if ! runuser -u postgres -- "$bin/initdb" -D "$PWD/pg/data" -A trust -N >pg/initdb 2>&1 ||
	! runuser -u postgres -- "$bin/pg_ctl" -D "$PWD/pg/data" -l "$PWD/pg/log" -w -t 120 \
		-o "-k $PWD/pg -c listen_addresses= -c fsync=off" start >pg/start 2>&1; then
	cat pg/initdb pg/start pg/log >&2
	return 1
fi
{
	echo "SELECT pg_backend_pid() \\g (tuples_only=on format=unaligned) $PWD/pg/pid"
	while cat postgres.sql; do :; done
} | runuser -u postgres -- psql -q -h "$PWD/pg" >/dev/null 2>&1 &
wait_for 60 test -s pg/pid && pid=$(<pg/pid)
