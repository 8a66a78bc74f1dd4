# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# For scripts that test "sframe-unwind attach" in a VM: starting and ending it. $command is the command, $work a directory.

number=0 attach=''
readonly START_20_MS=500	# what 20 starts of a program take on an idle machine, without KVM
: >"$work/out"

# result STATUS NAME: after a failure the command's output is printed.
result() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		tail -n 15 "$work/out" | sed 's/^/# /'
	fi
}

# by USER COMMAND...
by() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }

# start_attach OPTION...: start it and wait until it reports that it is ready. Like a service it has a session of its own.
start_attach() {
	local line
	rm -f "$work/ready"
	mkfifo "$work/ready"
	setsid "$command" attach -v --ready-fd=9 "$@" 9>"$work/ready" >"$work/out" 2>&1 &
	attach=$!
	read -r -t 120 line <"$work/ready"
	[ "$line" = ready ]
}

# Milliseconds since an arbitrary time.
now() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# scaled MILLISECONDS: what takes so long on an idle machine may take so long on this one: it starts 20 programs to find out
# how busy that is.
scaled() {
	local before took
	before=$(now)
	for ((try = 0; try < 20; try++)); do /bin/true; done
	took=$(($(now) - before))
	echo $(($1 * (took > START_20_MS ? took : START_20_MS) / START_20_MS))
}

# end_attach MILLISECONDS: whether it ends within that time, or longer on a busy machine, without leaving a child.
end_attach() {
	local before took
	before=$(now)
	kill -TERM "$attach"
	timeout 30 tail --pid="$attach" -s 0.02 -f /dev/null
	took=$(($(now) - before))
	echo "ended after $took ms" >>"$work/out"
	kill -KILL "$attach" 2>/dev/null
	wait "$attach" 2>/dev/null
	[ $took -le "$1" ] || [ $took -le "$(scaled "$1")" ] || return 1
	# Killed processes may take a moment.
	for ((try = 0; try < 100; try++)); do
		pgrep -f "sframe-unwind-(attach|convert)" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -fa "sframe-unwind-(attach|convert)" >>"$work/out"
	return 1
}

# Peak memory of the daemon in KiB.
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$attach/status"; }
