# SPDX-License-Identifier: GPL-2.0
# Deep expansion and many rules.
list := $(foreach a,1 2 3 4 5 6 7 8 9,$(foreach b,1 2 3 4 5 6 7 8 9,$(foreach c,1 2 3 4 5 6 7,$a$b$c)))
depth = $(if $1,$(call depth,$(wordlist 2,$(words $1),$1))x,)
define rule
target-$1: $(patsubst %,source-%,$(filter $(firstword $1)%,$(list))) ; echo $$@ $$(call depth,$(wordlist 1,20,$(list)))
source-$1: ; touch $$(sort $$(list))
endef
all: $(addprefix target-,$(list))
$(foreach a,$(list),$(eval $(call rule,$a)))
