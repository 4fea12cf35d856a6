#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: netns-new, netns-unseen, run-asks
# Network namespaces of root's daemon are used again: only those in which nothing was left.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

not()
{
	! "$@"
}

# use WHAT: sets COOKIE, the namespace it was in; the next is ready soon.
use()
{
	inside --daemon "${BEST[@]}" -- /usr/bin/python3 -c "$PROGRAM" "$1"
	COOKIE=$(sed -n 's/^cookie //p' "$OUT")
	wait_for 5 waiting_is 1
}

# comes_back COOKIE: within some runs.
comes_back()
{
	local i

	for i in 1 2 3 4 5 6; do
		use nothing
		[ "$COOKIE" != "$1" ] || return 0
	done
	return 1
}

# some_come_back: of those that we get, one is met twice. What of a sandbox may be left behind is learned from the
# first ones, however many that are.
some_come_back()
{
	local met=" " i

	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		use nothing
		[[ "$met" != *" $COOKIE "* ]] || return 0
		met+="$COOKIE "
	done
	return 1
}

shown()
{
	grep -v '^cookie ' "$OUT" >"$1"
}

# shows_as_new WHAT: one in which that was done, when it is there again.
shows_as_new()
{
	local i

	for i in 1 2 3 4 5 6; do
		use show
		[ "$COOKIE" != "$1" ] || break
	done
	shown "$EVIDENCE/again"
	[ "$COOKIE" = "$1" ] && cmp "$EVIDENCE/again" "$EVIDENCE/new"
}

# by_socket WHAT: as use, by a caller whom a program inside could pass descriptors.
by_socket()
{
	PINFOLD_COPY=$M/sockets pinfold /usr/bin/python3 -c "$PROGRAM" "$1"
	COOKIE=$(sed -n 's/^cookie //p' "$OUT")
	wait_for 5 waiting_is 1
}

# A caller who asks for descriptors of it on the socket that he has anyway, while his run goes on.
by_asking()
{
	PINFOLD_COPY=$M/asks pinfold /bin/sh -c 'echo started; exec sleep 600'
	prints started "a caller of a run gets no second command in it, and no file of it"
	wait_for 5 waiting_is 1
}

# In which something is left, or could be looked at from outside.
returns_nothing_used()
{
	local what

	for what in route6 packet outside connection lease; do
		use "$what"
		check "after $what it is not" not comes_back "$COOKIE"
	done
	by_socket nothing
	check "a caller with sockets has his run" test -n "$COOKIE"
	check "after it is not, by which it could be looked at" not comes_back "$COOKIE"
}

checks()
{
	local what

	daemon_mode
	PROGRAM=$(cat "$(dirname "$0")/network.py")
	inside --no-daemon "${BEST[@]}" -- /usr/bin/python3 -c "$PROGRAM" show
	shown "$EVIDENCE/new"
	check "there is much to see" test "$(wc -l <"$EVIDENCE/new")" -gt 100
	find_library
	check "the caller with sockets compiles" cc -I"$PROJECT_DIR/include" -Wl,--wrap=pipe2 -o "$M/sockets" \
		"$(dirname "$0")/sockets.c" "${LINK[@]}"
	check "the caller who asks for more compiles" cc -I"$PROJECT_DIR/include" -I"$PROJECT_DIR/src" \
		-D_GNU_SOURCE -Wl,--wrap=recvmsg -o "$M/asks" "$(dirname "$0")/asks.c" "${LINK[@]}"
	daemon_start --warm 1 --warm-python 0
	use nothing # the first are looked at, to know what a new one shows
	use nothing
	use nothing
	if [ "$MODE" = U ]; then
		check "an ordinary user's are used once" not comes_back "$COOKIE"
	else
		check "one that nobody used is used again" some_come_back
		for what in nothing bind unix; do
			use "$what"
			check "after $what it shows what a new one does" shows_as_new "$COOKIE"
		done
	fi
	[ "$MODE" = U ] || returns_nothing_used
	by_asking
	daemon_stop
	exits 0 "it ends"
	check "and nothing is left" nothing_left
}

run_checks
