# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Parts of a VM for qemu/run: initramfs, accelerator, file server. Sourced after lib.sh.

# Modules needed before the root is mounted; those that are built in, or that a kernel lacks, are skipped.
BOOT_MODULES=(virtio_pci virtio_console virtiofs overlay)

fill_initramfs() {
	local kernel=$1 file=$2 dir release module path action
	dir=$(kernel_dir "$kernel")
	release=$(<"$dir/release")
	mkdir -p "$file.dir"/{bin,modules,proc,sys,dev,lower,rw,new}
	(
		cd "$file.dir" || exit
		cp "$QEMU_DIR/guest-init" init
		cp "$(command -v busybox)" bin/busybox
		for path in sh mount mkdir cp cat grep insmod poweroff switch_root; do
			ln -s busybox "bin/$path"
		done
		: >modules/list
		for module in "${BOOT_MODULES[@]}"; do
			modprobe -d "$dir" -S "$release" --show-depends "$module" 2>/dev/null || true
		done | while read -r action path _; do
			[ "$action" = insmod ] || continue
			module=$(basename "$path" | sed 's/\.ko.*//').ko
			! grep -qxF "$module" modules/list || continue
			case $path in
				*.xz) xz -dc "$path" ;;
				*.zst) zstd -dcq "$path" ;;
				*) cat "$path" ;;
			esac >"modules/$module"
			echo "$module" >>modules/list
		done
		find . | cpio --quiet -o -H newc -R 0:0
	) >"$file.tmp"
	rm -r "$file.dir"
	mv "$file.tmp" "$file"
}

# The part of the initramfs that is the same for all runs of a kernel; prints its name.
base_initramfs() {
	local file hash
	hash=$(cat "$QEMU_DIR/guest-init" "$QEMU_DIR/vm.sh" "$(kernel_dir "$1")/release" | sha256sum)
	file=$CACHE/initramfs/$1-${hash:0:12}
	[ -e "$file" ] || with_lock "initramfs-$1" make_initramfs "$1" "$file"
	printf '%s\n' "$file"
}

make_initramfs() {
	[ ! -e "$2" ] || return 0
	mkdir -p "$CACHE/initramfs"
	rm -rf "$CACHE/initramfs/$1"-*
	fill_initramfs "$1" "$2"
}

# Use KVM only if it has booted a kernel: a /dev/kvm in a VM may exist and not work. Tested once for each boot and
# user.
choose_accel() {
	local file
	file=$CACHE/accel-$(</proc/sys/kernel/random/boot_id)-$(id -u)
	[ -e "$file" ] || with_lock accel try_kvm "$1" "$2" "$file"
	cat "$file"
}

try_kvm() {
	local accel=tcg,thread=multi console
	[ ! -e "$3" ] || return 0
	if [ -w /dev/kvm ]; then
		console=$(timeout -k 1 10 "${qemu[@]}" -nodefaults -no-user-config -no-reboot -display none -machine q35 \
			-accel kvm -cpu max,la57=off -m 512 -kernel "$(kernel_dir "$1")/vmlinuz" -initrd "$2" \
			-append "console=ttyS0 panic=-1 loglevel=7 vm.trial" -serial stdio </dev/null 2>/dev/null) || true
		[[ $console != *"vm: trial passed"* ]] || accel=kvm
	fi
	rm -f "$CACHE"/accel-*
	echo "$accel" >"$3"
}

# serve NAME CACHE-MODE DIR=NAME:ro|rw...: start a file server for these directories, on NAME.socket in the current
# directory. It runs in a mount namespace where they are bind-mounted together, read-only if requested. CACHE-MODE is
# "always" for the root, which does not change, or "auto". Overlayfs refuses a lower directory that is an announced
# submount; the shares need announced submounts, to distinguish equal inode numbers of different file systems.
serve() {
	local name=$1 mode=$2 tries options
	shift 2
	mkdir -p "$name.mnt"
	options=(--socket-path="$name.socket" --shared-dir="$name.mnt" --cache="$mode" --sandbox=none)
	[ "$mode" = auto ] || options+=(--no-announce-submounts)
	# shellcheck disable=SC2016
	setpriv --pdeathsig TERM unshare --mount --propagation private bash -euo pipefail -c '
		mnt=$1
		shift
		mount -t tmpfs tmpfs "$mnt"
		while [ "$1" != -- ]; do
			spec=$1
			shift
			to=$mnt/${spec##*=}
			mkdir "${to%:*}"
			mount --rbind "${spec%=*}" "${to%:*}"
			[ "${spec##*:}" = rw ] || mount -o remount,ro,bind "${to%:*}"
		done
		shift
		exec "$@"
	' bash "$name.mnt" "$@" -- "${virtiofsd[@]}" "${options[@]}" >"$name.log" 2>&1 </dev/null &
	pids+=($!)
	for ((tries = 0; tries < 500; tries++)); do
		[ ! -S "$name.socket" ] || return 0
		kill -0 "${pids[-1]}" 2>/dev/null || break
		sleep 0.02
	done
	die "virtiofsd does not start: $(tail -n 3 "$name.log")"
}
