# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# For scripts that test code that processes announce to debuggers, in a VM: the program $work/announce-vm, which announces
# code as the table of runtimes says. $here is the directory of the tests.
config=/etc/sframe-unwind/runtimes
counters=/sys/kernel/debug/sframe_unwind/counters

cp "$here/announce_program" "$work/announce-vm"
mkdir -p "$(dirname $config)"
chmod 755 "$(dirname $config)"
echo 'announce-vm announces' >$config
chmod 644 $config

count() { sed -n "s/^$1 //p" "$counters"; }

# run COMMAND...: what it says of failures is printed.
run() {
	local status
	timeout 240 "$@" 2>"$work/said"
	status=$?
	sed 's/^/# /' "$work/said"
	return $status
}
