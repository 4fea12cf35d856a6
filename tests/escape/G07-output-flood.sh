#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: output
#
# Measured on a runtime: 6,918 MB of output passed through in 5 s. In a result the head and the tail
# are kept, the rest is counted, and the whole is in a file up to 64 MiB; a reader that is slow
# slows the sandbox and not us. Our own memory stays small either way.
. "$(dirname "$0")/../lib/escape.sh"

claim "G07 a flood of output fills neither the result nor our memory"

OUTPUT_KIB=64
# What pinfold itself may use, beside the output that it was told to keep.
OWN_KIB=8192

# The most memory that a background run's pinfold had, in KiB, as long as it can be asked.
watch_memory()
{
	local pid=${1}_PID peak=0 now

	while now=$(awk '/^VmHWM/ {print $2}' "/proc/${!pid}/status" 2>/dev/null) && [ -n "$now" ]; do
		peak=$now
		read -rt 0.05 <> <(:)
	done
	echo "$peak"
}

small()
{
	diag "$MODE, $1: pinfold had at most $2 KiB"
	holds "$1: pinfold had $2 KiB" [ "$2" -gt 0 -a "$2" -le $((OWN_KIB + 4 * OUTPUT_KIB)) ]
}

attack()
{
	local text pipe=$W/pipe peak

	# As a document: both streams at once, without a newline anywhere.
	inside_start FLOOD --json --output ${OUTPUT_KIB}K --time 1s --grace 1ms -- \
		sh -c 'cat /dev/zero | tr "\0" a & cat /dev/zero | tr "\0" b >&2'
	small "a document" "$(watch_memory FLOOD)"
	inside_wait FLOOD
	same "it ran until its time was over" "$RC" 124
	JSON=$FLOOD_OUT
	for text in stdout stderr; do
		same "$text: kept, cut, counted" "$(json '[[s["truncated"], s["bytes"] > 1 << 20,
			len(s["text"]) == s["bytes"] - s["omitted_bytes"] == int(a[1])]
			for s in [d[a[0]]]][0]' "$text" $((OUTPUT_KIB << 10)))" "[true, true, true]"
		diag "$MODE, $text: $(json 'd[a[0]]["bytes"] >> 20' "$text") MiB came"
		same "$text: the whole is a file of at most 64 MiB" \
			"$(stat -c %s "$(json 'd[a[0]]["artifact"]' "$text")")" \
			"$(json 'min(d[a[0]]["bytes"], 64 << 20)' "$text")"
	done
	holds "the document is small" [ "$(stat -c %s "$JSON")" -le $((OUTPUT_KIB * 4096)) ]

	# In a pipe whose reader has stopped: the sandbox waits, we do not fill up.
	mkfifo "$pipe"
	exec {PIPE_FD}<>"$pipe"
	evidence_files run
	launch_argv -p "$EVIDENCE/SLOW.pid"
	"${LAUNCH[@]}" run --time 700ms --grace 1ms -- yes >&"$PIPE_FD" 2>"$ERR" {LIVE_FD}>&- &
	SLOW_LAUNCH=$!
	BACKGROUND+=($!)
	wait_for 5 test -s "$EVIDENCE/SLOW.pid"
	SLOW_PID=$(cat "$EVIDENCE/SLOW.pid")
	peak=$(watch_memory SLOW)
	inside_wait SLOW
	exec {PIPE_FD}>&-
	rm "$pipe"
	small "a stopped reader" "$peak"
	# Through a pipe that is read: all of it comes through, and nothing is kept.
	inside -- sh -c 'yes | head -c 100000000'
	ran
	same "bytes that came through" "$(stat -c %s "$OUT")" 100000000
	: >"$OUT"
}

run_case
