#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: files-bound, ref-naive
#
# Directories deeper than any path may be long, directories with thousands of the longest names and
# files with many attributes: whoever walks them to list or to remove them must not follow on its
# own stack, nor by path, nor take long.
. "$(dirname "$0")/../lib/escape.sh"

claim "G10 deep and wide trees are listed and removed quickly"

# DEPTH WIDTH: as many as fit; an error only ends its loop.
GROW='import os, sys
depth, width = int(sys.argv[1]), int(sys.argv[2])
top = os.open(".", os.O_RDONLY)
def grow(count, act):
    for i in range(count):
        try:
            act(i)
        except OSError as e:
            return print("stopped", i, e.strerror)
    return print("made", count)
def deeper(i):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
def wider(i):
    os.close(os.open("%0255d" % i, os.O_WRONLY | os.O_CREAT, dir_fd=top))
def attribute(i):
    os.setxattr(top, "user.%d" % i, b"x" * 100)
grow(width, wider)
grow(depth, deeper)
grow(1000, attribute)
os.fchdir(top)
os.mkdir("shut")
os.mkdir("shut/in")
os.chmod("shut", 0)'

# quick WHAT OPTION...: from the start of pinfold to its end, with the list and the removal.
quick()
{
	local what=$1 begin=${EPOCHREALTIME/[.,]/} took

	shift
	inside_json "$@" -- python3 -c "$GROW" 1500 1500
	took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
	ran
	diag "$MODE, $what: $took ms, $(tr '\n' ' ' <"$OUT")"
	holds "$what: done soon ($took ms)" [ "$took" -le 60000 ]
	holds "$what: many were made" [ "$(grep -c '^made 1500' "$OUT")" = 2 ]
}

attack()
{
	INSIDE_SECONDS=80
	quick "in memory" --memory 256M --disk 64M
	same "the list is bounded" \
		"$(json 'len(d["files"]) <= 1000 and d["files_omitted"] > 0')" true
	quick "in /tmp" --memory 256M --disk 64M --workdir /tmp
	quick "in a directory of the caller" --memory 256M --disk 64M --dir "$BIN" --workdir /work
	[ "$MODE" = R ] && quick "on disk" --memory 128M --disk 100M
}

run_case
