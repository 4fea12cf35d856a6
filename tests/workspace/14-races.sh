#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# E02 and E03 for every verb that reads or writes a directory of the host: while one in it is swapped for a
# link out, nothing from outside gets in and nothing outside is changed. cp and pull as writers are in
# 10-copy-diff.sh, readers of layers in tests/unit/tree_pack.c.
# red: apply-beneath
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

SECRET=from-outside-4711

# place: $W/race/top/sub, a directory, and $W/race/top/evil, a link to $W/outside, which has the same files.
place()
{
	rm -rf "$W/race" "$W/outside" "$W/stop" "$W/patch"
	mkdir -p "$W/race/top/sub/deep" "$W/outside/deep"
	for i in 1 2 3 4 5 6 7 8; do
		echo inside >"$W/race/top/sub/deep/f$i"
		echo "$SECRET" >"$W/outside/deep/f$i"
	done
	ln -s ../../outside "$W/race/top/evil"
	own "$W/race" "$W/outside"
	find "$W/race" "$W/outside" -exec chmod u+w {} +
	[ "$MODE" = R ] || chown -R "$USER_ID" "$W/race" "$W/outside" 2>/dev/null
	BEFORE=$(contents)
}

contents()
{
	(cd "$W/outside" && find . -type f -exec md5sum {} + | sort)
}

# raced NAME COMMAND...: again and again while the two are swapped; the naive one until it was led out. Sets IN: how
# often the secret was seen, OUTSIDE: whether something changed there.
raced()
{
	local name=$1 until=$((SECONDS + ${PINFOLD_TEST_RACE_SECONDS:-2})) calls=0 swapper

	shift
	IN=0
	/usr/bin/python3 -I "$TEST_DIR/race.py" swap "$W/race/top/sub" "$W/race/top/evil" "$W/stop" >"$W/swaps" &
	swapper=$!
	[ "$1" != naive ] || until=$((SECONDS + 60))
	while [ "$SECONDS" -lt "$until" ]; do
		"$@" && IN=$((IN + 1))
		calls=$((calls + 1))
		[ "$1" != naive ] || [ "$IN" = 0 ] || break
	done
	: >"$W/stop"
	wait "$swapper"
	OUTSIDE=same
	[ "$BEFORE" = "$(contents)" ] || OUTSIDE=changed
	echo "# $name: $calls calls, $(cat "$W/swaps") swaps, $IN times from outside, outside $OUTSIDE"
}

# Each returns 0 when it has seen the secret.
naive()
{
	local i

	for i in 1 2 3 4 5 6 7 8; do
		[ ! -L "$W/race/top/sub" ] && grep -qs "$SECRET" "$W/race/top/sub/deep/f$i" && return 0
	done
	return 1
}

pushed()
{
	pinfold push --to /home/user/got w "$W/race"
	found
}

copied_in()
{
	pinfold cp "$W/race" w:got
	found
}

found()
{
	pinfold exec w -- grep -rq "$SECRET" /home/user
	local seen=$RC

	pinfold exec w -- rm -rf /home/user/got
	[ "$seen" = 0 ]
}

reviewed()
{
	pinfold review d
	grep -q "$SECRET" "$OUT" "$ERR" && return 0
	pinfold diff d 1
	grep -q "$SECRET" "$OUT" "$ERR"
}

applied()
{
	pinfold apply d
	pinfold apply --revert d
	return 1
}

checks()
{
	fresh w
	place
	raced "a naive reader" naive
	check "a naive reader is led out" test "$IN" -gt 0
	place
	raced push pushed
	check "push is not" test "$IN $OUTSIDE" = "0 same"
	place
	raced "cp in" copied_in
	check "nor is cp" test "$IN $OUTSIDE" = "0 same"

	place
	pinfold rm d
	pinfold new --dir "$W/race" d
	sh_in d 'cd /work/top/sub/deep && for f in *; do echo changed >$f; done; echo new >new'
	exits 0 "a view of it is changed"
	raced "review and diff" reviewed
	check "review and diff show nothing of it" test "$IN $OUTSIDE" = "0 same"
	place
	pinfold rm d
	pinfold new --dir "$W/race" d
	sh_in d 'cd /work/top/sub/deep && for f in *; do echo changed >$f; done; echo new >new'
	raced apply applied
	check "apply and apply --revert write nothing there" test "$OUTSIDE" = same

	# The directory itself went elsewhere, and a link leads to it: its files are as the workspace knew them,
	# so that only how the path is walked can refuse.
	place
	pinfold rm d
	pinfold new --dir "$W/race" d
	sh_in d 'cd /work/top/sub/deep && echo changed >f1'
	pinfold apply d
	exits 0 "a change is applied"
	sh_in d 'cd /work/top/sub/deep && echo new >new'
	mv "$W/race/top/sub" "$W/elsewhere"
	ln -s ../../elsewhere "$W/race/top/sub"
	pinfold apply --revert d
	check "a directory that is a link now: what was applied is not taken back there" \
		test "$(cat "$W/elsewhere/deep/f1")" = changed
	pinfold apply d top/sub/deep/new
	check "and nothing is made there" test ! -e "$W/elsewhere/deep/new"
	pinfold rm d
	rm -rf "$W/race" "$W/outside" "$W/elsewhere"
}

run_checks
