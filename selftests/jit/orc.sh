# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Starts the example for LLVM's ORC, with its code described if $described is set, and waits until it runs. Sets pid to its
# process. The first time, libLLVM is converted before: on a slow machine that takes longer than a recording.
"$command" convert "$(ldd ./orc | awk '/libLLVM/ { print $3 }')"
plain=()
[ -n "$described" ] || plain=(--plain)
./orc "${plain[@]}" >ready &
pid=$!
wait_for 300 test -s ready
