#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: package-hash, package-bare
#
# An archive is not kept beside the layer that has its files: another set takes them from there, without a
# network, exactly as they were, and only if they are what was installed.
. "$(dirname "$0")/../lib/deps.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# locked NAME PACKAGE...: a directory with a lock of these.
locked()
{
	local d=$W/$1

	shift
	mkdir -p "$d"
	own "$d"
	pinfold deps add --lock "$d/pinfold.lock" "$@"
	exits 0 "a lock of $*"
}

# uses NAME MODULE...
uses()
{
	local d=$W/$1

	shift
	inside --deps auto --dir "$d" --workdir /work -- python3 -c "import $1 as x; print(getattr(x, 'value', x.__name__))"
}

# files_of MODULE: each layer's file of it, with what it has.
files_of()
{
	(cd "$M/home/layers" && find . -type f \( -name "$1.*" -o -name "$1" -o -path "*/$1-*" \) -printf '%P %m %s %T@ ' -exec sha256sum {} \; |
		awk '{ sub("^[^/]*/", "", $1); print $1, $2, $3, $4, $5 }' | sort)
}

archives()
{
	find "$M/home/deps/files" -type f | wc -l
}

has_archives()
{
	[ "$(archives)" = "$1" ]
}

# One that changes what runs on a layer cannot change what another set gets of that layer.
poisoned()
{
	locked tainted poisoner lone
	locked clean lone pear
	uses tainted lone
	prints 42 "a set with a package that wants to change others"
	check "its archives are dropped" wait_for 20 has_archives 1
	index_at 9
	CALL_ENV+=(PINFOLD_DEPS_ARCHIVES=0)
	uses clean lone
	prints 42 "another set with one of its packages has that package"
	index_at "$(cat "$INDEX/port")"
	CALL_ENV+=(PINFOLD_DEPS_ARCHIVES=0)
	pinfold deps gc --all
	exits 0 "they are removed"
}

checks()
{
	local files

	index || return
	CALL_ENV+=(PINFOLD_DEPS_ARCHIVES=0)
	poisoned
	locked first pear lone
	locked second lone orchard-north
	locked third lone orchard-south
	check "four archives" has_archives 4
	uses first lone
	prints 42 "a set"
	check "its archives are dropped, those of others are not" wait_for 20 has_archives 2
	files=$(files_of lone)
	check "its files are told" grep -q 'bin/lone' <<<"$files"
	index_at 9
	CALL_ENV+=(PINFOLD_DEPS_ARCHIVES=0)
	uses second lone
	prints 42 "another set with one of its packages, without an index"
	is "$(files_of lone | uniq -c | awk '{ print $1 }' | sort -u)" 2 "what it has is what the first has"
	# The layers are at rest; somebody changes a file in them.
	for file in "$M/home/layers/"*/usr/local/lib/python3*/dist-packages/lone.py; do
		chmod u+w "$file"
		echo 'value = "evil"' >"$file"
	done
	uses third lone
	refuses not_found.package "lone 1.0" "layers that somebody changed are no source of packages"
	index_at "$(cat "$INDEX/port")"
	uses third lone
	prints 42 "and it is fetched anew"
	uses first lone
	prints 42 "also for a set that was there"
}

run_deps
