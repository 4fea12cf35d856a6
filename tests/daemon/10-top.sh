#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pinfold top: what runs, who waits, the pools; once, as JSON, and again and again on a terminal.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# top_has EXPRESSION: over the document `d` and the line of the sandbox ID, `i`.
top_has()
{
	pinfold top --json
	[ "$(/usr/bin/python3 -I -c '
import json, sys
d = json.load(open(sys.argv[1]))
i = {x["id"]: x for x in d["items"]}.get(sys.argv[2], {})
print(bool(eval(sys.argv[3])))
' "$OUT" "$ID" "$1")" = True ]
}

checks()
{
	daemon_mode
	pinfold top --once
	refuses '(not_found|internal)' daemon "without a daemon"
	daemon_start --warm 2 --warm-python 0 --max 7 --queue 9
	pinfold run --detach "${BEST[@]}" -- sh -c 'while :; do :; done'
	ID=$(cat "$OUT")
	check "a sandbox is shown" wait_for 5 top_has 'i["status"] == "running"'
	check "with its command" top_has '"while" in i["command"]'
	check "and whose it is" top_has 'i["tenant"].startswith("uid-")'
	check "how many run, of how many" top_has 'd["running"] == 1 and d["running_max"] == 7'
	check "who waits" top_has 'd["queued"] == 0 and d["queued_max"] == 9'
	check "what waits ready-made" wait_for 10 top_has 'd["pools"]["plain"]["waiting"] >= 2'
	[ "$MODE" = R ] &&
		check "what it uses" wait_for 5 top_has \
			'i["cpu_percent_milli"] > 5000 and i["memory_bytes"] > 0 and i["processes"] >= 1'
	pinfold top
	exits 0 "without a terminal it is shown once"
	check "in lines" grep -qE "^$ID +- +uid-" "$OUT"
	check "with a line for the daemon" grep -q '^running 1 of 7, queue 0 of 9' "$OUT"
	check "and one for each tenant" grep -qE '^uid-[0-9]+ +1 ' "$OUT"
	check "nothing that a terminal would act on" test -z "$(grep -P '\x1b' "$OUT")"
	pinfold top --interval x
	refuses invalid_argument interval "an interval that is none"
	pinfold top more
	refuses invalid_argument more "words"
	daemon_stop
	exits 0 "the daemon ends"
	check "nothing is left" nothing_left
}

run_checks
