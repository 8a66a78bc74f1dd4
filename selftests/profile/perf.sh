# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# perf of the VM's distribution, in build/forky/perf. Sourced after qemu/lib.sh, not executed.

PERF=$TREE/build/forky/perf

# What the root lacks of linux-perf and its dependencies, as apt resolves them.
fetch_perf() {
	local debs=$TREE/build/perf root deb
	[ ! -x "$PERF/usr/bin/perf" ] || return 0
	"$QEMU_DIR/prepare" root forky
	root=$(root_dir forky)
	mkdir -p "$debs/partial" "$PERF"
	APT_CONFIG=$CACHE/apt/apt.conf apt-get -qq -o Dir::State::status="$root/var/lib/dpkg/status" -o Dir::Cache::archives="$debs" \
		--no-install-recommends --download-only -y install linux-perf/forky >&2
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$PERF"
	done
}

# perf_in_root ROOT HOME ARGUMENT...: with that root's files, and the objects that perf record has kept in HOME.
perf_in_root() {
	local root=$1 home=$2
	shift 2
	"$QEMU_DIR/in-root" -r "$root" -d "$home" -- env HOME="$home" LD_LIBRARY_PATH="$PERF/usr/lib/x86_64-linux-gnu" \
		DEBUGINFOD_URLS= "$PERF/usr/bin/perf" "$@"
}
