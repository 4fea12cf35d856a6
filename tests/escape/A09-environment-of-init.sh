#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: env, caller-env, ref-bwrap
#
# bubblewrap cleans the environment of the command, but its own init keeps the caller's whole one in
# /proc/1/environ and all host paths in /proc/1/cmdline. Seen from inside and, as root, from
# outside: what is not there cannot leak when another wall falls.
. "$(dirname "$0")/../lib/escape.sh"

claim "A09 no process inside carries a variable or an argument of the host"

attack()
{
	inside --dir "$W" -- bash -c 'for p in /proc/[0-9]*; do
			for f in environ cmdline comm maps auxv stack wchan cwd root exe; do
				timeout 2 cat $p/$f $p/task/*/$f 2>/dev/null | tr "\0" "\n"
				readlink $p/$f
			done
		done; ls -l /proc/*/cwd /proc/*/root /proc/*/exe /proc/*/fd 2>/dev/null; true'
	ran
	absent "a variable of the host" CANARY_ENV
	absent "the data directory" "$M/home"
	absent "the workspace's place on the host" "$W"
	absent "our place on the host" "$SESSION"
	absent "our place on the host" "$PROJECT_DIR"
	inside -- env
	ran
	absent "a variable of the host" PINFOLD
	same "the whole environment" "$(cut -d= -f1 "$OUT" | grep -vx '_' | LC_ALL=C sort | tr '\n' ' ')" \
		"HOME LANG PATH PIP_CACHE_DIR USER XDG_CACHE_HOME npm_config_cache "

	[ "$EUID" = 0 ] || return 0
	inside_start SLEEPER --dir "$W" -- tail -f /dev/null
	guest_of SLEEPER || return
	KIND=READ same "environment of init, from outside" \
		"$(tr '\0' '\n' <"/proc/$GUEST/environ")" ""
	absent "init's arguments name the host" / "/proc/$GUEST/cmdline"
	sandbox_end SLEEPER
}

run_case
