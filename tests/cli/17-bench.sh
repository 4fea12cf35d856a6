#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench measures and leaves nothing behind, however it ends. No time is looked at: that is no test.
. "$(dirname "$0")/../lib/cli.sh"

# bench_start: in the background, with more samples than it will take; sets BENCH_PID once it
# measures, that is once its daemon has a sandbox.
bench_start()
{
	call_files bench
	call_argv -p "$EVIDENCE/bench.pid" -g 15000
	rm -f "$EVIDENCE/bench.pid"
	env --default-signal=INT,QUIT "${CALL[@]}" bench --samples 5000 >"$OUT" 2>"$ERR" \
		{LIVE_FD}>&- &
	BENCH_CALL=$!
	BACKGROUND+=("$!")
	wait_for 10 test -s "$EVIDENCE/bench.pid"
	BENCH_PID=$(cat "$EVIDENCE/bench.pid")
	wait_for 10 has_sandbox || not_ok "bench measures [$MODE]"
}

# The daemon is its first child; front and those that wait are the daemon's.
has_sandbox()
{
	local daemon

	daemon=$(cut -d' ' -f1 "/proc/$BENCH_PID/task/$BENCH_PID/children" 2>/dev/null)
	[ -n "$daemon" ] && [ "$(pgrep -cP "$daemon")" -ge 3 ]
}

bench_wait()
{
	wait "$BENCH_CALL" 2>/dev/null
	RC=$?
}

# left: what is still there of the directory that its daemon had.
left()
{
	find "$M/tmp" -mindepth 1
}

nothing_is_left()
{
	[ -z "$(left)" ]
}

tables()
{
	pinfold bench --samples 2
	exits 0 "a table"
	for name in bare libpinfold daemon bare-python daemon-python; do
		check "it has $name" grep -qE "^$name +2 +[0-9.]+ " "$OUT"
	done
	check "it says what its times are worth" grep -q 'busy machine' "$OUT"
	silent "nothing on standard error"
	check "nothing is left" nothing_is_left
	if needs bwrap "bubblewrap is in the table"; then
		check "bubblewrap is in the table" grep -q '^bubblewrap' "$OUT"
	fi
	CALL_WRAP=(/usr/bin/env PATH=/nonexistent)
	pinfold bench --samples 1
	check "or not, where there is none" test "$RC" = 0 -a -z "$(grep '^bubblewrap' "$OUT")"
	CALL_WRAP=()
}

documents()
{
	pinfold bench --samples 2 --json
	exits 0 "a document"
	check "its shape" /usr/bin/python3 -I - "$OUT" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		rows = {r["name"]: r for r in d["rows"]}
		assert {"bare", "libpinfold", "daemon", "bare-python", "daemon-python"} <= set(rows)
		for r in rows.values():
		    assert r["samples"] == 2 and r["failures"] == 0, r
		    assert r["p50_ms"] > 0 and r["p50_ratio"] > 0
		    assert r["p90_ms"] is None and r["p99_ratio"] is None  # too few for those
		assert rows["daemon-python"]["compared_with"] == "bare-python"
		assert rows["daemon"]["compared_with"] == "bare"
		assert d["processors"] > 0 and "busy machine" in d["note"]
	END
	pinfold bench --samples many
	refuses invalid_argument --samples "no number"
	pinfold bench --samples 1000000
	refuses invalid_argument --samples "too many"
	pinfold bench extra
	refuses invalid_argument extra "one argument too many"
	CALL_WRAP=(/usr/bin/env TMPDIR=/nonexistent)
	pinfold bench --samples 1
	exits 0 "where there is no TMPDIR another place is taken"
	CALL_WRAP=()
}

endings()
{
	local signal

	for signal in INT TERM; do
		bench_start
		check "SIG$signal: a daemon is there" test -n "$(left)"
		kill "-$signal" "$BENCH_PID"
		bench_wait
		exits $((128 + $(kill -l "$signal"))) "SIG$signal ends it"
		check "SIG$signal: no table" test ! -s "$OUT"
		check "SIG$signal: nothing is left" nothing_is_left
	done
	bench_start
	kill -KILL "$BENCH_PID"
	bench_wait
	check "SIGKILL: nothing is left in a moment" wait_for 15 nothing_is_left
	# That it was killed is what was asked for; whether its processes are gone stays a question.
	forget_report '^signal 9$'
	on_terminal 'expect:1 of 4 rounds' -- bench --samples 1
	check "progress on a terminal" test "$RC" = 0
	pinfold bench --samples 1
	check "and nowhere else" test -z "$(grep rounds "$OUT" "$ERR")"
}

checks()
{
	mkdir -p "$M/tmp"
	own "$M/tmp"
	CALL_SECONDS=240
	CALL_ENV=(TMPDIR="$M/tmp")
	tables
	documents
	endings
}

run_checks
