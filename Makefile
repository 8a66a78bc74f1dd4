# SPDX-License-Identifier: GPL-2.0
#
# sframe_unwind: user stacks by SFrame on stock kernels. "make help" lists the
# targets.

.DEFAULT_GOAL := all

KDIR ?= /lib/modules/$(shell uname -r)/build
# What uname -r prints there. "make kernelrelease" of Debian's headers may print another one.
release = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' "$(KDIR)/include/generated/utsrelease.h")

all: module userspace	## the module for the running kernel, library and command

module:			## the module for the running kernel, or for KDIR
	@if [ -e "$(KDIR)/Makefile" ]; then \
		$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules $$(module/btf-arguments "$(KDIR)"); \
	else \
		echo "module: not built: no kernel headers at $(KDIR)"; \
		echo "module: (install linux-headers-$(shell uname -r), or name them by KDIR=...)"; \
	fi

userspace:		## library, command and examples, in build/host/userspace
	$(MAKE) -C userspace

demo:			## print a real program's stack in a VM; needs nothing installed
	@qemu/demo

check:			## all tests: natively, then in VMs with the kernels of qemu/matrix
	@selftests/check

check-long:		## those tests in VMs that take so long that check leaves them out
	@selftests/check -l

check-kernels:		## all tests that need a VM, with each kernel of qemu/matrix; takes hours
	@selftests/check -v $$(qemu/matrix)

check-debug:		## VM tests and storms in kernels with KASAN, lockdep, kmemleak ..., and with KCSAN
	@selftests/check-debug

check-truth:		## stacks against libdw at random stops of real programs, built with SFrame data and unmodified
	@selftests/truth/check

check-convert:		## every ELF file of the VM's userland converted, against libdw row by row; libLLVM
	@selftests/convert/check

check-storm:		## fork, exec, munmap, dlopen and unregister concurrently with walks, for 5 minutes
	@selftests/storm/check

check-samples:		## samples: a minute of overload, 40,000 stacks taken at once compared with those taken later
	@selftests/vm/sample/check

check-events:		## trace events, netlink messages and requests of other modules, a minute each
	@selftests/vm/sample/check -e

check-bpf:		## stacks by BPF programs of each type, a minute each
	@selftests/bpf/check

check-jit:		## record LLVM, numba, PostgreSQL, CPython, LuaJIT, Node.js, Java and Erlang with their generated code
	@selftests/jit/check

check-hostile:		## the daemon of attach --all against hostile users, for 20 minutes
	@selftests/hostile/check

fuzz:			## fuzz decoder, ELF reader, rule cache and converter, a minute each; report lines reached
	@selftests/fuzz/check

check-faults:		## each allocation, copy and call in the module fails once, in a debug kernel; rmmod under load
	@selftests/faults/check

fuzz-ioctl:		## a million calls to the device, coverage-guided, in the debug kernel
	@selftests/kfuzz/check

bench:			## instructions in the kernel and nanoseconds natively, against other unwinders
	@selftests/bench/check

lint:			## warnings of compilers, sparse, checkpatch, coccinelle, clang-tidy and shellcheck; the ABI of the libraries
	@qemu/lint

module_install:		## install the module for the running kernel or KDIR, and what other modules need to use it
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" INSTALL_MOD_PATH="$(abspath $(INSTALL_MOD_PATH))" modules_install
	module/install-api . "$(abspath $(INSTALL_MOD_PATH))/lib/modules/$(release)/sframe_unwind"

install: userspace	## install library, command and manual pages under PREFIX
	$(MAKE) -C userspace install

uninstall:		## remove what install has put under PREFIX
	$(MAKE) -C userspace uninstall

clean:			## remove what was built in the tree
	@if [ -e "$(KDIR)/Makefile" ]; then \
		$(MAKE) -C "$(KDIR)" M="$(CURDIR)" clean; \
	fi
	rm -rf build

# Lists what it removes and does not ask: the cache can be made again.
distclean: clean	## remove also the cache of packages, roots and kernels
	@qemu/prepare --list-cache
	@qemu/prepare --remove-cache

help:			## this list
	@sed -nE 's/^([a-z_-]+):[^#]*## (.*)/\1|\2/p' Makefile | \
		awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

.PHONY: all module userspace demo check check-debug check-truth check-convert check-storm check-samples check-events check-hostile fuzz bench lint module_install install uninstall clean distclean help check-faults fuzz-ioctl check-jit check-bpf check-kernels check-long
