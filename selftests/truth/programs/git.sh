# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Makes a repository with some history.
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
git init -q repository && cd repository || return
git config gc.auto 0
mkdir include
for i in 1 2 3 4; do
	cp /usr/include/[a-m]*.h include/
	sed -i "s/[$i]/x$i/" include/*.h
	git add . && git commit -q -m "commit $i" || return
done
cd ..
