# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Programs of the file "distribution", for scripts that run in a VM. Sourced, not executed.

declare -A table
all_names=()

# read_table FILE: sets table and all_names.
read_table() {
	local key value name
	while read -r key value; do
		case $key in
			'' | '#'*) ;;
			*)
				if [ -z "$value" ]; then
					all_names+=("$key") name=$key
				else
					table[$name $key]=$value
				fi
				;;
		esac
	done <"$1"
}

# get KEY [DEFAULT]: what the table has for the program $name.
get() { printf '%s\n' "${table[$name $1]-${2-}}"; }

# copy_files DIRECTORY: what programs use, to ./files; the programs among them are executed from memory.
copy_files() {
	local i
	mkdir -p files
	cp -r "$1"/samples/* files/
	cp -r "$1"/{programs,workloads}/* files/
	cp "$1/cc1.i" files/
	for ((i = 0; i < 300; i++)); do cat files/sqlite.sql; done >files/many.sql
	cat /usr/bin/[a-f]* 2>/dev/null | head -c 3000000 >files/data
}

# wait_for SECONDS CMD...: for the scripts of servers.
wait_for() {
	local left=$(($1 * 10))
	shift
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || { echo "${0##*/}: no success: $*" >&2; return 1; }
		sleep 0.1
	done
}

# set_up: prepare the program $name in a directory of its own, and change to that. Sets program to its words; or starts a
# server, and sets pid to the process to examine.
# shellcheck disable=SC2034
set_up() {
	local value
	program=() pid=''
	mkdir -p "$name" && cd "$name" || return
	ln -s ../files/* .
	eval "$(get prepare)" || return
	case $(get start) in
		'')
			eval "program=($(get run))"
			return
			;;
		.*) eval "$(get start)" || return ;;
		*)
			(eval "$(get start)") >start.out 2>&1 &
			pid=$!
			;;
	esac
	sleep "$(($(get after 2000) / 1000))"
	value=$(get pid)
	[ -z "$value" ] || pid=$(eval "$value")
}
