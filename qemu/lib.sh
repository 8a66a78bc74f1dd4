# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Helpers shared by the scripts of this directory. Sourced, not executed.

QEMU_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034
TREE=$(dirname "$QEMU_DIR")
CACHE=${SFRAME_UNWIND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sframe_unwind}
CACHE=$(readlink -m "$CACHE")
export SFRAME_UNWIND_CACHE=$CACHE
ME=qemu/$(basename "$0")

say() { printf '%s: %s\n' "$ME" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# The header comment of a script is its help text.
usage() {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$(readlink -f "$0")"
	exit "${1:-0}"
}

# Mounting, chroot and virtiofsd need root; everything else in the tree does not.
become_root() {
	[ "$(id -u)" -eq 0 ] && return
	command -v sudo >/dev/null || die "needs root (no sudo found)"
	exec sudo -n SFRAME_UNWIND_CACHE="$CACHE" SFU_SRC="${SFU_SRC-}" "$0" "$@"
}

# retry N CMD...: the archive's mirrors fail occasionally.
retry() {
	local left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		say "failed, trying again: $*"
		sleep 2
	done
}

has_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q ' installed$'; }

# need_packages NAME...: install those that are missing on this machine.
need_packages() {
	local missing=() name sudo=()
	for name; do
		has_package "$name" || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "please install: ${missing[*]} (this is not a Debian machine)"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || die "please install as root: ${missing[*]}"
		sudo=(sudo -n)
	fi
	say "installing ${missing[*]}"
	retry 3 "${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 ||
		say "apt-get update failed, going on with the lists there are"
	retry 3 "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}" >&2 </dev/null ||
		die "could not install: ${missing[*]}"
}

# with_lock NAME CMD...: run it under a lock, so that parallel makes prepare a thing only once. CMD must check again
# whether it is needed.
with_lock() {
	local lock=$CACHE/locks/$1
	shift
	mkdir -p "$CACHE/locks"
	(
		flock 9
		"$@"
	) 9>>"$lock"
}

# hold NAME: take a shared lock for the rest of this process and its children, so that what they use is not removed.
hold() {
	local fd
	mkdir -p "$CACHE/locks"
	exec {fd}>>"$CACHE/locks/use-$1"
	flock -s "$fd"
}

# in_use NAME
in_use() { ! flock -n "$CACHE/locks/use-$1" true; }

# make_dir TARGET CMD...: CMD fills a new directory given as its last argument, which becomes TARGET only if CMD succeeds.
# An interrupted preparation leaves TARGET.tmp-* behind, never TARGET.
make_dir() {
	local target=$1 new
	shift
	mkdir -p "$(dirname "$target")"
	rm -rf --one-file-system "$target".tmp-*
	new=$target.tmp-$$
	mkdir "$new"
	"$@" "$new"
	mv -T "$new" "$target"
}

# --- kernels

kernel_lines() { sed -E '/^[[:space:]]*(#|$)/d' "$QEMU_DIR/kernels"; }
kernel_names() { kernel_lines | awk -v want="^($1)$" '$2 ~ want && !seen[$1]++ { print $1 }'; }
newest_kernel() { kernel_names yes | tail -n 1; }
check_kernel() {
	kernel_names '.*' | grep -qxF -- "$1" || die "unknown kernel '$1', known: $(kernel_names '.*' | xargs)"
}

# Whether kernel K is built here instead of downloaded.
is_built_here() { kernel_lines | awk -v name="$1" '$1 == name && $4 ~ /^linux-source-/ { n++ } END { exit !n }'; }

# The configuration of kernel K, which is built here: the options set in addition to tinyconfig. Of several lines for an
# option the last one is used.
kernel_config() {
	{
		printf 'CONFIG_LOCALVERSION="-%s"\n' "$1"
		grep -h CONFIG_ "$QEMU_DIR/machine.config" "$QEMU_DIR/$1.config"
	} | awk '{
		name = $0
		gsub(/^# | is not set$|=.*/, "", name)
		if (!(name in at))
			at[name] = ++nr
		line[at[name]] = $0
	} END { for (i = 1; i <= nr; i++) print line[i] }'
}

# Directory of kernel K: vmlinuz, release, compiler, build (a link for KDIR), lib/modules. For a kernel built here the
# name contains a hash of its configuration and source. Increase the number when the result of build-debug-kernel changes.
kernel_dir() {
	local hash=''
	if is_built_here "$1"; then
		hash=$({ echo 2; kernel_lines | grep "^$1 "; kernel_config "$1"; } | sha256sum)
	fi
	printf '%s\n' "$CACHE/kernels/$1${hash:+-${hash:0:12}}"
}

# --- roots

FORKY_PACKAGES=$QEMU_DIR/packages
# Tables with lines "packages NAME..."
declare -A PROGRAM_TABLES=([forky-programs]=$TREE/selftests/truth/distribution [forky-jit]=$TREE/selftests/jit/runtimes
	[forky-bpf]=$TREE/selftests/bpf/programs)
TRIXIE_PACKAGES=(gcc-14 make pahole kmod libelf1t64 sparse)
QEMU_PACKAGES=(qemu-system-x86 seabios virtiofsd)

root_packages() {
	case $1 in
		forky) sed -E 's/#.*//; /^[[:space:]]*$/d' "$FORKY_PACKAGES" ;;
		forky-programs | forky-jit | forky-bpf)
			root_packages forky
			awk '$1 == "packages" { for (i = 2; i <= NF; i++) print $i }' "${PROGRAM_TABLES[$1]}"
			;;
		trixie) printf '%s\n' "${TRIXIE_PACKAGES[@]}" ;;
		qemu) printf '%s\n' "${QEMU_PACKAGES[@]}" ;;
		*) die "unknown root '$1', known: forky forky-programs forky-jit forky-bpf trixie qemu" ;;
	esac
}

# The Debian release of a root.
root_suite() {
	case $1 in
		qemu) echo forky ;;
		*) printf '%s\n' "${1%%-*}" ;;
	esac
}

# The name contains a hash of the package list: a changed list makes another root. Increase the number when make_root
# changes.
root_dir() {
	local hash
	hash=$({ echo 1; root_packages "$1" | sort -u; } | sha256sum)
	printf '%s\n' "$CACHE/roots/$1-${hash:0:12}"
}

# --- VMs

# use_qemu: set the commands qemu and virtiofsd, of the root "qemu": its programs with its own libraries.
use_qemu() {
	local root run
	root=$(root_dir qemu)
	run=("$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu")
	qemu=("${run[@]}" "$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/seabios" -L "$root/usr/share/qemu")
	virtiofsd=("${run[@]}" "$root/usr/libexec/virtiofsd")
}
