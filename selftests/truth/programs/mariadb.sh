# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts MariaDB with a client that keeps it busy. Sets pid.
mkdir -p db && mariadb-install-db --user=root --datadir="$PWD/db" --skip-test-db >install.log 2>&1 || return
mariadbd --user=root --datadir="$PWD/db" --socket="$PWD/db.socket" --skip-networking --pid-file="$PWD/db.pid" >db.log 2>&1 &
pid=$!
wait_for 120 test -S db.socket || return
while :; do
	echo "CREATE DATABASE IF NOT EXISTS d; USE d; CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, b TEXT, KEY (b(10)));"
	echo "INSERT INTO t SELECT seq, MD5(seq) FROM seq_1_to_500;"
	for i in {1..50}; do
		echo "SELECT COUNT(*), MAX(x.b) FROM t x JOIN t y ON x.a = y.a + $i WHERE x.b RLIKE 'a[0-9]$' GROUP BY x.a % 7 ORDER BY 2;"
		echo "UPDATE t SET b = CONCAT(b, '$i') WHERE a % 10 = $i % 10;"
	done
done | mariadb --socket="$PWD/db.socket" -u root >/dev/null 2>&1 &
