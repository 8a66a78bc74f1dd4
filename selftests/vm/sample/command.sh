# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For tests of sframe-unwind in a VM. Sourced, not executed. Sets here and command; changes to a new directory, work, which is
# removed at the end.
here=$(dirname "$(readlink -f "$0")")
# shellcheck disable=SC2034
command=$here/../userspace/sframe-unwind
work=$(mktemp -d)
chmod 777 "$work"
cd "$work" || exit 1
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
number=0

# shellcheck disable=SC2046,SC2329
leave() {
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
	kill -KILL $(jobs -p) 2>/dev/null
	umount "$work"/* 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap leave EXIT

# result STATUS NAME: after a failure the file "out" is printed.
result() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		head -n 60 out | sed 's/^/# /'
	fi
}

# says STATUS TEXT NAME CMD...: leaves what CMD prints in the files "stdout" and "stderr", and both in "out". A busy machine
# leads to warnings in stderr.
says() {
	local want=$1 text=$2 name=$3 status
	shift 3
	timeout -k 5 120 "$@" >stdout 2>stderr </dev/null
	status=$?
	cat stderr stdout >out
	[ $status -eq "$want" ] && { [ -z "$text" ] || grep -qF -- "$text" out; }
	result $? "$name (status $status)"
}

# wait_for CMD...: until it succeeds, at most a minute.
wait_for() {
	local try
	for ((try = 0; try < 600; try++)); do
		! "$@" || return 0
		sleep 0.1
	done
	return 1
}
has_size() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ]; }

# make_fresh FOLDER: a program and a library with build IDs of their own.
make_fresh() {
	local name at
	mkdir "$1" && cp "$here/fresh_program" "$here/libfresh.so" "$1"
	for name in "$1"/*; do
		at=$((0x$(readelf -SW "$name" | sed -nE 's/.*\.note\.gnu\.build-id +NOTE +[0-9a-f]+ ([0-9a-f]+) .*/\1/p')))
		head -c 20 /dev/urandom | dd of="$name" bs=1 seek=$((at + 16)) conv=notrunc status=none
	done
}
