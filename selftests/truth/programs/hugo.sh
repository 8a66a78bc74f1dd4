# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Makes a site.
mkdir -p site/{content,layouts/_default} || return
echo 'baseURL = "http://localhost/"' >site/hugo.toml
echo '<h1>{{ .Title }}</h1>{{ range .Pages }}<a href="{{ .RelPermalink }}">{{ .Title | upper }}</a>{{ end }}' >site/layouts/_default/list.html
echo '<h1>{{ .Title }}</h1>{{ .Content }}{{ .Summary | plainify | truncate 30 }}' >site/layouts/_default/single.html
for i in {1..150}; do
	{ printf -- '---\ntitle: "Page %d"\ntags: [a%d, b%d]\n---\n' "$i" $((i % 5)) $((i % 7)); cat sample.md; } >"site/content/page$i.md"
done
