#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a document holds of long output: head and tail, how much is missing, and where all of it is.
. "$(dirname "$0")/../lib/cli.sh"

numbers='seq 1 40000'

# The artifact is there for the caller alone and has everything.
artifact_is_whole()
{
	local path

	path=$(json 'd["stdout"]["artifact"]')
	check "$1: the artifact is a file of the data directory" test "${path#"$M/home/"}" != \
		"$path" -a \
		-f "$path"
	check "$1: it holds the whole output" cmp "$2" "$path"
	check "$1: nobody else can read it" test \
		"$(stat -c %a "$path" "${path%/*}" | tr '\n' ' ')" = \
		"600 700 "
	check "$1: it is the caller's" test "$(stat -c %U "$path")" = "$USER_NAME"
}

truncated()
{
	sh -c "$numbers" >"$EVIDENCE/lines"
	inside_json --output 1000 -- sh -c "$numbers"
	exits 0 "long output"
	document "long output"
	json_has 'd["stdout"]["truncated"] and len(out) <= 1000 and len(out) >= 900' \
		"is cut to --output"
	json_has 'd["stdout"]["bytes"] == len(open(a[0], "rb").read())' "its length is told" \
		"$EVIDENCE/lines"
	json_has \
		'[out[:400] == w[:400] and out[-400:] == w[-400:]
		for w in [open(a[0], "rb").read()]][0]' \
		"head and tail are kept" "$EVIDENCE/lines"
	json_is '["output", 1000, "bytes"]' '[limit[k] for k in ("kind", "value", "unit")]' "limit"
	json_has '"--output" in limit["hint"]' "the hint names the option"
	json_has 'd["stderr"]["truncated"] is False and d["stderr"]["artifact"] is None' \
		"the other stream is whole"
	artifact_is_whole "long output" "$EVIDENCE/lines"
	inside_json --output 1000 -- head -c 1000 /dev/zero
	json_is '[1000, false, 0, null]' \
		'[d["stdout"][k] for k in ("bytes", "truncated", "omitted_bytes", "artifact")]' \
		"exactly as much as fits"
	inside_json --output 1000 -- head -c 1001 /dev/zero
	json_is '[1001, true, 1]' \
		'[d["stdout"][k] for k in ("bytes", "truncated", "omitted_bytes")]' \
		"one byte more"
	check "by default a MiB is kept" test "$(inside_json -- head -c 1048576 /dev/zero
		json 'd["stdout"]["truncated"]')" = false
	inside_json --output 1 -- sh -c 'echo abc; echo def >&2'
	document "one byte of each stream"
}

# A character is never cut in half: that would make text of it that is none.
characters()
{
	local i wrong=

	for i in 100 101 102 103; do
		inside_json --output "$i" -- /usr/bin/python3 -c 'print("é€😀" * 100, end="")'
		[ "$(json 'd["stdout"]["encoding"]')" = utf-8 ] || wrong=$i
		[ "$(json 'set(d["stdout"]["text"]) == set("é€😀")')" = true ] || wrong=$i
		/usr/bin/python3 -I "$CLI_DIR/shape.py" "$OUT" >/dev/null || wrong=$i
	done
	check "text is cut between characters" test -z "$wrong"
}

binary()
{
	inside_json -- printf 'a\377\000b'
	document "not UTF-8"
	json_is base64 'd["stdout"]["encoding"]' "encoding"
	json_has 'out == b"a\xff\0b" and d["stdout"]["bytes"] == 4' "the bytes are exact"
	json_is utf-8 'd["stderr"]["encoding"]' "the other stream is still text"
	inside_json -- printf 'nul \000 is text'
	json_has 'd["stdout"]["encoding"] == "utf-8" and d["stdout"]["text"] == "nul \0 is text"' \
		"NUL is valid UTF-8"
	for bytes in '\355\240\200' '\300\200' '\364\220\200\200' '\342\202'; do
		inside_json -- printf "$bytes"
		json_is base64 'd["stdout"]["encoding"]' "invalid UTF-8 $bytes"
	done
	inside_json --output 64 -- /usr/bin/python3 -c \
		'import sys; sys.stdout.buffer.write(bytes(range(256)) * 10)'
	document "long binary output"
	json_has 'd["stdout"]["encoding"] == "base64" and d["stdout"]["bytes"] == 2560 and
		out[:16] == bytes(range(16)) and out[-16:] == bytes(range(240, 256))' \
		"head and tail of it"
}

# Kept for --keep; what is over is removed by whoever makes the next one.
keeping()
{
	local first second

	inside_json --output 10 --keep 1s -- seq 100
	first=$(json 'd["stdout"]["artifact"]')
	check "an artifact with --keep 1s" test -f "$first"
	inside_json --output 10 --keep 1h -- seq 100
	second=$(json 'd["stdout"]["artifact"]')
	check "two runs, two artifacts" test "$first" != "$second" -a -f "$second"
	# Not by waiting: the moment is the directory's time.
	touch -d '2 seconds ago' "${first%/*}"
	inside_json --output 10 -- seq 100
	check "one that is over is removed" test ! -e "${first%/*}"
	check "one that is not stays" test -f "$second"
	inside_json --output 1k -- sh -c 'head -c 70000000 /dev/zero'
	json_has 'd["stdout"]["bytes"] == 70000000' "70 MB are counted"
	check "an artifact ends at 64 MiB" test \
		"$(stat -c %s "$(json 'd["stdout"]["artifact"]')")" = 67108864
	json_has '"the first 64M" in limit["hint"]' "and the hint says so"
	rm -rf "$M/home/artifacts"
}

checks()
{
	truncated
	characters
	binary
	keeping
}

run_checks
