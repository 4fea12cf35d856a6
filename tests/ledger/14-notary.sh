#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: notary-private
#
# The process that has the private key: nobody looks into it, not even its own user, and it leaves no core
# (L05). It is met while it waits for a key that comes slowly.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# The child that is not pinfold itself any more.
notary()
{
	local pid

	for pid in $(cat /proc/"$ASKER_PID"/task/*/children 2>/dev/null); do
		NOTARY=$pid
		[ "$(tr -d '\0' <"/proc/$pid/cmdline")" != "$(tr -d '\0' <"/proc/$ASKER_PID/cmdline")" ] && return
	done
	return 1
}

# looks FILE: as the user whose process it is.
looks()
{
	[ "$MODE" = U ] && [ "$EUID" = 0 ] &&
		set -- setpriv --reuid "$USER_ID" --regid "$(id -g "$USER_NAME")" --clear-groups head -c 1 "$1" ||
		set -- head -c 1 "$1"
	"$@" >/dev/null 2>&1
}

checks()
{
	local NOTARY dir=$M/witness

	mkdir -p "$dir" && own "$dir"
	pinfold audit witness "$dir" --name example.org/slow
	exits 0 "a key is made"
	mv "$dir/key" "$dir/true-key"
	mkfifo -m 600 "$dir/key"
	chown --reference "$dir/true-key" "$dir/key"
	check "it is its owner's alone" test "$(stat -c %a "$dir/true-key")" = 600
	call_start ASKER audit witness "$dir" --name example.org/slow
	check "who signs is a process of its own" wait_for 10 notary
	check "it gains no right" grep -q '^NoNewPrivs:[[:space:]]1$' "/proc/$NOTARY/status"
	check "it leaves no core" grep -qE '^Max core file size +0 +0 ' "/proc/$NOTARY/limits"
	if [ "$MODE" = U ]; then
		check "its user cannot look into its memory" not looks "/proc/$NOTARY/mem"
		check "nor at its descriptors" not looks "/proc/$NOTARY/environ"
		check "while he can into what asked it" looks "/proc/$ASKER_PID/environ"
	fi
	cat "$dir/true-key" >"$dir/key"
	inside_wait ASKER
	exits 0 "and when the key comes it signs"
}

run_checks
