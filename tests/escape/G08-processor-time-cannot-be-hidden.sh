#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup
#
# A limit on processor time counts all processes together, those that have ended, too. Who adds up
# what processes say of themselves misses children of threads, children that nobody waits for and
# children that are left to init.
. "$(dirname "$0")/../lib/escape.sh"

claim "G08 processor time counts, however it is spent"

# burns WAY: ended by --cpu-time, not by the end of the program itself, which is much later.
burns()
{
	inside_json --cpu-time 300ms --time 60s --dir "$BIN" -- python3 /work/burn.py "$1"
	ran 137
	KIND=ESCAPE absent "$1 went on" survived "$OUT"
	same "$1: what ended it" "$(json '[d["status"], (d["limit"] or {}).get("kind")]')" \
		'["killed", "cpu_time"]'
	diag "$MODE, $1: $(json 'd["usage"]["cpu_ms"]') ms of 300"
}

attack()
{
	local way

	install -m 0644 "${CASE_STEM}.py" "$BIN/burn.py"
	for way in plain of_thread orphans; do
		burns $way
	done
	# The time of children that nobody waits for is in a control group's count alone.
	[ "$MODE" = U ] || burns unwaited
}

run_case
