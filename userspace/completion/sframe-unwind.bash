# SPDX-License-Identifier: GPL-2.0
# bash completion for sframe-unwind(1). What can be completed is what the command itself says: the commands and options
# are those of its --help, the events those of "record --list-events".

# __sframe_unwind_options PROGRAM COMMAND: its options, one in a line; "=" is behind those that take a value.
__sframe_unwind_options() {
	"$1" "$2" --help 2>/dev/null | awk '
		/^  +-/ {
			sub(/^ +/, ""); sub(/  .*/, "")
			# NAME[=VALUE] needs none.
			value = /[^[]=/ || /^-. [A-Z]/
			n = split($0, parts, /, */)
			for (i = 1; i <= n; i++) {
				if (parts[i] !~ /^-/) continue
				sub(/[[]?[= ].*/, "", parts[i])
				print parts[i] (value ? "=" : "")
			}
		}'
}

__sframe_unwind_commands() {
	"$1" --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }'
}

# __sframe_unwind_value PROGRAM COMMAND OPTION VALUE: what the value can be. Nothing means files.
__sframe_unwind_value() {
	local list=''
	case $3 in
		-e | --event) compgen -W "$("$1" record --list-events 2>/dev/null)" -- "$4" ;;
		-p | --pid | -t | --tid)
			# The last one of several, with commas.
			[[ $4 != *,* ]] || list=${4%,*},
			compgen -P "$list" -W "$(cd /proc 2>/dev/null && printf '%s\n' [0-9]*)" -- "${4##*,}"
			;;
		-s | --sort)
			[ "$2" = report ] || return
			[[ $4 != *,* ]] || list=${4%,*},
			compgen -P "$list" -W 'comm pid dso sym' -- "${4##*,}"
			;;
		-g | --group)
			[ "$2" = monitor ] || return
			[[ $4 != *,* ]] || list=${4%,*},
			compgen -P "$list" -W 'sections clients losses' -- "${4##*,}"
			;;
		--format) compgen -W 'perf folded pprof json' -- "$4" ;;
		--switch-output) compgen -W 'signal' -- "$4" ;;
	esac
}

_sframe_unwind() {
	local program=$1 line=${COMP_LINE:0:COMP_POINT} words current command options option reply=() i prefix
	# Words by blanks only: COMP_WORDS is also cut at "=" and ":".
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=('')
	current=${words[-1]}
	COMPREPLY=()
	if [ ${#words[@]} -le 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(__sframe_unwind_commands "$program") help --help --version" -- "$current")
		return
	fi
	command=${words[1]}
	if [ "$command" = help ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(__sframe_unwind_commands "$program")" -- "$current")
		return
	fi
	options=$(__sframe_unwind_options "$program" "$command")
	# Behind the program that record and exec run, everything is that program's.
	case $command in
		record | exec)
			for ((i = 2; i < ${#words[@]} - 1; i++)); do
				if [ "${words[i]}" = -- ] || [[ ${words[i]} != -* ]]; then
					[ "${words[i]}" = -- ] && [ $i -eq $((${#words[@]} - 2)) ] &&
						mapfile -t COMPREPLY < <(compgen -c -- "$current")
					[ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
					return
				fi
				# An option that takes its value from the next word.
				[[ $'\n'$options$'\n' == *$'\n'"${words[i]}="$'\n'* ]] && i=$((i + 1))
			done
			;;
	esac
	option=${words[-2]}
	if [[ $current == --*=* ]]; then
		option=${current%%=*}
		mapfile -t reply < <(__sframe_unwind_value "$program" "$command" "$option" "${current#*=}")
		reply=("${reply[@]/#/$option=}")
	elif [[ $'\n'$options$'\n' == *$'\n'"$option="$'\n'* ]]; then
		mapfile -t reply < <(__sframe_unwind_value "$program" "$command" "$option" "$current")
	elif [[ $current == -* ]]; then
		mapfile -t reply < <(compgen -W "$options" -- "$current")
		# "=" only behind long options.
		for i in "${!reply[@]}"; do
			[[ ${reply[i]} == --* ]] || reply[i]=${reply[i]%=}
		done
		[ ${#reply[@]} -ne 1 ] || [[ ${reply[0]} != *= ]] || compopt -o nospace 2>/dev/null
	elif [[ $command == record || $command == exec ]]; then
		mapfile -t reply < <(compgen -c -- "$current")
	fi
	[ ${#reply[@]} -gt 0 ] || compopt -o default 2>/dev/null
	# bash replaces what is behind the last ":" or "=".
	prefix=''
	[[ $current != *[:=]* ]] || prefix=${current%"${current##*[:=]}"}
	COMPREPLY=("${reply[@]#"$prefix"}")
}

complete -F _sframe_unwind sframe-unwind
