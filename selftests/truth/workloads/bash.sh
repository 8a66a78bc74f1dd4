# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Never ends, and never forks: a child would inherit the breakpoints and die of them.

factorial() { if (($1 < 2)); then result=1; else factorial $(($1 - 1)); ((result *= $1)); fi; }

walk() {
	local -a list=("${@:2}")
	local -A map=()
	local item
	(($1 > 0)) || return 0
	for item in "${list[@]}"; do
		map[$item]=${#item}
		case $item in
			[0-9]*) map[$item]+=n ;;
			a* | b*) map[$item]+=ab ;;
			*) map[$item]+=x ;;
		esac
	done
	walk $(($1 - 1)) "${!map[@]}"
}

expand() {
	local text=/usr/share/some/long/path/with-many.parts.tar.gz out
	out=${text##*/} out=${out%%.*} out=${text//\//:} out=${text^^} out=${text:5:10} out=${text/#\/usr/\/opt}
	[[ $text =~ ^/([a-z]+)/([a-z]+)/ ]] && out=${BASH_REMATCH[2]}
	[[ $out == sh* && -n $text || $out < $text ]]
	printf -v out '%-20s|%08x|%q' "$text" 48879 "a b'c"
	out=${out@Q} out="${text:-none}${missing:=default}${text:+yes}"
	unset missing
	: {a..f}{1..4} ~ "$out"
}

arrays() {
	local -a numbers=() sorted=()
	local i j swap
	for ((i = 0; i < 14; i++)); do numbers+=($((i * 37 % 17))); done
	sorted=("${numbers[@]}")
	for ((i = 0; i < ${#sorted[@]}; i++)); do
		for ((j = i + 1; j < ${#sorted[@]}; j++)); do
			if ((sorted[i] > sorted[j])); then swap=${sorted[i]} sorted[i]=${sorted[j]} sorted[j]=$swap; fi
		done
	done
	unset 'sorted[3]'
	IFS=, read -r -a numbers <<<"${sorted[*]}"
	mapfile -t sorted <<<$'one\ntwo\nthree'
}

on_signal() { factorial 5; expand; }
trap on_signal USR1
trap 'caught=$LINENO' ERR

while :; do
	factorial 12
	walk 3 alpha beta 1 22 gamma "delta epsilon" zeta
	expand
	arrays
	eval 'evaluated=$((1 + 2 * (3 ** 2) % 5 << 1)); evaluated=("${evaluated[@]}" x)'
	set -- one two three
	while getopts ab:c option -a -b value -c; do :; done
	OPTIND=1
	until (($# == 0)); do shift; done
	false
	[ -e /usr/bin -a ! -e /nothing ]
	printf '%s %d %5.2f\n' text 42 3.14
	echo /usr/lib/*lib* >/dev/null
	declare -p BASH_VERSINFO
	type walk
	select_none=$RANDOM
	local_time='' printf -v local_time '%(%Y-%m-%d)T' -1
done >/dev/null 2>&1
