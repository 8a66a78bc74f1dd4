# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts haproxy with a client that keeps it busy. Sets pid.
cat >haproxy.cfg <<-'CFG'
	global
		nbthread 1
	defaults
		mode http
		timeout client 5s
		timeout server 5s
		timeout connect 5s
	frontend in
		bind /tmp/haproxy.socket
		acl is_a path_reg ^/a/[0-9]+
		http-request set-header X-Hash %[path,sha1,hex,lower]
		http-response set-header X-Same %[req.hdr(X-Hash),regsub("[0-9]","x","g")]
		use_backend a if is_a
		default_backend b
	backend a
		http-request return status 200 content-type text/plain lf-string "%[path] %[rand] %[date,http_date]"
	backend b
		server self unix@/tmp/haproxy.socket
		http-request set-path /a/1%[path]
CFG
haproxy -db -f haproxy.cfg >haproxy.log 2>&1 &
pid=$!
wait_for 60 test -S /tmp/haproxy.socket || return
# shellcheck disable=SC2016
perl -MIO::Socket::UNIX -e '
	my @paths = qw(/a/1 /b/2 /a/3333 /c/d/e /a/x);
	for (my $i = 0;; $i++) {
		my $socket = IO::Socket::UNIX->new(Peer => "/tmp/haproxy.socket") or next;
		print $socket "GET $paths[$i % @paths] HTTP/1.0\r\nHost: x\r\n\r\n";
		1 while <$socket>;
	}' >/dev/null 2>&1 &
