#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/switching.md: what it tells people to type is taken by the program.
. "$(dirname "$0")/../lib/cli.sh"

PAGE=$PROJECT_DIR/docs/switching.md

# Each `pinfold run …` of the tables, by a shell, as `pinfold plan`: nothing is run, but everything is checked.
commands()
{
	local line count=0

	echo data >"$W/data"
	own "$W"
	while IFS= read -r line; do
		count=$((count + 1))
		call_files "$line"
		call_argv
		line=${line#pinfold run}
		(cd "$W" && eval "\"\${CALL[@]}\" plan ${line/ -d / }" >"$OUT" 2>"$ERR" {LIVE_FD}>&-)
		RC=$?
		exits 0 "docs/switching.md: pinfold run$line"
	done < <(grep -oE '`pinfold run [^`…]*`' "$PAGE" | tr -d '`' | grep -v 'COMMAND' | sort -u)
	check "there are some" test "$count" -ge 7
}

# Verbs and options that it names: those on the right are ours.
names()
{
	local name missing=

	pinfold help run
	for name in $(grep '^|' "$PAGE" | sed 's/\\|//g' | awk -F'|' '{print $3}' | grep -oE -- '--[a-z]+' | sort -u); do
		grep -q -- " $name\b" "$OUT" || missing+=" $name"
	done
	check "its options are there:$missing" test -z "$missing"
	pinfold help
	for name in exec logs attach pause resume kill ps review apply diff undo image shell plan serve mcp; do
		check "docs/switching.md: the verb $name" grep -qE "^ +$name\b" "$OUT"
	done
}

checks()
{
	commands
	names
}

run_checks
