# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts an HTTPS server for curl.
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost 2>/dev/null || return
head -c 3000000 data >big
openssl s_server -quiet -accept 4433 -key key.pem -cert cert.pem -WWW >server.log 2>&1 &
wait_for 60 curl -s --cacert cert.pem -o /dev/null https://localhost:4433/cert.pem
