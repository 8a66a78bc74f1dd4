# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts memcached with a client that keeps it busy. Sets pid.
memcached -u root -t 2 -s "$PWD/memcached.socket" >memcached.log 2>&1 &
pid=$!
wait_for 60 test -S memcached.socket || return
# shellcheck disable=SC2016
perl -MIO::Socket::UNIX -e '
	for (my $i = 0;; $i++) {
		my $socket = IO::Socket::UNIX->new(Peer => "memcached.socket") or next;
		for my $n (1 .. 100) {
			my $key = "key" . $n * 7919 % 1000;
			print $socket "set $key 0 0 6\r\nvalue", $n % 10, "\r\n", "get $key\r\nincr none 1\r\ndelete key$n\r\n";
		}
		print $socket "stats\r\nquit\r\n";
		1 while <$socket>;
	}' >/dev/null 2>&1 &
