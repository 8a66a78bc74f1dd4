# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts nginx with a client that keeps it busy. Sets pid.
mkdir -p nginx/www/{dir,again} && cp nginx.conf nginx/
for i in {1..30}; do echo "file $i <!--#include virtual=\"/dir/\" -->" >"nginx/www/dir/file$i"; done
# shellcheck disable=SC2016
echo '<!--#if expr="$arg_a" --><!--#include virtual="/dir/file1" --><!--#endif --> <!--#include virtual="/text" -->' \
	>nginx/www/page
(cd nginx && exec nginx -p "$PWD" -c nginx.conf) >nginx/out 2>&1 &
wait_for 60 test -S nginx/nginx.socket || return
# shellcheck disable=SC2016
perl -MIO::Socket::UNIX -e '
	my @paths = qw(/page?a=1 /dir/ /dir/file3 /again/1/page /text /proxy/dir/file2 /proxy/page?a=2 /none /files/x);
	for (my $i = 0;; $i++) {
		my $socket = IO::Socket::UNIX->new(Peer => "nginx/nginx.socket") or next;
		print $socket "GET $paths[$i % @paths] HTTP/1.0\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n";
		1 while <$socket>;
		mkdir "nginx/warm" if $i == 20;
	}' >/dev/null 2>&1 &
wait_for 120 test -d nginx/warm && pid=$(pgrep -f "nginx: worker")
