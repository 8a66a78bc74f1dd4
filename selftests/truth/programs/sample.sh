#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Never ends. Functions, loops, patterns, expansions, substitution of commands.
depth() {
	if [ "$1" -gt 0 ]; then
		depth $(($1 - 1)) "$2x"
	else
		name=${2%x}
		case $name in
			*xx*) echo "${name#?} ${#name}" ;;
			*) echo "${3:-nothing}" ;;
		esac
	fi
}

while :; do
	for i in 1 2 3 4 5 6 7 8; do
		depth "$i" a /etc/*
		# shellcheck disable=SC2046 # divided into words
		set -- $(depth 3 "b c") $i
		printf '%s %05d %d\n' "$1" "$i" $((i * 7 % 5 << 2))
	done
	eval "eval 'value=\$((i + 1))'"
done
