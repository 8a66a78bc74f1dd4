#!/bin/bash
# shellcheck disable=all # A program for the tests, written as many are.
# SPDX-License-Identifier: GPL-2.0
# Input for shellcheck.
set -e
one() {
	local a=$1 b
	b=`cat $a | grep x`
	if [ $b == "text" ]; then echo $b; else echo "$a"; fi
	for i in $(ls *.txt); do
		while read line; do echo $line | sed "s/$a/$b/" > "$i.new"; done < $i
	done
}
two() {
	case $1 in
		a | b) one "$@" ;;
		*) two $* ; let x=1+2; [[ $x =~ "y" ]] && return $((x * 3)) ;;
	esac
	cat <<-END
	$(one $1) ${2:-text} ${3//a/b}
	END
}
trap "two $1" EXIT
cd $2; rm -rf $3/*
