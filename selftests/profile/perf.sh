# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# perf of the VM's distribution, which qemu/packages names. Sourced after qemu/lib.sh, not executed.

# perf_in_root ROOT HOME ARGUMENT...: here, with that root's files, and the objects that perf record has kept in HOME.
perf_in_root() {
	local root=$1 home=$2
	shift 2
	"$QEMU_DIR/in-root" -r "$root" -- env HOME="$home" DEBUGINFOD_URLS= perf "$@"
}
